/** The ends of a workflow, and the way to them. */
import type { EventPayloads } from "../src/contract/event.ts";
import type { WorkflowRecord } from "../src/contract/workflow.ts";
import { voidGates } from "./fold-gates.ts";
import type { Handler } from "./fold-records.ts";

/** Ends the pause and the hold of the workflow as a whole; those of steps end with the steps. */
function endHolds(record: WorkflowRecord): void {
  record.paused = null;
  record.held = null;
}

/** The handlers of events that end a workflow, or lead to its end. */
export const endHandlers: { readonly [T in keyof EventPayloads]?: Handler<T> } = {
  WORKFLOW_COMPLETED(record, { text, warnings }, { at }) {
    endHolds(record);
    record.text = text;
    record.warnings.push(...warnings);
    record.status = "completed";
    record.finished_at = at;
  },
  WORKFLOW_COMPENSATING(record, compensating) {
    record.compensating = compensating;
    record.status = "running";
  },
  WORKFLOW_FAILED(record, { error, status, compensated = null }, { at, type }) {
    endHolds(record);
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
    endHolds(record);
    record.compensated = compensated;
    record.error = error;
    record.status = "cancelled";
    record.finished_at = at;
    voidGates(record, type);
  },
};
