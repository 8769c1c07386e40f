/**
 * The steps that a step of the plan adds while it runs: `STEPS_ADDED` makes ordinary steps of a template and a list.
 *
 * 1.  Their ids hold a colon, which no author's id may hold: an added step collides with none of a plan.
 * 2.  All that a template does not say is that of the step which adds them: dependencies, weight, priority, draft
 *     version.
 */
import type { EventPayloads } from "../src/contract/event.ts";
import type { StepGroup } from "../src/contract/step-group.ts";
import type { Standing, WorkflowRecord } from "../src/contract/workflow.ts";
import { addedIdOf } from "./added-id.ts";
import { newStep } from "./fold-records.ts";
import { countAdded, noCounts } from "./fold-standing.ts";
import { scheduleAttempt } from "./fold-usage.ts";

/**
 * Adds steps to a step of the plan, from the template that stands in it: queued, each with a token of its own. A step
 * that has no template adds none.
 */
export function addSteps(record: WorkflowRecord, { of, as, items }: EventPayloads["STEPS_ADDED"]): void {
  const owner = record.steps.get(of);
  const template = owner?.step.each?.do ?? owner?.step.repeat?.do;
  if (owner === undefined || template === undefined) return;
  const { depends_on, settled, weight, priority, draft_version } = owner.step;
  const group = openGroup(record.standing, of, as);
  const shared = {
    ...template,
    depends_on,
    ...(settled !== undefined && { settled }),
    outcome: null,
    applies: null,
    idempotency: { strategy: "inputs", target: null },
    weight,
    priority,
    draft_version,
  } as const;
  for (const { key, value } of items) {
    const index = group.ids.size;
    const step_id = addedIdOf(of, as, index);
    const step = newStep({ ...shared, step_id }, owner.plan_id, { of, as, index, key, value });
    group.ids.set(key, step_id);
    record.steps.set(step_id, step);
    countAdded(record.standing, step);
    scheduleAttempt(record, step);
  }
  // The views that follow the steps look at the group again.
  record.standing.moved.push(of);
}

/** Returns the group of the steps that a step adds, which begins with the first of them. */
function openGroup({ groups }: Standing, of: string, as: StepGroup["as"]): StepGroup {
  const known = groups.get(of);
  if (known !== undefined) return known;
  const group: StepGroup = { of, as, ids: new Map(), counts: { ...noCounts }, left_out: 0, before: 0 };
  groups.set(of, group);
  return group;
}
