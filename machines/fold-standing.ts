/**
 * The summary of a workflow's steps, kept while events are folded, so that no reader has to look at each step.
 *
 * Owns: the record's `standing`. Never: decides what a step does (the charts do).
 * 1.  It follows from the record's steps and newest plan alone, whatever events led there.
 */
import type { StepState } from "../src/contract/step.ts";
import type { StepGroup } from "../src/contract/step-group.ts";
import type { Standing, StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";

export const newStanding = (): Standing => ({
  places: new Map(),
  planned: new Set(),
  groups: new Map(),
  running: new Set(),
  moved: [],
  succeeded: [],
  done: 0,
  total: 0,
});

/** Moves a step to another state. */
export function moveTo({ standing }: WorkflowRecord, step: StepRecord, state: StepState): void {
  const { step_id, weight } = step.step;
  const group = groupOf(standing, step);
  if (group !== undefined) {
    group.counts[step.state] -= 1;
    group.counts[state] += 1;
  }
  step.state = state;
  standing.moved.push(step_id);
  if (state === "running") standing.running.add(step_id);
  else standing.running.delete(step_id);
  if (state !== "succeeded") return;
  standing.succeeded.push(step_id);
  if (step.added !== null) return;
  standing.done += weight;
  if (!standing.places.has(step_id)) standing.total += weight;
}

const leavesOut: ReadonlySet<string | null> = new Set(["condition", "expired", "declined"]);
const isLeftOut = ({ skip_reason }: Pick<StepRecord, "skip_reason">): boolean => leavesOut.has(skip_reason);

/** Takes a step that was left out, so that those after it go on, from the count. */
export function countSkip({ standing }: WorkflowRecord, skipped: StepRecord): void {
  const { step_id, weight } = skipped.step;
  const group = groupOf(standing, skipped);
  if (group !== undefined && isLeftOut(skipped)) group.left_out += 1;
  if (skipped.added === null && isLeftOut(skipped) && standing.places.has(step_id)) standing.total -= weight;
}

/**
 * Counts again after the plan has changed, or steps begin anew: steps that succeeded in any round, and the newest plan.
 */
export function countAgain({ standing, steps, plan }: WorkflowRecord): void {
  standing.places = new Map(plan?.steps.map((step, place) => [step.step_id, place]));
  standing.done = 0;
  standing.total = 0;
  for (const group of standing.groups.values()) {
    Object.assign(group.counts, noCounts);
    group.left_out = 0;
  }
  for (const record of steps.values()) {
    const { state, step } = record;
    if (record.added !== null) {
      countAdded(standing, record);
      continue;
    }
    if (state === "succeeded") standing.done += step.weight;
    const isCounted = standing.places.has(step.step_id) && !isLeftOut(record);
    if (state === "succeeded" || isCounted) standing.total += step.weight;
  }
}

export const noCounts: Readonly<Record<StepState, number>> = {
  queued: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  skipped: 0,
};

const groupOf = ({ groups }: Standing, { added }: StepRecord): StepGroup | undefined =>
  added === null ? undefined : groups.get(added.of);

/** Counts a step that another one has added, and gives it a place behind those of the plan. */
export function countAdded(standing: Standing, added: StepRecord): void {
  const group = groupOf(standing, added);
  if (group === undefined) return;
  group.counts[added.state] += 1;
  if (isLeftOut(added)) group.left_out += 1;
  const isOfPlan = standing.places.has(group.of) || group.undoes;
  if (isOfPlan) standing.places.set(added.step.step_id, standing.places.size);
}
