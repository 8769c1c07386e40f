/**
 * An answer that is there at once, or comes later: a host's function may give either, and so may a tier.
 */

/** Returns whether a value has a `then`. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof (value as { readonly then?: unknown } | null)?.then === "function";

/** Calls `next` with an answer: at once if it is there. A thenable of a host's need not be a whole promise. */
export const follow = <T, R>(answer: T | Promise<T>, next: (answer: T) => R | Promise<R>): R | Promise<R> =>
  isPromise(answer) ? Promise.resolve(answer).then(next) : next(answer);

/** Calls a function without awaiting it: a failure, at once or later, goes to `report`, which does not throw. */
export function callAside(work: () => unknown, report: (error: unknown) => void): void {
  try {
    const begun = work();
    if (isPromise(begun)) Promise.resolve(begun).catch(report);
  } catch (error) {
    report(error);
  }
}
