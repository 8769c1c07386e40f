/**
 * The submits that are on their way to a place: those of one name are one, however many callers wait for its answer.
 *
 * Owns: who waits for which submit. Never: knows what a submit does.
 * 1.  A caller who leaves is answered at once if others wait for the same submit. When the last one leaves, the submit
 *     is abandoned, and that caller is answered with its end: it may have had its place already.
 * 2.  An abandoned submit is joined by nobody.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";

/** A submit that was begun: its answer, and how it is abandoned. */
export interface Begun<T> {
  readonly answer: Promise<T>;
  readonly abandon: () => void;
}

interface Open<T> extends Begun<T> {
  callers: number;
}

/** Returns the error that a caller gets whose submit is not to begin any more. */
const abandonedError = (message: string) =>
  kernelError("T7_SPAWN_ABANDONED", message, moduleRef(0, "gateway", "submit"));

const refuseLeaving = (message: string): never => raise(abandonedError(message));

export class JoinedSubmits<T> {
  readonly #open = new Map<string, Open<T>>();

  /**
   * Joins the submit of this name, or begins it.
   * @param signal aborts when the caller leaves; a caller without one stays.
   * @throws what the answer rejects with; KernelErrorException T7_SPAWN_ABANDONED for a caller who left.
   */
  async join(name: string, signal: AbortSignal | undefined, begin: () => Begun<T>): Promise<T> {
    if (signal?.aborted === true) refuseLeaving("the caller left before the submit was begun");
    const open = this.#open.get(name) ?? this.#begin(name, begin());
    open.callers += 1;
    return signal === undefined ? open.answer : this.#untilLeft(name, open, signal);
  }

  #begin(name: string, begun: Begun<T>): Open<T> {
    const open = { ...begun, callers: 0 };
    this.#open.set(name, open);
    const forget = (): void => this.#forget(name, open);
    open.answer.then(forget, forget);
    return open;
  }

  #forget(name: string, open: Open<T>): void {
    if (this.#open.get(name) === open) this.#open.delete(name);
  }

  async #untilLeft(name: string, open: Open<T>, signal: AbortSignal): Promise<T> {
    const left = Promise.withResolvers<"left">();
    const leave = (): void => {
      open.callers -= 1;
      if (open.callers > 0) return left.resolve("left");
      this.#forget(name, open);
      open.abandon();
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      const ended = await Promise.race([open.answer, left.promise]);
      return ended === "left" ? refuseLeaving("the caller left; others wait for the same submit") : ended;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}
