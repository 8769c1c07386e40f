/** How the steps of a folded workflow stand, and what follows from it: pure readings of the record. */
import { draft, type EventDraft } from "../../../contract/event.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";

/** What made a waiting workflow go on: the gate that was decided last, which need not be the one that opened last. */
export function lastDecidedGate({ gates }: WorkflowRecord): string | null {
  let [last, at]: [string | null, string] = [null, ""];
  for (const { gate_id, decision } of gates.values())
    if (decision !== null && decision.at >= at) [last, at] = [gate_id, decision.at];
  return last;
}

/** STEP_QUEUED for each of these steps that is queued. */
export const queueSteps = (record: WorkflowRecord, stepIds: readonly string[]): EventDraft[] =>
  stepIds.flatMap((id) => {
    const step = record.steps.get(id);
    return step?.state === "queued"
      ? [draft("STEP_QUEUED", { name: step.step.name, operator: step.step.operator }, id)]
      : [];
  });

/** Whether a step waits for the end of a pause. */
export function isBackingOff({ steps, standing }: WorkflowRecord): boolean {
  for (const id of standing.running) if (steps.get(id)?.phase === "backing_off") return true;
  return false;
}
