/**
 * The end of a wait: the one place at which a parked step goes on, whatever it waited for.
 */
import { draft } from "../../../../contract/event.ts";
import type { StepResumed } from "../../../../contract/events/step-events.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";
import type { Run } from "../run/run.ts";

/** Notes that the wait of a parked step is over, and that its workflow goes on if nothing of it did. */
export function resumeParked(run: Run, stepId: string, by: StepResumed): void {
  const { state } = run.log.record;
  if (state === "waiting" || state === "waiting_for_user") noteResumed(run, stepId);
  run.log.note(draft("STEP_RESUMED", by, stepId));
}

/** Notes that a waiting workflow goes on: with its plan, or with undoing what it has done. */
export function noteResumed(run: Run, step_id: string | null): void {
  const { record } = run.log;
  const undoes = record.compensating === null ? {} : { compensating: true as const };
  run.log.note(draft("WORKFLOW_RESUMED", { gate_id: lastDecidedGate(record), step_id, ...undoes }));
}

/**
 * Returns the gate that made a waiting workflow go on: the one that was decided last, which need not be the one that
 * opened last.
 */
function lastDecidedGate({ gates }: WorkflowRecord): string | null {
  let [last, at]: [string | null, string] = [null, ""];
  for (const { gate_id, decision } of gates.values())
    if (decision !== null && decision.at >= at) [last, at] = [gate_id, decision.at];
  return last;
}
