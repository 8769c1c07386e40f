/** The ends of a workflow, and the way to them. */
import type { EventPayloads } from "../src/contract/event.ts";
import type { WorkflowRecord } from "../src/contract/workflow.ts";
import { voidGates } from "./fold-gates.ts";
import type { Handler } from "./fold-records.ts";

/**
 * Ends the pause and the hold of the workflow as a whole, and its wait for a place; holds of steps end with the steps.
 */
function endHolds(record: WorkflowRecord): void {
  record.paused = null;
  record.held = null;
  if (record.place === "waiting") leaveQueue(record);
}

function leaveQueue(record: WorkflowRecord): void {
  record.place = null;
  record.queued_at = null;
}

/** Ends whatever holds a workflow that has ended, and gives its place back. */
function endAll(record: WorkflowRecord): void {
  endHolds(record);
  leaveQueue(record);
}

/** The handlers of events that end a workflow, or lead to its end. */
export const endHandlers: { readonly [T in keyof EventPayloads]?: Handler<T> } = {
  WORKFLOW_COMPLETED(record, { text, warnings }, { at }) {
    endAll(record);
    record.text = text;
    record.warnings.push(...warnings);
    record.status = "completed";
    record.finished_at = at;
  },
  WORKFLOW_COMPENSATING(record, compensating) {
    if (record.place === "waiting") leaveQueue(record);
    record.compensating = compensating;
    record.status = "running";
  },
  WORKFLOW_ROLLING_BACK(record, { run, reason, principal, steps, attempts }, { at }) {
    record.rolled_back = { reason, principal, at };
    record.compensating = {
      ending: { how: "cancel", reason, error: null, principal },
      steps,
      ...(attempts !== undefined && { attempts }),
    };
    record.compensated = null;
    record.run = run;
    record.run_began_at = at;
    record.status = "running";
    record.finished_at = null;
  },
  WORKFLOW_FAILED(record, { error, status, compensated = null }, { at, type }) {
    endAll(record);
    record.compensated = compensated;
    record.error = error;
    record.status = status;
    record.finished_at = at;
    voidGates(record, type);
  },
  WORKFLOW_CANCELLING(record, cancelling) {
    endHolds(record);
    record.cancelling = cancelling;
  },
  WORKFLOW_CANCELLED(record, { error, compensated = null }, { at, type }) {
    endAll(record);
    record.compensated = compensated;
    record.error = error;
    record.status = "cancelled";
    record.finished_at = at;
    voidGates(record, type);
  },
};
