/** Runs foreign work, such as a schema or a pattern that somebody else wrote, for a bounded time of the processor. */
import { createContext, Script } from "node:vm";

/** The answer for work that was stopped. */
export const stopped = Symbol("stopped");
const nothing = (): void => undefined;
const sandbox: { work: () => unknown } = createContext({ work: nothing }) as never;
const runWork = new Script("work()");

/**
 * Returns what `work` returns, or `stopped` once it has used the thread for about the given time, regular expressions
 * included. The engine limits the elapsed time, of which a busy machine gives the thread only a part: work that was
 * stopped although it had little of the processor is run again with a longer limit.
 */
export function runWithin<T>(ms: number, work: () => T): T | typeof stopped {
  for (let timeout = ms; ; timeout *= 2) {
    const before = usedMs();
    const answer = runOnce(timeout, work);
    if (answer !== stopped || usedMs() - before >= ms / 2 || timeout >= ms * maxSlowdown) return answer;
  }
}

/** The factor by which work may exceed its limit on a machine that gives it little of the processor. */
const maxSlowdown = 32;

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

function runOnce<T>(timeout: number, work: () => T): T | typeof stopped {
  sandbox.work = work;
  try {
    return runWork.runInContext(sandbox as never, { timeout }) as T;
  } catch (thrown) {
    if ((thrown as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return stopped;
    throw thrown;
  } finally {
    sandbox.work = nothing;
  }
}
