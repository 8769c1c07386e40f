/**
 * How fast a ledger is played: at once, or with the pauses that its events had.
 *
 * Owns: the waiting, on the injected clock. Never: what is told.
 * 1.  A pause is what lies between two events' instants, divided by the speed. What took longer than two seconds takes two,
 *     unless the pauses are to be `real`.
 * 2.  A signal ends a pause at once, and the play with it.
 */
import { z } from "zod";
import type { LedgerEvent } from "../../contract/event.ts";
import { objectWith } from "../../contract/host-object.ts";
import { type Clock, wallClock } from "../../index.ts";

export const PaceOptions = z.strictObject({
  /**
   * How many times as fast as it was; `at once` without pauses, which is the default. `step` has none either: whoever
   * plays it asks for one event after another.
   */
  speed: z
    .union([z.number().positive(), z.enum(["at once", "step"])], 'is a number above 0, "at once" or "step"')
    .default("at once"),
  /** Keeps long pauses as they were. */
  real: z.boolean().default(false),
  /** For the pauses; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
  /** Ends the play. */
  signal: z.instanceof(AbortSignal).optional(),
});
/** How fast events are played. */
export interface Pace extends Readonly<z.output<typeof PaceOptions>> {}

const longestMs = 2_000;

export async function* paceEvents(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
  { speed, real, clock, signal }: Pace,
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
