/** Gates that ask one group after another, or one of each group at once. Drawn from a stream of their own. */
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { GateInput, Story, StoryStep } from "./story.ts";

const stream = 0x27d4eb2f;
const ofEach = {
  of: [
    { role: "user", approvals: 1 },
    { role: "admin", approvals: 1 },
  ],
};

const stages = [
  [{ roles: ["user"] }, { roles: ["admin"] }],
  [{ roles: ["admin"] }, { roles: ["user"], quorum: { approvals: 2 } }],
  [{ quorum: ofEach }, { roles: ["admin"] }],
  [{ roles: ["user"] }, { roles: ["user"] }, { roles: ["admin"] }],
] as const;

export function withStages(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.stages || !draw.chance(0.6)) return story;
  const staged = (step: StoryStep): StoryStep => {
    const mayAsk = step.kind === undefined || step.kind === "ask";
    const isChosen = draw.chance(step.gate === null ? 0.1 : 0.5);
    return mayAsk && isChosen ? { ...step, gate: stageGate(draw, step.gate ?? { reason: "groups look" }) } : step;
  };
  return { ...story, steps: story.steps.map(staged), childSteps: story.childSteps.map(staged) };
}

/** The same gate, decided by groups in place of the people and the number of votes that it named. */
function stageGate(draw: Draw, gate: GateInput): GateInput {
  const { roles: _roles, quorum: _quorum, approvers: _approvers, escalation: _escalation, ...plain } = gate;
  return draw.chance(0.65)
    ? { ...plain, stages: draw.pick(stages) as unknown as NonNullable<GateInput["stages"]> }
    : { ...plain, quorum: ofEach };
}
