/** How the steps of a folded workflow stand, and what follows from it: pure readings of the record. */
import { draft, type EventDraft } from "../../../contract/event.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";

/** What made a waiting workflow go on: the gate that was decided last. */
export function lastDecidedGate(record: WorkflowRecord): string | null {
  const decided = [...record.gates.values()].filter((g) => g.decision !== null);
  return decided.at(-1)?.gate_id ?? null;
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
