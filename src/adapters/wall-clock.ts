/** The machine's clock. Delays beyond setTimeout's limit (24.8 days) are waited for in parts. */
import type { Clock } from "../ports/clock.ts";

const maxDelay = 2_147_483_647;

/** The machine's own clock and timers. */
export const wallClock: Clock = Object.freeze({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimer(at: number, fire: () => void, background = false) {
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const left = at - Date.now();
      handle = left > maxDelay ? setTimeout(arm, maxDelay) : setTimeout(fire, Math.max(0, left));
      if (background) handle.unref();
    };
    arm();
    return () => clearTimeout(handle);
  },
});
