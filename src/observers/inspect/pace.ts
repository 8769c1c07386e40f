/**
 * The pace of playing a ledger: at once, or with the pauses between its events.
 *
 * Owns: the waiting, on the injected clock. Never: the content.
 * 1.  A pause is the time between two events' instants, divided by the speed. A pause longer than two seconds takes
 *     two, unless pauses are `real`.
 * 2.  A signal ends a pause at once, and the play with it.
 */
import { z } from "zod";
import type { LedgerEvent } from "../../contract/event.ts";
import { objectWith } from "../../contract/host-object.ts";
import { type Clock, wallClock } from "../../index.ts";

export const PaceOptions = z.strictObject({
  /**
   * The speed as a multiple of the original; `at once` without pauses, which is the default. `step` has none either:
   * the player requests one event after another.
   */
  speed: z
    .union([z.number().positive(), z.enum(["at once", "step"])], 'is a number above 0, "at once" or "step"')
    .default("at once"),
  /** Keeps long pauses as they were. */
  real: z.boolean().default(false),
  /** The clock of the pauses; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
  /** Ends the play. */
  signal: z.instanceof(AbortSignal).optional(),
});
/** The options of the pace of events. */
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
  /** Returns the weight of an item. */
  readonly weigh: (item: T) => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Yields about so many items per second, so that an observer does not burden the process that it observes. */
export async function* limitRate<T>(
  items: AsyncIterable<T>,
  { perSecond, weigh, clock, signal }: RateLimit<T>,
): AsyncGenerator<T, void, void> {
  let began = clock.now();
  let reported = 0;
  for await (const item of items) {
    if (reported >= perSecond) await wait(began + 1_000 - clock.now(), clock, signal);
    if (clock.now() >= began + 1_000) {
      began = clock.now();
      reported = 0;
    }
    reported += weigh(item);
    yield item;
  }
}

/** Waits until the time is over or the signal is aborted. */
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
