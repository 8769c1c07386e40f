/**
 * Calls under way: of operators, of other host code and of stores, as a virtual clock waits for them.
 *
 * Owns: how long a call is waited for, in the machine's time. Never: moves a clock.
 * 1.  A call is waited for while something outside may answer it: a handle that keeps the process alive and did not do
 *     so when the call began. It is waited for a tenth as long where only connections are open that were in use before
 *     it, as a pool keeps them, and not at all where there is nothing: a promise that never resolves is left to its
 *     time limit.
 */
import { aliveHandles, letPass, letRun } from "./let-run.ts";

export interface CallsUnderWay {
  /** Counts a call as under way until the returned function is called. */
  readonly begin: () => () => void;
  /** Lets run what needs no time, and lets calls end. */
  readonly settle: () => Promise<void>;
}

interface Call {
  /** The handles that kept the process alive when it began. */
  readonly before: ReadonlySet<number>;
  waitedMs: number;
}

const pauseMs = 2;

/** Makes a count of calls; none is waited for longer than `patienceMs` of the machine's time. */
export function createCallsUnderWay(patienceMs: number): CallsUnderWay {
  const calls = new Set<Call>();
  const patienceWith = ({ before }: Call): number => {
    const alive = aliveHandles();
    if (alive.some(([id]) => !before.has(id))) return patienceMs;
    return alive.some(([, isConnection]) => isConnection) ? patienceMs / 10 : 0;
  };
  const areAwaited = (): boolean => [...calls].some((call) => call.waitedMs < patienceWith(call));
  return {
    begin() {
      const call = { before: new Set(aliveHandles().map(([id]) => id)), waitedMs: 0 };
      calls.add(call);
      return () => void calls.delete(call);
    },
    async settle() {
      await letRun();
      while (areAwaited()) {
        for (const call of calls) call.waitedMs += pauseMs;
        await letPass(pauseMs);
        await letRun();
      }
    },
  };
}
