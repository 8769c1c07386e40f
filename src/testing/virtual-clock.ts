/**
 * A clock that stands still until a test moves it. Timers fire in order of their time, and between two of them
 * everything that can run without time passing is let run.
 *
 * Owns: virtual time. Never: moves by itself.
 * 1.  Time does not move while a call is under way that something outside may answer (`calls-under-way.ts`).
 * 2.  Upkeep (beats of leases, looks at what others may have written) is not stepped through: what is due of it is done
 *     once whenever time has moved, all of it begun before anything of it goes on, so that who lives says so before
 *     others look.
 */
import { z } from "zod";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Clock } from "../ports/clock.ts";
import { createCallsUnderWay } from "./calls-under-way.ts";

/** Time that stands still until it is moved. */
export interface VirtualClock extends Clock {
  /** Moves time by so many milliseconds, firing what falls due. */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Moves time to the next timer and fires it; false when there is none. Background timers do not count; upkeep counts
   * where there is no other timer.
   */
  readonly advanceToNext: () => Promise<boolean>;
  /** Lets run what needs no time, and lets calls under way end. */
  readonly settle: () => Promise<void>;
  /** Counts this answer as a call under way until it is there, and gives it back. */
  readonly during: <T>(answer: Promise<T>) => Promise<T>;
  /** Does now the upkeep that somebody waits for: looks whether another process has written. No time passes. */
  readonly keepUp: () => Promise<void>;
  /** Tells how many timers are armed. */
  readonly pending: () => number;
  readonly setLimit: NonNullable<Clock["setLimit"]>;
  readonly setUpkeep: NonNullable<Clock["setUpkeep"]>;
}

const Options = z.strictObject({
  /**
   * The time for which a call under way is waited for while something outside may answer it, in ms of the machine; 4000
   * by default. It is a tenth of that if only connections are open that were in use before the call.
   */
  patienceMs: z.number().positive().default(4_000),
});
/** Options of a virtual clock. */
export interface VirtualClockOptions extends Readonly<z.input<typeof Options>> {}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  readonly background: boolean;
}

const inOrder = (all: Iterable<Timer>): Timer[] => [...all].sort((a, b) => a.at - b.at || a.order - b.order);

/** Makes the function that arms timers; of those for the same time the one that was armed first fires first. */
function createArming() {
  let order = 0;
  return (among: Set<Timer>, timer: Omit<Timer, "order">): (() => void) => {
    order += 1;
    const armed = { ...timer, order };
    among.add(armed);
    return () => void among.delete(armed);
  };
}

/** Makes a clock that stands still until it is moved; it begins with 2026 where no time is given. */
export function createVirtualClock(startAt = Date.UTC(2026, 0, 1), options: VirtualClockOptions = {}): VirtualClock {
  const source = moduleRef(0, "testing", "createVirtualClock");
  const { patienceMs } = readStrictly(Options, options, { what: "createVirtualClock", source });
  const timers = new Set<Timer>();
  const upkeep = new Set<Timer>();
  const arm = createArming();
  const { begin, settle } = createCallsUnderWay(patienceMs);
  let now = startAt;

  const earliest = (until: number, background: boolean): Timer | undefined =>
    inOrder(timers).find((t) => t.at <= until && (background || !t.background));
  /** Runs due upkeep: each timer once, though it arms itself anew. */
  const keepUp = async (due: readonly Timer[]): Promise<void> => {
    for (const one of due) if (upkeep.delete(one)) one.fire();
    if (due.length > 0) await settle();
  };
  const waitedFor = (): readonly Timer[] => inOrder(upkeep).filter(({ background }) => !background);
  const moveTo = async (at: number): Promise<void> => {
    now = Math.max(now, at);
    await keepUp(inOrder(upkeep).filter((one) => one.at <= now));
  };
  const fire = async (timer: Timer): Promise<void> => {
    await moveTo(timer.at);
    // Upkeep may have cancelled it.
    if (timers.delete(timer)) timer.fire();
    await settle();
  };

  return {
    now: () => now,
    setTimer: (at, fireTimer, background = false) => arm(timers, { at, fire: fireTimer, background }),
    setLimit(at, fireLimit) {
      const endCall = begin();
      const ranOut = (): void => {
        endCall();
        fireLimit();
      };
      const cancel = arm(timers, { at, fire: ranOut, background: false });
      return () => {
        endCall();
        cancel();
      };
    },
    setUpkeep: (at, fireUpkeep, background = false) => arm(upkeep, { at, fire: fireUpkeep, background }),
    async advance(ms) {
      const target = now + ms;
      await settle();
      for (let next = earliest(target, true); next !== undefined; next = earliest(target, true)) await fire(next);
      await moveTo(target);
      await settle();
    },
    async advanceToNext() {
      await settle();
      const next = earliest(Number.POSITIVE_INFINITY, false);
      const [look] = waitedFor();
      if (next !== undefined) await fire(next);
      else if (look !== undefined) await moveTo(look.at);
      return next !== undefined || look !== undefined;
    },
    settle,
    during(answer) {
      const endCall = begin();
      answer.then(endCall, endCall);
      return answer;
    },
    keepUp: () => keepUp(waitedFor()),
    pending: () => timers.size + upkeep.size,
  };
}
