/**
 * An answer that is there at once, or comes later: a host's function may give either, and so may a tier.
 */

/** Whatever has a `then`. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof (value as { readonly then?: unknown } | null)?.then === "function";

/** What follows from an answer: at once where it is there. */
export const follow = <T, R>(answer: T | Promise<T>, next: (answer: T) => R | Promise<R>): R | Promise<R> =>
  isPromise(answer) ? answer.then(next) : next(answer);
