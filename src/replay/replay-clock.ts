/**
 * The clock of a replay: it stands where the record is, and its timers fire one at a time, when the replay has nothing else
 * to do. Instants that get into the ledger do not come from here.
 */
import type { Clock } from "../ports/clock.ts";

export interface ReplayClock extends Clock {
  /** Moves on to an instant (epoch ms), never back; fires nothing. */
  readonly reach: (at: number) => void;
  /** Fires the earliest timer due by `until`; false when there is none. Background timers fire only by their own time. */
  readonly fireNext: (until: number) => boolean;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
  readonly background: boolean;
}

export function createReplayClock(startAt: number): ReplayClock {
  const timers = new Set<Timer>();
  let now = startAt;
  const reach = (at: number): void => {
    now = Math.max(now, at);
  };
  const earlier = (a: Timer | null, b: Timer): Timer => (a === null || b.at < a.at ? b : a);
  return {
    now: () => now,
    reach,
    setTimer(at, fire, background = false) {
      const timer = { at, fire, background };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    fireNext(until) {
      const due = [...timers].filter((t) => t.at <= (t.background ? Math.min(now, until) : until));
      const next = due.reduce<Timer | null>(earlier, null);
      if (next === null) return false;
      timers.delete(next);
      reach(next.at);
      next.fire();
      return true;
    },
  };
}
