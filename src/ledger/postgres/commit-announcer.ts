/**
 * Announcements of commits: what was committed here is told to the other processes, after it is.
 *
 * Owns: how often one is sent. Never: is waited for, or fails anything: who misses it looks at the ledger by himself.
 * 1.  One is sent at most twenty times a second, for all that was committed since.
 */
import type { Runner } from "./query.ts";
import { statement } from "./statements.ts";

/** Pause between two. */
const pauseMs = 50;
/** A NOTIFY carries 8,000 bytes; a name of a stream has 29. */
const mostStreams = 200;

export class CommitAnnouncer {
  readonly #on: Runner;
  readonly #channel: string;
  readonly #sender: string;
  #streams = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  /** @param sender by what others know whose announcements these are. */
  constructor(on: Runner, { channel, sender }: { readonly channel: string; readonly sender: string }) {
    this.#on = on;
    this.#channel = channel;
    this.#sender = sender;
  }

  announce(streams: readonly string[]): void {
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
    const payload = [this.#sender, ...streams].join(" ");
    this.#streams = new Set();
    this.#on.query(statement("announce", this.#channel, payload)).catch(() => undefined);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#streams.size > 0) this.#send();
    }, pauseMs);
    this.#timer.unref();
  }
}
