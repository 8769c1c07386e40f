/** The plan of a story, round by round, and the names of what stands in it. */
import type { ExecutionPlan, PlanStepDraft } from "../../src/contract/plan.ts";
import type { Story, StoryStep } from "./story.ts";

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

export function planOf(story: Story, round: number): ExecutionPlan {
  const named = namesIn(story, round);
  const plan = { reasoning: "as the story has it", steps: story.steps.map((step) => draftOf(step, named)) };
  return round < story.rounds ? { ...plan, continues: true } : plan;
}

const draftOf = (step: StoryStep, named: Named): PlanStepDraft => ({
  step_id: named(step.id),
  name: step.id,
  operator: nameOf(step.operator),
  params: { of: named(step.id), from: step.depends_on.map((id) => `{{${named(id)}.output.by}}`) },
  depends_on: step.depends_on.map(named),
  ...(step.gate === null ? {} : { gate: step.gate as never }),
  ...(step.outcome ? { outcome: "Story.Draft" } : {}),
  ...(step.applies === null ? {} : { applies: named(step.applies) }),
});

/** What the call of a step will be made with where all goes as planned. */
export function foreseen(story: Story, step: StoryStep, round: number) {
  const named = namesIn(story, round);
  const params = { of: named(step.id), from: step.depends_on.map(named) };
  const isChanged = story.operators[step.operator]?.ruling.endsWith("TRANSFORM") === true;
  return { step_id: named(step.id), payload: isChanged ? { ...params, transformed: true } : params };
}
