/**
 * The points at which long work yields to the event loop.
 *
 * Owns: the size of a slice of work. Never: reads a clock: a slice is counted, so that the same work yields at the same
 * places.
 */
import { nextTurn } from "./next-turn.ts";

/**
 * Yields one turn of the event loop between two pages of a long log, so that requests, timers and leases do not wait
 * for a reader.
 */
export const yieldToEventLoop = (): Promise<void> => nextTurn();

/**
 * The amount of rows that is read and folded between two turns of the event loop: a few milliseconds of work. A row is
 * never divided.
 */
export const sliceOfWork = Object.freeze({ rows: 128, chars: 256_000 });

/** Counts processed rows, and tells when it is time to yield. */
export class WorkSlices {
  #rows = 0;
  #chars = 0;

  /** Counts a row. Returns the next turn of the event loop where a slice is full, else null. */
  add(chars: number): Promise<void> | null {
    this.#rows += 1;
    this.#chars += chars;
    if (this.#rows < sliceOfWork.rows && this.#chars < sliceOfWork.chars) return null;
    this.#rows = 0;
    this.#chars = 0;
    return yieldToEventLoop();
  }
}
