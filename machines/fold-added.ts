/**
 * The steps that are added to a plan while it runs: `STEPS_ADDED` makes ordinary steps of a template and a list.
 *
 * 1.  Their ids hold a colon, which no author's id may hold: an added step collides with none of a plan.
 * 2.  All that a template does not say is that of the step for which they are added: dependencies, weight, priority,
 *     draft version. What undoes a step depends on nothing: it is added once it may begin.
 */
import type { EventPayloads } from "../src/contract/event.ts";
import type { StepTemplate } from "../src/contract/plan.ts";
import type { AddedAs, StepGroup } from "../src/contract/step-group.ts";
import type { Standing, StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";
import { addedIdOf, isUndoing } from "./added-id.ts";
import { newStep } from "./fold-records.ts";
import { countAdded, noCounts } from "./fold-standing.ts";
import { scheduleAttempt } from "./fold-usage.ts";

/**
 * Adds steps for a step, from the template that stands in it: queued, each with a token of its own. A step that has no
 * such template gets none.
 */
export function addSteps(record: WorkflowRecord, { of, as, items, asks }: EventPayloads["STEPS_ADDED"]): void {
  const owner = record.steps.get(of);
  const template = asks ?? (owner === undefined ? undefined : templates[as](owner));
  if (owner === undefined || template === undefined) return;
  const { depends_on, settled, weight, priority, draft_version } = isUndoing(as)
    ? { ...owner.step, depends_on: [], settled: undefined }
    : owner.step;
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

/** The templates of added steps that stand in the plan, by their kind. That of a question stands in the event. */
const templates: Readonly<Record<AddedAs, (owner: StepRecord) => StepTemplate | undefined>> = {
  item: ({ step }) => step.each?.do,
  round: ({ step }) => step.repeat?.do,
  undo: ({ step }) => step.undo,
  question: () => undefined,
};

/** Returns the group of the steps that are added for a step, which begins with the first of them. */
function openGroup({ groups }: Standing, of: string, as: StepGroup["as"]): StepGroup {
  const known = groups.get(of);
  if (known !== undefined) return known;
  const group: StepGroup = {
    of,
    as,
    undoes: isUndoing(as),
    ids: new Map(),
    counts: { ...noCounts },
    left_out: 0,
    before: 0,
  };
  groups.set(of, group);
  return group;
}
