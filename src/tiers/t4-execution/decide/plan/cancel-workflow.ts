/**
 * The cancellation of a workflow: nothing new begins, and the end of each call that may have had an effect is found out
 * before the workflow ends.
 *
 * 1.  A call that may have an effect and may not be repeated keeps its step open until its end is known. All other
 *     steps are skipped at once, with the gates that they held.
 * 2.  While such a call is running in this process the workflow waits for it, and a late end is recorded like any
 *     other.
 * 3.  If the end is not known (after a crash, a timeout, a throw), a person is asked at the gate of the step, as for
 *     any call in doubt. The answer is the end; nothing is called again.
 * 4.  A call without effect, or one that may be repeated under its key, is not waited for.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { WorkflowStateName } from "../../../../contract/progress.ts";
import {
  isCancelled,
  isStepDone,
  isTerminal,
  type StepRecord,
  type WorkflowRecord,
} from "../../../../contract/workflow.ts";
import { oodaRef, type Run } from "../run/run.ts";
import { kindOf } from "../step/kinds.ts";
import { stepsToUndo } from "./compensate.ts";
import { cancelWorkflow, doubtActions } from "./end-workflow.ts";

interface Why {
  readonly reason: string;
  readonly principal: Principal;
  readonly undo?: boolean | undefined;
}

/**
 * Appends the cancellation by a person. Operators are aborted only once it is committed, since the append may fail.
 * @throws KernelErrorException T4_WORKFLOW_CONFLICT.
 */
export function beginCancelling(run: Run, { reason, principal, undo = false }: Why): void {
  const { state, compensating, cancelling } = run.log.record;
  if (undo && state === "cancelled" && compensating === null) requireNothingLeft(run);
  if (state === "cancelled" || (state === "cancelling" && (!undo || cancelling?.undo === true))) return;
  if (isTerminal(state)) refuse(`a ${state} workflow cannot be cancelled`, state);
  if (compensating !== null && undo) return;
  if (compensating !== null) refuse("the workflow is ending: it undoes what it has done", state);
  run.ending = null;
  // Children were told of an order without undo, and hear of this one.
  run.cancelled.clear();
  run.intend({ do: "abort", reason: "cancelled" });
  if (openSteps(run).length === 0) return cancelWorkflow(run, { reason, error: null, principal, undo });
  run.log.note(draft("WORKFLOW_CANCELLING", { reason, principal, ...(undo && { undo }) }));
  closeOthers(run);
}

/** Requires that the workflow, which was cancelled, has left nothing behind. @throws T4_WORKFLOW_CONFLICT. */
function requireNothingLeft({ log: { record } }: Run): void {
  const left = stepsToUndo(record);
  if (left.length > 0)
    refuse(`it was cancelled without undo, and has left ${left.join(", ")}: roll it back`, record.state);
}

const refuse = (message: string, state: WorkflowStateName): never =>
  raise(kernelError("T4_WORKFLOW_CONFLICT", message, oodaRef("abort"), { detail: { state } }));

/** Returns the answer to the order: the state on the way to the end, also while an undo waits. */
export const stateOfCancel = ({ state, compensating }: WorkflowRecord): WorkflowStateName =>
  compensating !== null && !isTerminal(state) ? "compensating" : state;

/** Asks for the ends of calls that are no longer running, and ends the workflow once all ends are known. */
export function goOnCancelling(run: Run): void {
  for (const step of openSteps(run)) if (!kindOf(step.step).cancel.findOut(run, step)) skip(run, step);
  closeOthers(run);
  const { cancelling } = run.log.record;
  if (cancelling === null || openSteps(run).length > 0) return;
  cancelWorkflow(run, { ...cancelling, error: null });
}

/** Returns the steps whose end has to be known before the workflow ends. */
const openSteps = (run: Run): readonly StepRecord[] =>
  [...run.log.record.steps.values()].filter((step) => kindOf(step.step).cancel.isOpen(run, step));

function closeOthers(run: Run): void {
  const open = new Set(openSteps(run));
  const closed = [...run.log.record.steps.values()].filter((step) => !isStepDone(step.state) && !open.has(step));
  const doubted = new Set(closed.map(({ action_id }) => action_id));
  for (const { action_id } of open) doubted.delete(action_id);
  run.log.note(...doubtActions(run, (actionId) => doubted.has(actionId)));
  for (const step of closed) skip(run, step);
}

function skip(run: Run, { step: { step_id } }: StepRecord): void {
  run.calls.delete(step_id);
  run.log.note(draft("STEP_SKIPPED", { reason: "cancelled", because: null }, step_id));
}

/** Returns whether the workflow was cancelled, by any process, while calls of its steps were under way here. */
export function endsCalls({ log: { record }, calls }: Run): boolean {
  const isSkipped = (id: string): boolean => record.steps.get(id)?.state !== "running";
  return isCancelled(record.state) || (record.state === "compensating" && [...calls.keys()].some(isSkipped));
}
