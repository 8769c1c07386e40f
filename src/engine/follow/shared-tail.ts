/**
 * A shared tail: the growing end of a log, read once for all its readers in this process.
 *
 * Owns: the newest segments of the log (the ring), the one pull under way, the wake-up of waiting readers.
 * Never: knows the content of an item, or who may see it.
 * 1.  It pulls on demand: if no reader is at its end, nothing is read.
 * 2.  The ring holds at most `maxChars`, and the newest segment always.
 * 3.  A reader is a cursor, never a queue. A slow reader falls out of the ring and reads the log by itself until it has
 *     caught up.
 */
import { singleFlight } from "../../contract/single-flight.ts";
import { outside } from "../actors/async-context.ts";

/** A run of numbered items, in order. */
export interface Segment<T> {
  readonly items: readonly T[];
  /** All up to this number is in it or before it. */
  readonly through: number;
  /** The number of rows of the log that the segment was made of. */
  readonly rows: number;
  /** The size of the segment, in characters of the rows that it was made of. */
  readonly chars: number;
  /** Whether nothing followed the segment when it was read. */
  readonly isLast: boolean;
  /** Whether the log's subject has ended with this segment. */
  readonly ended: boolean;
}

/** Returns the segment after the last one; null if there is no more for now. */
export type Pull<T> = () => Promise<Segment<T> | null>;

export interface TailSource<T> {
  /** Begins to read the log after a number, by itself. */
  readonly open: (after: number) => Pull<T>;
  /** Notifies that there may be more, until it is ended. */
  readonly listen: (listener: () => void) => () => void;
}

export class SharedTail<T> {
  readonly #source: TailSource<T>;
  readonly #pull: Pull<T>;
  readonly #maxChars: number;
  readonly #unlisten: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  #ring: Segment<T>[] = [];
  #chars = 0;
  #floor: number;
  #through: number;
  /** Counts news; the log was read to its end at `#restedAt`. */
  #news = 0;
  #restedAt = -1;
  #ended = false;
  #closed: unknown = null;

  constructor(source: TailSource<T>, { from, maxChars }: { readonly from: number; readonly maxChars: number }) {
    this.#source = source;
    this.#pull = source.open(from);
    this.#maxChars = maxChars;
    this.#floor = from;
    this.#through = from;
    this.#unlisten = source.listen(() => this.#notify());
  }

  /** Returns whether the cursor has reached all items that are known to be committed. */
  isAtRest(cursor: number): boolean {
    return cursor >= this.#through && this.#restedAt === this.#news;
  }

  /** Returns whether the log's subject had ended at the present end of the tail. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Begins a reading of the log for one reader whose cursor has left the ring. */
  open(after: number): Pull<T> {
    return this.#source.open(after);
  }

  /** Notifies another tail, derived from this one, that there may be more. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the segment after the cursor; null if there is none yet, "gone" if the ring no longer has it. */
  async after(cursor: number): Promise<Segment<T> | null | "gone"> {
    while (cursor >= this.#floor) {
      if (this.#closed !== null) throw this.#closed;
      if (cursor < this.#through) return this.#heldAfter(cursor);
      if (this.#restedAt === this.#news) return null;
      await this.#pullOnce();
    }
    return "gone";
  }

  /** Waits until there is more, or the signal is aborted. */
  more(cursor: number, signal: AbortSignal | undefined): Promise<void> {
    if (!this.isAtRest(cursor) || this.#closed !== null || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Closes the tail when it has no readers; with a reason, remaining readers receive it as their error. */
  close(reason: unknown = null): void {
    this.#unlisten();
    this.#closed = reason;
    this.#wake();
  }

  #heldAfter(cursor: number): Segment<T> {
    const before = this.#ring.findLastIndex(({ through }) => through <= cursor);
    return this.#ring[before + 1] as Segment<T>;
  }

  #notify(): void {
    this.#news += 1;
    for (const listener of this.#listeners) listener();
    if (this.#waiting.size > 0) void this.#look();
  }

  /** Reads for the waiting readers, and wakes them with a segment, or to meet the failure themselves. */
  async #look(): Promise<void> {
    const before = this.#through;
    try {
      while (this.#through === before && this.#restedAt !== this.#news) await this.#pullOnce();
      if (this.#through > before) this.#wake();
    } catch {
      this.#wake();
    }
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  readonly #pullOnce = singleFlight(async () => {
    const updates = this.#news;
    const segment = await outside(() => this.#pull());
    if (segment === null || segment.isLast) this.#restedAt = updates;
    if (segment !== null) this.#keep(segment);
  });

  #keep(segment: Segment<T>): void {
    this.#ring.push(segment);
    this.#through = segment.through;
    this.#ended = segment.ended;
    this.#chars += segment.chars;
    while (this.#chars > this.#maxChars && this.#ring.length > 1) {
      const oldest = this.#ring.shift() as Segment<T>;
      this.#chars -= oldest.chars;
      this.#floor = oldest.through;
    }
  }
}

/** One reader of a tail: its cursor, and its own reading of the log while it is behind the ring. */
export class TailReader<T> {
  readonly #tail: SharedTail<T>;
  #own: Pull<T> | null = null;
  cursor: number;

  constructor(tail: SharedTail<T>, after: number) {
    this.#tail = tail;
    this.cursor = after;
  }

  /** Returns the next segment, which may begin before the cursor; null if there is no more for now. */
  async next(): Promise<Segment<T> | null> {
    for (;;) {
      const segment = await this.#tail.after(this.cursor);
      if (segment !== "gone") {
        this.#own = null;
        return this.#moveTo(segment);
      }
      this.#own ??= this.#tail.open(this.cursor);
      const read = await this.#own();
      if (read !== null) return this.#moveTo(read);
      this.#own = null;
    }
  }

  #moveTo(segment: Segment<T> | null): Segment<T> | null {
    this.cursor = Math.max(this.cursor, segment?.through ?? 0);
    return segment;
  }
}
