/**
 * The bell: what was committed here is told to the other processes, after it is.
 *
 * Owns: how often it is rung. Never: is waited for, or fails anything: who misses it looks at the ledger by himself.
 * INV-1  It is rung at most twenty times a second, for all that was committed since.
 */
import type { Runner } from "./query.ts";
import { statement } from "./statements.ts";

/** Pause between two. */
const pauseMs = 50;
/** A NOTIFY carries 8,000 bytes; a name of a stream has 29. */
const mostStreams = 200;

export class Bell {
  readonly #on: Runner;
  readonly #channel: string;
  readonly #ringer: string;
  #streams = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  /** @param ringer by what others know whose bell it is. */
  constructor(on: Runner, { channel, ringer }: { readonly channel: string; readonly ringer: string }) {
    this.#on = on;
    this.#channel = channel;
    this.#ringer = ringer;
  }

  ring(streams: readonly string[]): void {
    for (const stream of streams) this.#streams.add(stream);
    if (this.#timer === null) this.#send();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#streams.clear();
  }

  #send(): void {
    const streams = this.#streams.size > mostStreams ? [] : this.#streams;
    const payload = [this.#ringer, ...streams].join(" ");
    this.#streams = new Set();
    this.#on.query(statement("ring", this.#channel, payload)).catch(() => undefined);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#streams.size > 0) this.#send();
    }, pauseMs);
    this.#timer.unref();
  }
}
