/** The plan of a story, round by round, and the names of what stands in it. */
import type { AnyStepDraft, ExecutionPlan } from "../../src/contract/plan.ts";
import type { Story, StoryStep } from "./story.ts";
import { stepsOfChild } from "./story-children.ts";
import { type StoryRelease, templateOf } from "./story-deploy.ts";
import { growingDraft } from "./story-growth.ts";
import { conditionOf } from "./story-lifecycle.ts";
import { isUndoing, type StoryUndo, undoDraft } from "./story-undo.ts";

export const nameOf = (operator: number): string => `Story.Op${operator}`;

/** The id as its plan has it, whatever was planned anew: an item is that of its list. */
export const baseOf = (stepId: string): string => stepId.replace(/_r\d+(?=$|:)/, "");
/** The id of a step of a plan: of a step that it has added, its own. */
export const ownerOf = (stepId: string): string => stepId.replace(/:.*$/, "");
/** The id as the story has it, whichever round it is of; of a step that another one added, that one's. */
export const plainOf = (stepId: string): string => baseOf(ownerOf(stepId)).replace(/^q\d+/, "");
/** The place of a step among those that another one has added; 0 for one of a plan. */
export const indexOf = (stepId: string): number => Number(/:(\d+)$/.exec(stepId)?.[1] ?? 0);

export const findStep = ({ steps, childSteps }: Story, stepId: string): StoryStep | undefined =>
  [...steps, ...childSteps].find(({ id }) => id === plainOf(stepId));

type Named = (id: string) => string;

/** The undo that a step makes; undefined if it undoes nothing. */
export function findUndo(story: Story, stepId: string): StoryUndo | undefined {
  if (!isUndoing(stepId)) return undefined;
  return findStep(story, stepId.slice("undo:".length))?.undo;
}

/** A story of several rounds names its steps anew in each: the work of one round is not that of another. */
const namesIn =
  ({ rounds }: Story, round: number): Named =>
  (id) =>
    rounds === 0 || round === 0 ? id : `q${round}${id}`;

export function planOf(story: Story, round: number, release: StoryRelease | null): ExecutionPlan {
  const named = namesIn(story, round);
  const template = { ...story, steps: templateOf(story, release) };
  const steps = template.steps.map((step) => draftOf(template, step, named));
  const plan = { reasoning: "as the story has it", steps };
  return round < story.rounds ? { ...plan, continues: true } : plan;
}

/** The plan of a child with so many levels of children below it. */
export function planOfChild(story: Story, depth: number, release: StoryRelease | null): ExecutionPlan {
  const whole = { ...story, steps: stepsOfChild(story, depth) };
  const template = { ...whole, steps: templateOf(whole, release) };
  return {
    reasoning: "as its parent has it",
    steps: template.steps.map((step) => draftOf(template, step, (id) => id)),
  };
}

/** The step as whose call a step's call is made: its own, or that of a sibling. */
const calledAs = (story: Story, step: StoryStep): StoryStep =>
  (step.as === undefined ? undefined : findStep(story, step.as)) ?? step;

/** A step that sleeps or fails gives nothing to refer to; one that asks gives an answer with the same member. */
const paramsOf = (story: Story, made: StoryStep, shown: Named, named: Named): { of: string; from: string[] } => ({
  of: named(made.id),
  from: made.depends_on.filter((id) => [undefined, "ask"].includes(findStep(story, id)?.kind)).map(shown),
});

/** Returns whether a step may have given nothing where those that come after it go on. */
const mayGiveNothing = ({ steps }: Story, id: string): boolean =>
  steps.some((step) => (step.id === id && step.when !== undefined) || step.settled?.includes(id) === true);

function draftOf(story: Story, step: StoryStep, named: Named): AnyStepDraft {
  const shared = {
    step_id: named(step.id),
    name: step.id,
    depends_on: step.depends_on.map((id) =>
      step.settled?.includes(id) === true ? { step_id: named(id), settled: true as const } : named(id),
    ),
    ...(step.when === undefined ? {} : { when: conditionOf(step.when, `{{${named(step.when.of)}.output.by}}`) }),
  };
  const gate = step.gate === null ? {} : { gate: step.gate as never };
  const shown = (id: string): string => `{{${named(id)}.output.by${mayGiveNothing(story, id) ? ' ?? "none"' : ""}}}`;
  if (step.list !== undefined || step.repeats !== undefined) {
    const undo = undoDraft(step, shared.step_id, nameOf);
    const call = { operator: nameOf(step.operator), params: paramsOf(story, step, shown, named), ...gate, ...undo };
    return { ...shared, kind: step.kind, ...growingDraft(step, shared.step_id, call) } as AnyStepDraft;
  }
  if (step.kind !== undefined) return { ...shared, kind: step.kind, params: step.params, ...gate } as AnyStepDraft;
  return {
    ...shared,
    operator: nameOf(step.operator),
    params: paramsOf(story, calledAs(story, step), shown, named),
    ...gate,
    ...(step.outcome ? { outcome: "Story.Draft" } : {}),
    ...(step.applies === null ? {} : { applies: named(step.applies) }),
    ...undoDraft(step, shared.step_id, nameOf),
  };
}

/** What the call of a step will be made with where all goes as planned. */
export function foreseen(story: Story, step: StoryStep, round: number) {
  const named = namesIn(story, round);
  const params = paramsOf(story, calledAs(story, step), named, named);
  const isChanged = story.operators[step.operator]?.ruling.endsWith("TRANSFORM") === true;
  const { list, repeats } = step;
  const first = list === undefined ? { last: "none" } : { item: list.items[0]?.id ?? "" };
  const whole = list === undefined && repeats === undefined ? params : { ...params, ...first };
  const step_id =
    list !== undefined ? `${named(step.id)}:0` : repeats !== undefined ? `${named(step.id)}:1` : named(step.id);
  return { step_id, payload: isChanged ? { ...whole, transformed: true } : whole };
}
