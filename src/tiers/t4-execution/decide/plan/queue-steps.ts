/** The queueing of steps that a plan has, or that were added to it. */
import { draft, type EventDraft } from "../../../../contract/event.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";

/** Returns STEP_QUEUED for each of these steps that is queued. */
export const queueSteps = (record: WorkflowRecord, stepIds: readonly string[]): EventDraft[] =>
  stepIds.flatMap((id) => {
    const step = record.steps.get(id);
    return step?.state === "queued"
      ? [draft("STEP_QUEUED", { name: step.step.name, operator: step.step.operator }, id)]
      : [];
  });
