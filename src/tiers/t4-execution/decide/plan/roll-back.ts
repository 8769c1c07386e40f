/**
 * Rollback: a person has what a workflow that has ended had done undone.
 *
 * 1.  The workflow compensates as it does before any other end, and then is cancelled, whatever its end was before:
 *     neither `completed` nor `failed` would be true of work that is gone.
 * 2.  An order that finds everything undone, or a rollback before it, changes nothing.
 * 3.  An undo that people left as it was, when the workflow ended, is tried again.
 */

import type { RollbackResponse } from "../../../../contract/compensation.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Principal } from "../../../../contract/intent.ts";
import { addedBy, isTerminal, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { oodaRef, type Run } from "../run/run.ts";
import { stepsToUndo } from "./compensate.ts";

interface Why {
  readonly reason: string;
  readonly principal: Principal;
}

/** Appends the order, after which the workflow undoes what it had done. @throws T4_WORKFLOW_CONFLICT. */
export function rollBack(run: Run, { reason, principal }: Why): void {
  const { record } = run.log;
  if (record.rolled_back !== null) return;
  if (!isTerminal(record.state)) {
    if (record.compensating !== null) return;
    refuse("it has not ended: cancel it, with undo: true", record);
  }
  const steps = stepsToUndo(record);
  if (steps.length === 0 && record.compensated === "all") return;
  if (steps.length === 0) refuse("nothing that it has done can be undone", record);
  run.ending = null;
  run.cancelled.clear();
  const tried = steps.map((id) => [id, [...addedBy(record, id)].length] as const).filter(([, count]) => count > 0);
  const attempts = tried.length === 0 ? {} : { attempts: Object.fromEntries(tried) };
  run.log.note(draft("WORKFLOW_ROLLING_BACK", { run: record.run + 1, reason, principal, steps, ...attempts }));
}

/** Returns the answer to the order: whether the workflow is undoing, and how much is undone once it has ended. */
export const answerOfRollback = ({
  state,
  compensated,
}: WorkflowRecord): Omit<RollbackResponse, "workflow_id" | "correlation_id"> =>
  isTerminal(state)
    ? { status: state as "failed" | "cancelled", compensated }
    : { status: "compensating", compensated: null };

const refuse = (message: string, { state, workflow_id }: WorkflowRecord): never =>
  raise(kernelError("T4_WORKFLOW_CONFLICT", message, oodaRef("rollback"), { detail: { state, workflow_id } }));
