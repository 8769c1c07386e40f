/** The plan of a story, round by round, and the names of what stands in it. */
import type { ExecutionPlan, PlanStepDraft } from "../../src/contract/plan.ts";
import type { Story, StoryStep } from "./story.ts";
import { type StoryRelease, templateOf } from "./story-deploy.ts";

export const nameOf = (operator: number): string => `Story.Op${operator}`;

/** The id as its plan has it, whatever was planned anew. */
export const baseOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");
/** The id as the story has it, whichever round it is of. */
export const plainOf = (stepId: string): string => baseOf(stepId).replace(/^q\d+/, "");

export const findStep = ({ steps }: Story, stepId: string): StoryStep | undefined =>
  steps.find(({ id }) => id === plainOf(stepId));

type Named = (id: string) => string;

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

/** The step as whose call a step's call is made: its own, or that of a sibling. */
const calledAs = (story: Story, step: StoryStep): StoryStep =>
  (step.as === undefined ? undefined : findStep(story, step.as)) ?? step;

const paramsOf = (made: StoryStep, named: Named, shown: Named): { of: string; from: string[] } => ({
  of: named(made.id),
  from: made.depends_on.map((id) => shown(named(id))),
});

const draftOf = (story: Story, step: StoryStep, named: Named): PlanStepDraft => ({
  step_id: named(step.id),
  name: step.id,
  operator: nameOf(step.operator),
  params: paramsOf(calledAs(story, step), named, (id) => `{{${id}.output.by}}`),
  depends_on: step.depends_on.map(named),
  ...(step.gate === null ? {} : { gate: step.gate as never }),
  ...(step.outcome ? { outcome: "Story.Draft" } : {}),
  ...(step.applies === null ? {} : { applies: named(step.applies) }),
});

/** What the call of a step will be made with where all goes as planned. */
export function foreseen(story: Story, step: StoryStep, round: number) {
  const named = namesIn(story, round);
  const params = paramsOf(calledAs(story, step), named, (id) => id);
  const isChanged = story.operators[step.operator]?.ruling.endsWith("TRANSFORM") === true;
  return { step_id: named(step.id), payload: isChanged ? { ...params, transformed: true } : params };
}
