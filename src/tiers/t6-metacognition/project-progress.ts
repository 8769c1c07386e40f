/**
 * Projections for people: progress and the assistant's narrative, computed from the folded ledger and nothing else
 *.
 *
 * 1.  percent = rounded 100 × weight succeeded / weight of the effective plan; 100 exactly when completed.
 * 2.  Sub-progress is labelled not final and changes no percent.
 */
import type { AssistantDelta } from "../../contract/assistant-delta.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { payloadOf } from "../../contract/event.ts";
import { factsOf } from "../../contract/events.ts";
import type { KernelProgress } from "../../contract/progress.ts";
import { effectiveSteps, itemsOf, percentOf, type StepRecord, type WorkflowRecord } from "../../contract/workflow.ts";

export function progressOf(record: WorkflowRecord): KernelProgress {
  const steps = effectiveSteps(record);
  const current = steps.find((s) => s.state === "running") ?? steps.find((s) => s.state === "queued");
  return {
    tenant_id: record.tenant_id,
    workflow_id: record.workflow_id,
    correlation_id: record.correlation_id,
    percent: percentOf(record),
    stage: record.state,
    ...(record.paused !== null && { paused: true }),
    current_step:
      current === undefined || record.finished_at !== null
        ? null
        : { step_id: current.step.step_id, name: current.step.name },
    ...countsOf(record, steps),
  };
}

/** Returns the counts of the items or rounds that the workflow is going through, if it is. */
function countsOf(record: WorkflowRecord, steps: readonly StepRecord[]): Pick<KernelProgress, "items"> {
  for (const step of steps) {
    const counts = step.state === "running" ? itemsOf(record, step) : null;
    if (counts !== null) return { items: { step_id: step.step.step_id, ...counts } };
  }
  return {};
}

/** Returns the progress after an event if it has changed; sub-progress is a labelled extra. */
export function progressAfter(record: WorkflowRecord, event: LedgerEvent): KernelProgress | null {
  if (event.event_type === "STEP_STREAMED") {
    const { percent } = payloadOf(event, "STEP_STREAMED");
    return percent === null
      ? null
      : { ...progressOf(record), sub: { step_id: event.step_id ?? "", percent, final: false } };
  }
  // A question about a call during cancellation opens a gate in that state: no other event shows the wait.
  const isAsked = event.event_type === "GATE_OPENED" && record.state === "cancelling";
  return isAsked || factsOf(event.event_type).progress === true ? progressOf(record) : null;
}

export function assistantDeltas(event: LedgerEvent): readonly AssistantDelta[] {
  switch (event.event_type) {
    case "STEP_STREAMED": {
      const { chunks, sequence } = payloadOf(event, "STEP_STREAMED");
      return chunks.length === 0
        ? []
        : [{ type: "delta", sequence, step_id: event.step_id ?? "", text: chunks.join("") }];
    }
    case "STEP_SUCCEEDED":
      return [{ type: "step", step_id: event.step_id ?? "", text: payloadOf(event, "STEP_SUCCEEDED").output_text }];
    case "OUTCOME_DRAFTED":
    case "OUTCOME_FINALIZED": {
      const { outcome_id, version, outcome_type, status, content } = payloadOf(event, "OUTCOME_DRAFTED").outcome;
      return [{ type: "artifact", outcome_id, version, outcome_type, status, content }];
    }
    case "GATE_OPENED":
    case "GATE_REVISED": {
      const { gate_id, title, preview, ui_actions } = payloadOf(event, "GATE_OPENED").gate;
      return [{ type: "gate", gate_id, title, preview, ui_actions }];
    }
    case "WORKFLOW_COMPLETED":
      return [{ type: "final", text: payloadOf(event, "WORKFLOW_COMPLETED").text, state: "completed" }];
    case "WORKFLOW_FAILED":
      return [{ type: "final", text: payloadOf(event, "WORKFLOW_FAILED").error.message, state: "failed" }];
    case "WORKFLOW_CANCELLED":
      return [{ type: "final", text: payloadOf(event, "WORKFLOW_CANCELLED").reason, state: "cancelled" }];
    default:
      return [];
  }
}
