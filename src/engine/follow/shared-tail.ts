/**
 * A shared tail: what is appended to a log, read once for all who follow it in this process.
 *
 * Owns: the newest segments of the log (the ring), the one pull that is under way, the wake-up of those who wait.
 * Never: knows what an item is, or who may see it.
 * 1.  It is pulled on demand: where nobody is at its end, nothing is read.
 * 2.  The ring holds at most `maxChars`, and the newest segment always.
 * 3.  A reader is a cursor, never a queue. Who is slow falls out of the ring and reads the log by itself until it is back.
 */
import { singleFlight } from "../../contract/single-flight.ts";
import { outside } from "../actors/async-context.ts";

/** A run of numbered items, in order. */
export interface Segment<T> {
  readonly items: readonly T[];
  /** All up to this number is in it or before it. */
  readonly through: number;
  /** How many rows of the log it was made of. */
  readonly rows: number;
  /** The size of the segment, in characters of the rows that it was made of. */
  readonly chars: number;
  /** Nothing followed it when it was read. */
  readonly isLast: boolean;
  /** With it, the log tells of something that has ended. */
  readonly ended: boolean;
}

/** Gives what follows what it gave last; null when there is no more for now. */
export type Pull<T> = () => Promise<Segment<T> | null>;

export interface TailSource<T> {
  /** Begins to read the log after a number, by itself. */
  readonly open: (after: number) => Pull<T>;
  /** Tells that there may be more, until it is ended. */
  readonly listen: (hear: () => void) => () => void;
}

export class SharedTail<T> {
  readonly #source: TailSource<T>;
  readonly #pull: Pull<T>;
  readonly #maxChars: number;
  readonly #unlisten: () => void;
  readonly #hearers = new Set<() => void>();
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
    this.#unlisten = source.listen(() => this.#hear());
  }

  /** Returns whether all that is committed, as far as is known, lies at or before the cursor. */
  isAtRest(cursor: number): boolean {
    return cursor >= this.#through && this.#restedAt === this.#news;
  }

  /** Returns whether what the log tells of had ended where the tail stands. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Begins to read by itself, as one must whose cursor has left the ring. */
  open(after: number): Pull<T> {
    return this.#source.open(after);
  }

  /** Tells another tail, made of this one, that there may be more. */
  listen(hear: () => void): () => void {
    this.#hearers.add(hear);
    return () => void this.#hearers.delete(hear);
  }

  /** Returns what follows the cursor; null if there is nothing yet, "gone" if the ring no longer has it. */
  async after(cursor: number): Promise<Segment<T> | null | "gone"> {
    while (cursor >= this.#floor) {
      if (this.#closed !== null) throw this.#closed;
      if (cursor < this.#through) return this.#heldAfter(cursor);
      if (this.#restedAt === this.#news) return null;
      await this.#pullOnce();
    }
    return "gone";
  }

  /** Until there is more, or the signal is given. */
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

  /** Nobody reads any more; with a reason, those who still do are told so. */
  close(reason: unknown = null): void {
    this.#unlisten();
    this.#closed = reason;
    this.#wake();
  }

  #heldAfter(cursor: number): Segment<T> {
    const before = this.#ring.findLastIndex(({ through }) => through <= cursor);
    return this.#ring[before + 1] as Segment<T>;
  }

  #hear(): void {
    this.#news += 1;
    for (const hear of this.#hearers) hear();
    if (this.#waiting.size > 0) void this.#look();
  }

  /** Reads for those who wait; they are woken by what there is, or to meet the failure themselves. */
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

/** One reader of a tail: where it stands, and its own reading of the log while it is behind the ring. */
export class TailReader<T> {
  readonly #tail: SharedTail<T>;
  #own: Pull<T> | null = null;
  cursor: number;

  constructor(tail: SharedTail<T>, after: number) {
    this.#tail = tail;
    this.cursor = after;
  }

  /** The next segment, which may begin before what was asked for; null when there is no more for now. */
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
