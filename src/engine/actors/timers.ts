/**
 * Timers: deadlines of running workflows on the injected clock, and the one alarm for parked workflows.
 *
 * Owns: the armed timers. Never: the authority on a deadline, which is the ledger.
 * 1.  `clear` leaves nothing armed.
 */
import type { Clock } from "../../ports/clock.ts";
import { outside } from "./async-context.ts";
import { armLimit, armUpkeep } from "./kernel-clock.ts";

export interface Timers {
  /** Resolves at `at` (epoch ms); at once when that is past or `signal` aborts. */
  readonly until: (at: number, signal?: AbortSignal) => Promise<void>;
  /** Arms, or moves, a named alarm. Null disarms it. */
  readonly alarm: (name: string, at: number | null, fire: () => void, background?: boolean) => void;
  /** Arms or moves a named alarm for upkeep: a heartbeat, or a look for rows of other processes (`Clock.setUpkeep`). */
  readonly upkeep: (name: string, at: number, fire: () => void, background?: boolean) => void;
  /**
   * Runs `fire` at `at` (epoch ms), the end of a call's time, unless it or all timers are cancelled. Returns the
   * function that cancels it.
   */
  readonly limit: (at: number, fire: () => void) => () => void;
  readonly armed: () => number;
  readonly clear: () => void;
}

export function createTimers(clock: Clock): Timers {
  const alarms = new Map<string, () => void>();
  const sleeps = new Set<() => void>();
  const limits = new Set<() => void>();
  const disarm = (name: string): void => {
    alarms.get(name)?.();
    alarms.delete(name);
  };
  const once = (name: string, fire: () => void) => (): void => {
    alarms.delete(name);
    outside(fire);
  };
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
      disarm(name);
      if (at !== null) alarms.set(name, clock.setTimer(at, once(name, fire), background));
    },
    upkeep(name, at, fire, background = true) {
      disarm(name);
      alarms.set(name, armUpkeep(clock, { at, fire: once(name, fire), background }));
    },
    limit(at, fire) {
      const cancel = armLimit(clock, at, () => {
        limits.delete(cancel);
        outside(fire);
      });
      limits.add(cancel);
      return () => {
        limits.delete(cancel);
        cancel();
      };
    },
    armed: () => alarms.size + sleeps.size + limits.size,
    clear() {
      for (const cancel of alarms.values()) cancel();
      for (const cancel of limits) cancel();
      alarms.clear();
      limits.clear();
      for (const wake of [...sleeps]) wake();
    },
  };
}
