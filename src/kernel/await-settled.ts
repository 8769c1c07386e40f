/**
 * Waits until a workflow settles, here or in the process that holds it.
 *
 * Never: keeps the process alive for host code that never ends; reports a state that is not durable yet.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { isSettled, isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import type { Mailbox } from "../tiers/t4-execution/mailbox.ts";
import type { KernelParts } from "./parts.ts";
import { viewOf } from "./reads.ts";

const settledRef = moduleRef(0, "kernel", "settled");

/**
 * Returns the settled state, or the last known one if the kernel stops. @throws KernelErrorException T0_KERNEL_STOPPED
 * if there is none; the reason of the signal, once it has aborted.
 */
export async function awaitSettled(
  parts: KernelParts,
  workflowId: string,
  isStopping: () => boolean,
  signal?: AbortSignal,
): Promise<WorkflowState> {
  const { executor, reading } = parts;
  const view = (record: WorkflowRecord) => viewOf(record, parts.registry);
  const waitForChange = changesOf(parts, workflowId, signal);
  for (let last: WorkflowRecord | null = null; ; ) {
    signal?.throwIfAborted();
    const run = executor.awake(workflowId);
    // Its last row is being written: the ledger will hold what it holds.
    if (run !== null && isEnding(run)) {
      await run.saved().catch(() => undefined);
      const ended = savedOf(run);
      // The state that was waited for is durable.
      if (ended !== null && isTerminal(ended.state)) return view(ended);
      continue;
    }
    if (run === null || mayRest(run)) {
      last = await reading.readWorkflowState(workflowId);
      const now = executor.awake(workflowId);
      // A state that is read here is durable.
      if (isTerminal(last.state) || (hasSettled(last) && now?.isBusy !== true)) return view(last);
      if (now === null && isStopping()) return view(last);
    } else last = savedOf(run) ?? last;
    const goesOn = await waitForChange(run);
    const saved = savedOf(run);
    if (saved !== null && hasSettled(saved) && executor.awake(workflowId) === null) {
      await makeDurable(parts, isStopping);
      return view(saved);
    }
    last = saved ?? last;
    if (goesOn) continue;
    // A stopped kernel makes no further progress, and its ledger can no longer be read.
    await makeDurable(parts, isStopping);
    if (last !== null) return view(last);
    raise(kernelError("T0_KERNEL_STOPPED", "the kernel stopped before the workflow rested", settledRef));
  }
}

/** Resolves once the rows that this process has committed may be shown. */
const makeDurable = ({ reported, store, writer }: KernelParts, isStopping: () => boolean): Promise<void> | undefined =>
  reported === store || isStopping() ? undefined : writer.sync();

/** Waits until there is reason to look again; false if no waiter will be resumed any more. */
function changesOf({ restWaiters, runtime }: KernelParts, workflowId: string, signal: AbortSignal | undefined) {
  let received: Mailbox | null = null;
  return (run: Mailbox | null): Promise<boolean> => {
    if (run?.isBusy === true && run !== received) {
      // It may settle and stay here because of host code that never ends, and nothing else has to keep the process
      // alive.
      received = run;
      void run.idle().then(() => {
        received = null;
        restWaiters.tell(workflowId);
      });
    }
    const until = runtime.clock.now() + runtime.limits.tailPollMs;
    return restWaiters.next(workflowId, { until, background: run !== null, signal });
  };
}

/**
 * Returns whether the ledger may have the workflow as parked although it is awake here: host code may never end, or a
 * log may have failed.
 */
const mayRest = ({ isBusy, log }: Mailbox): boolean =>
  log.lost !== null || (log.exists && (!isBusy || isTerminal(log.record.state)));

const isEnding = (run: Mailbox): boolean =>
  run.log.lost === null && run.log.exists && isTerminal(run.log.record.state) && savedOf(run) === null;

const hasSettled = ({ state, paused, gates }: WorkflowRecord): boolean =>
  isSettled({ state, paused, gates: gates.values() });

/** Its record, where the ledger has all of it. */
function savedOf(run: Mailbox | null): WorkflowRecord | null {
  if (run === null || run.log.lost !== null || !run.log.exists) return null;
  const { record, confirmed } = run.log;
  return record.sequence === confirmed ? record : null;
}
