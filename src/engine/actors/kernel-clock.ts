/**
 * The clock of one kernel, over the host's clock.
 *
 * 1.  An instant is written as whole milliseconds: a host's clock may have fractions.
 * 2.  Once the kernel has ended, its remaining timers keep no process alive: nobody waits any more for a host's
 *     function that has not answered.
 */
import type { Clock } from "../../ports/clock.ts";

export interface KernelClock extends Clock {
  readonly elapsed: () => number;
  readonly setLimit: NonNullable<Clock["setLimit"]>;
  readonly setUpkeep: NonNullable<Clock["setUpkeep"]>;
  readonly end: () => void;
}

interface Upkeep {
  readonly at: number;
  readonly fire: () => void;
  readonly background: boolean;
}

/** Sets a timer for the end of a call's time: by `setLimit` where the clock has it. */
export function armLimit(clock: Clock, at: number, fire: () => void): () => void {
  return clock.setLimit === undefined ? clock.setTimer(at, fire) : clock.setLimit(at, fire);
}

/** Sets a timer for upkeep: by `setUpkeep` where the clock has it. */
export function armUpkeep(clock: Clock, { at, fire, background }: Upkeep): () => void {
  return clock.setUpkeep === undefined ? clock.setTimer(at, fire, background) : clock.setUpkeep(at, fire, background);
}

/** Sets a timer that may, or may not, keep the process alive. */
type Arm = (at: number, fire: () => void, background: boolean) => () => void;

export function kernelClock(clock: Clock): KernelClock {
  const waiting = new Set<() => void>();
  let ended = false;
  /** Arms a timer that becomes a background timer when the kernel ends. */
  const armUntilEnd = (arm: Arm, at: number, fire: () => void): (() => void) => {
    if (ended) return arm(at, fire, true);
    const due = (): void => {
      waiting.delete(letGo);
      fire();
    };
    let cancel = arm(at, due, false);
    const letGo = (): void => {
      cancel();
      cancel = arm(at, due, true);
    };
    waiting.add(letGo);
    return () => {
      waiting.delete(letGo);
      cancel();
    };
  };
  const timer: Arm = (at, fire, background) => clock.setTimer(at, fire, background);
  const limit: Arm = (at, fire, background) =>
    background ? clock.setTimer(at, fire, true) : armLimit(clock, at, fire);
  const upkeep: Arm = (at, fire, background) => armUpkeep(clock, { at, fire, background });
  return {
    now: () => Math.floor(clock.now()),
    elapsed: () => clock.elapsed?.() ?? clock.now(),
    setTimer: (at, fire, background = false) => (background ? timer(at, fire, true) : armUntilEnd(timer, at, fire)),
    setLimit: (at, fire) => armUntilEnd(limit, at, fire),
    setUpkeep: (at, fire, background = false) => (background ? upkeep(at, fire, true) : armUntilEnd(upkeep, at, fire)),
    end() {
      ended = true;
      for (const letGo of waiting) letGo();
      waiting.clear();
    },
  };
}
