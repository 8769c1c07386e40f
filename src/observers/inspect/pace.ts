/**
 * How fast a ledger is played: at once, or with the pauses that its events had.
 *
 * Owns: the waiting, on the injected clock. Never: what is told.
 * 1.  A pause is what lies between two events' instants, divided by the speed. What took longer than two seconds takes two,
 *     unless the pauses are to be `real`.
 * 2.  A signal ends a pause at once, and the play with it.
 */
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, wallClock } from "../../index.ts";

/** How fast events are played. */
export interface Pace {
  /**
   * How many times as fast as it was; `at once` without pauses, which is the default. `step` has none either: whoever
   * plays it asks for one event after another.
   */
  readonly speed?: number | "at once" | "step";
  /** Keeps long pauses as they were. */
  readonly real?: boolean;
  /** For the pauses; the machine's by default. */
  readonly clock?: Clock;
  /** Ends the play. */
  readonly signal?: AbortSignal;
}

const longestMs = 2_000;
const paceRef = moduleRef(6, "inspect", "pace");

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a speed that is none. */
export function requireSpeed(speed: Pace["speed"] = "at once"): void {
  const isNumber = typeof speed === "number" && Number.isFinite(speed) && speed > 0;
  if (isNumber || speed === "at once" || speed === "step") return;
  const message = `speed is a number above 0, "at once" or "step"; ${String(speed)} is none of them`;
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, paceRef));
}

export async function* paceEvents(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
  { speed = "at once", real = false, clock = wallClock, signal }: Pace,
): AsyncGenerator<LedgerEvent, void, void> {
  let last: number | null = null;
  for await (const event of events) {
    const at = Date.parse(event.timestamp);
    if (typeof speed === "number" && last !== null) {
      const pause = Math.max(0, at - last);
      await wait((real ? pause : Math.min(pause, longestMs)) / speed, clock, signal);
    }
    if (signal?.aborted === true) return;
    last = at;
    yield event;
  }
}

interface RateLimit<T> {
  readonly perSecond: number;
  /** For how many an item counts. */
  readonly weigh: (item: T) => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** About so many items in a second: whoever tells is not to burden the process that it tells of. */
export async function* limitRate<T>(
  items: AsyncIterable<T>,
  { perSecond, weigh, clock, signal }: RateLimit<T>,
): AsyncGenerator<T, void, void> {
  let began = clock.now();
  let told = 0;
  for await (const item of items) {
    if (told >= perSecond) await wait(began + 1_000 - clock.now(), clock, signal);
    if (clock.now() >= began + 1_000) {
      began = clock.now();
      told = 0;
    }
    told += weigh(item);
    yield item;
  }
}

/** Until the time is over or the signal is given. */
function wait(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  if (ms <= 0 || signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.setTimer(clock.now() + ms, end);
    signal?.addEventListener("abort", end);
  });
}
