/**
 * A clock that stands still until a test moves it. Timers fire in order of their time, and between two of them everything
 * that can run without time passing is let run.
 */
import type { Clock } from "../ports/clock.ts";
import { letRun } from "./let-run.ts";

/** Time that stands still until it is moved. */
export interface VirtualClock extends Clock {
  /** Moves time by so many milliseconds, firing what falls due. */
  readonly advance: (ms: number) => Promise<void>;
  /** Moves time to the next timer and fires it; false when there is none. Background timers do not count. */
  readonly advanceToNext: () => Promise<boolean>;
  /** Lets run what needs no time. */
  readonly settle: () => Promise<void>;
  readonly pending: () => number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  readonly background: boolean;
}

/** A clock that stands still until it is moved. */
export function createVirtualClock(startAt = Date.UTC(2026, 0, 1)): VirtualClock {
  const timers = new Set<Timer>();
  let now = startAt;
  let order = 0;

  const earliest = (until: number, background: boolean): Timer | undefined =>
    [...timers]
      .filter((t) => t.at <= until && (background || !t.background))
      .sort((a, b) => a.at - b.at || a.order - b.order)[0];

  const fire = async (timer: Timer): Promise<void> => {
    timers.delete(timer);
    now = Math.max(now, timer.at);
    timer.fire();
    await letRun();
  };

  return {
    now: () => now,
    setTimer(at, fireTimer, background = false) {
      order += 1;
      const timer = { at, order, fire: fireTimer, background };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const target = now + ms;
      await letRun();
      for (let next = earliest(target, true); next !== undefined; next = earliest(target, true)) await fire(next);
      now = target;
      await letRun();
    },
    async advanceToNext() {
      await letRun();
      const next = earliest(Number.POSITIVE_INFINITY, false);
      if (next === undefined) return false;
      await fire(next);
      return true;
    },
    settle: letRun,
    pending: () => timers.size,
  };
}
