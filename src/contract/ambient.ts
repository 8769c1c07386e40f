/**
 * The one place of ambient time and chance.
 *
 * Owns: the default clock and random source of the module-level factories (createSignal, generateId, createRequest).
 * Never: used by a kernel. A kernel injects its own clock, random source and ids, so that one seed repeats a run.
 */
/** Milliseconds since the epoch, from the machine's clock. */
export function ambientNow(): number {
  return Date.now();
}

/** Returns an unseeded random number in [0, 1). */
export function ambientRandom(): number {
  return Math.random();
}
