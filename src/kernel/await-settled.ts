/**
 * Waits until a workflow rests, here or in the process that holds it.
 *
 * Never: keeps the process alive for host code that never ends; tells of what is not durable yet.
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

/** Returns how it rests, or the last that is known where the kernel stops. @throws KernelErrorException T0_KERNEL_STOPPED when nothing is. */
export async function awaitSettled(
  parts: KernelParts,
  workflowId: string,
  isStopping: () => boolean,
): Promise<WorkflowState> {
  const { executor, reading } = parts;
  const view = (record: WorkflowRecord) => viewOf(record, parts.registry);
  const waitForChange = changesOf(parts, workflowId);
  for (let last: WorkflowRecord | null = null; ; ) {
    const run = executor.awake(workflowId);
    // Its last row is under way: what it holds is what the ledger will say.
    if (run !== null && isEnding(run)) {
      await run.saved().catch(() => undefined);
      const ended = savedOf(run);
      // What was waited for is durable.
      if (ended !== null && isTerminal(ended.state)) return view(ended);
      continue;
    }
    if (run === null || mayRest(run)) {
      last = await reading.readWorkflowState(workflowId);
      const now = executor.awake(workflowId);
      // What is read here is durable.
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
    // Of a kernel that has stopped nothing more is to be expected, and its ledger can no longer be read.
    await makeDurable(parts, isStopping);
    if (last !== null) return view(last);
    raise(kernelError("T0_KERNEL_STOPPED", "the kernel stopped before the workflow rested", settledRef));
  }
}

/** Resolves once what this process has committed may be told. */
const makeDurable = ({ told, store, writer }: KernelParts, isStopping: () => boolean): Promise<void> | undefined =>
  told === store || isStopping() ? undefined : writer.sync();

/** Waits until there is reason to look again; false when nobody will be told anything any more. */
function changesOf({ restWaiters, runtime }: KernelParts, workflowId: string) {
  let heard: Mailbox | null = null;
  return (run: Mailbox | null): Promise<boolean> => {
    if (run?.isBusy === true && run !== heard) {
      // It may settle and stay: host code that never ends keeps it here, and nothing else need keep the process alive.
      heard = run;
      void run.idle().then(() => {
        heard = null;
        restWaiters.tell(workflowId);
      });
    }
    const until = runtime.clock.now() + runtime.limits.tailPollMs;
    return restWaiters.next(workflowId, { until, background: run !== null });
  };
}

/** Returns whether the ledger may say that the workflow rests although it is awake: host code may never end, a log may be lost. */
const mayRest = ({ isBusy, log }: Mailbox): boolean =>
  log.lost !== null || (log.exists && (!isBusy || isTerminal(log.record.state)));

const isEnding = (run: Mailbox): boolean =>
  run.log.lost === null && run.log.exists && isTerminal(run.log.record.state) && savedOf(run) === null;

const hasSettled = ({ state, gates }: WorkflowRecord): boolean => isSettled(state, gates.values());

/** Its record, where the ledger has all of it. */
function savedOf(run: Mailbox | null): WorkflowRecord | null {
  if (run === null || run.log.lost !== null || !run.log.exists) return null;
  const { record, confirmed } = run.log;
  return record.sequence === confirmed ? record : null;
}
