/**
 * Pause and resume: a person stops a workflow for a while.
 *
 * 1.  While it is paused nothing is judged, begun or called again. Calls that are under way end and are recorded; what
 *     follows from them waits.
 * 2.  Gates stay open and decisions are recorded; what follows from a decision waits.
 * 3.  Timers keep their due times: what fell due during the pause is noted when the workflow is resumed. So is an event
 *     from outside: it is kept, for this workflow or for another that waits for it.
 * 4.  The children that it waits for are paused and resumed before it: if a process dies between the two, nobody has
 *     been told that the order was carried out, and the same order again completes it.
 * 5.  Pausing a paused workflow, and resuming one that is not paused, changes nothing and has the same answer.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { isCancelled, isTerminal } from "../../../../contract/workflow.ts";
import type { Order } from "../run/input.ts";
import { oodaRef, type Run } from "../run/run.ts";
import { orderChildren } from "../step/run-step.ts";

type Why = Pick<Order, "reason" | "principal">;

/** Notes that a person pauses the workflow. @throws KernelErrorException T4_WORKFLOW_CONFLICT if it has ended. */
export function pauseWorkflow(run: Run, { reason, principal }: Why): void {
  requireOpen(run, "paused");
  orderChildren(run, { kind: "pause", reason, principal });
  if (run.log.record.paused === null) run.log.note(draft("WORKFLOW_PAUSED", { reason, principal }));
}

/** Notes that a person ends the pause. @throws KernelErrorException T4_WORKFLOW_CONFLICT if the workflow has ended. */
export function resumeWorkflow(run: Run, { reason, principal }: Why): void {
  requireOpen(run, "resumed");
  orderChildren(run, { kind: "resume", reason, principal });
  if (run.log.record.paused === null) return;
  run.log.note(draft("WORKFLOW_UNPAUSED", { reason, principal }));
  // What its steps wait for may have come meanwhile: each looks again.
  run.looked.clear();
}

function requireOpen({ log: { record } }: Run, ordered: string): void {
  const { state } = record;
  if (!isTerminal(state) && !isCancelled(state)) return;
  const message = `a ${state} workflow cannot be ${ordered}`;
  raise(kernelError("T4_WORKFLOW_CONFLICT", message, oodaRef("pause"), { detail: { state } }));
}
