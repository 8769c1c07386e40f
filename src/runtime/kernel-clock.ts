/**
 * The clock of one kernel, over the host's.
 *
 * K1  An instant is written as whole milliseconds: a host's clock may tell parts of them.
 * K2  Once the kernel has ended, what still waits for a time keeps no process alive: a host's function that has not answered
 *     is nobody's any more.
 */
import type { Clock } from "../ports/clock.ts";

export interface KernelClock extends Clock {
  readonly elapsed: () => number;
  readonly end: () => void;
}

export function kernelClock(clock: Clock): KernelClock {
  const waiting = new Set<() => void>();
  let ended = false;
  return {
    now: () => Math.floor(clock.now()),
    elapsed: () => clock.elapsed?.() ?? clock.now(),
    setTimer(at, fire, background = false) {
      if (background || ended) return clock.setTimer(at, fire, true);
      const due = (): void => {
        waiting.delete(letGo);
        fire();
      };
      let cancel = clock.setTimer(at, due);
      const letGo = (): void => {
        cancel();
        cancel = clock.setTimer(at, due, true);
      };
      waiting.add(letGo);
      return () => {
        waiting.delete(letGo);
        cancel();
      };
    },
    end() {
      ended = true;
      for (const letGo of waiting) letGo();
      waiting.clear();
    },
  };
}
