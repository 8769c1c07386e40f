/**
 * Announces commits of this process to the other processes.
 *
 * Owns: the rate of announcements. Never: is waited for, or makes anything fail: a process that misses one looks at the
 * ledger by itself.
 * 1.  At most twenty are sent per second, each for all commits since the last.
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

  /** Makes the announcer. @param sender the name under which others recognise these announcements. */
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
