/**
 * Halts: what they concern is held, and goes on once they are lifted.
 *
 * 1.  A halt that names no operator holds the workflow as a whole, as a pause does: nothing is planned, judged, begun
 *     or called again, and timers keep their times.
 * 2.  A halt that names an operator holds the steps that would call it; all other work goes on.
 * 3.  A call that is under way is not interrupted: it ends and is recorded.
 * 4.  What is held waits in the ledger. Once a halt of it is lifted, a process takes it up and comes by here.
 * 5.  A child workflow has an intent of its own; whether an ancestor's halt concerns it is for `haltsOn` to say.
 */
import { draft } from "../../../../contract/event.ts";
import { isHeld, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { Run } from "../run/run.ts";

const none: readonly string[] = [];

/** Returns the halts that hold the workflow as a whole (null), or a step that would call this operator. */
function haltsOf({ log, settings }: Run, operator: string | null): readonly string[] {
  const { tenant_id, intent } = log.record;
  const met = settings.haltsOn(tenant_id, intent).filter((halt) => halt.operator === operator);
  return met.length === 0 ? none : met.map(({ halt_id }) => halt_id);
}

/** Notes what has changed since the workflow came by last. True if halts hold it as a whole. */
export function meetHalts(run: Run): boolean {
  const { record } = run.log;
  const ids = haltsOf(run, null);
  // Who is paused is held by no further halt: it begins nothing anyway.
  const isNew = record.held === null && record.paused !== null;
  if (!isNew) noteHeld(run, null, ids);
  for (const step of heldSteps(record)) noteHeld(run, step, haltsOf(run, step.step.operator));
  return record.held !== null;
}

/** Returns whether halts keep the step from its call, which is noted. */
export function isStepHalted(run: Run, step: StepRecord): boolean {
  const ids = haltsOf(run, step.step.operator);
  if (ids.length > 0 || step.held !== null) noteHeld(run, step, ids);
  return ids.length > 0;
}

function heldSteps({ steps, standing, was_held }: WorkflowRecord): readonly StepRecord[] {
  if (!was_held) return [];
  return [...standing.running].flatMap((id) => {
    const step = steps.get(id);
    return step !== undefined && isHeld(step) ? [step] : [];
  });
}

function noteHeld(run: Run, step: StepRecord | null, ids: readonly string[]): void {
  const before = (step ?? run.log.record).held;
  const stepId = step?.step.step_id ?? null;
  if (ids.length === 0) {
    if (before !== null) run.log.note(draft("WORK_RELEASED", {}, stepId));
  } else if (before?.join() !== ids.join()) run.log.note(draft("WORK_HELD", { halt_ids: ids }, stepId));
}
