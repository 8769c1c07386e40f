/**
 * Timers: deadlines of running workflows on the injected clock, and the one alarm for what rests in the ledger.
 *
 * Owns: what is armed now. Never: the truth of a deadline (the ledger has it).
 * M1  `clear` leaves nothing armed.
 */
import type { Clock } from "../ports/clock.ts";
import { outside } from "./async-context.ts";

export interface Timers {
  /** Resolves at `at` (epoch ms); at once when that is past or `signal` aborts. */
  readonly until: (at: number, signal?: AbortSignal) => Promise<void>;
  /** Arms, or moves, a named alarm. Null disarms it. */
  readonly alarm: (name: string, at: number | null, fire: () => void, background?: boolean) => void;
  /** Runs `fire` at `at` (epoch ms), unless it is cancelled, or all is cleared. Gives what cancels it. */
  readonly deadline: (at: number, fire: () => void) => () => void;
  readonly armed: () => number;
  readonly clear: () => void;
}

export function createTimers(clock: Clock): Timers {
  const alarms = new Map<string, () => void>();
  const sleeps = new Set<() => void>();
  const deadlines = new Set<() => void>();
  return {
    until(at, signal) {
      if (signal?.aborted === true || at <= clock.now()) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          cancel();
          sleeps.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const cancel = clock.setTimer(at, wake);
        sleeps.add(wake);
        signal?.addEventListener("abort", wake);
      });
    },
    alarm(name, at, fire, background = true) {
      alarms.get(name)?.();
      alarms.delete(name);
      if (at === null) return;
      alarms.set(
        name,
        clock.setTimer(
          at,
          () => {
            alarms.delete(name);
            outside(fire);
          },
          background,
        ),
      );
    },
    deadline(at, fire) {
      const cancel = clock.setTimer(at, () => {
        deadlines.delete(cancel);
        outside(fire);
      });
      deadlines.add(cancel);
      return () => {
        deadlines.delete(cancel);
        cancel();
      };
    },
    armed: () => alarms.size + sleeps.size + deadlines.size,
    clear() {
      for (const cancel of alarms.values()) cancel();
      for (const cancel of deadlines) cancel();
      alarms.clear();
      deadlines.clear();
      for (const wake of [...sleeps]) wake();
    },
  };
}
