/**
 * Steps that run a child workflow: with gates, failures and children of its own, waited for or detached; and what
 * people do to the children. Drawn from a stream of their own.
 */
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Behaviour, Story, StoryStep } from "./story.ts";
import { weave } from "./story-features.ts";
import { putIn } from "./story-lifecycle.ts";

export const childIntent = "Story.Sim.Child";
const stream = 0x1f83d9ab;

export function withChildren(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.children || !draw.chance(0.6)) return story;
  const childSteps = drawChild(draw, story.operators.length);
  let { steps } = story;
  for (let i = 1, many = 1 + draw.upTo(2); i <= many; i += 1)
    steps = putIn(draw, steps, { id: `c${i}`, kind: "run", params: drawRun(draw) });
  const actions = weave(draw, story.actions, ["end_child", "retry_child", "cancel", "tick", "crash", "open"]);
  return { ...story, steps, childSteps, actions };
}

/** `depth` says how many levels of children the child has below it. */
const drawRun = (draw: Draw): StoryStep["params"] => ({
  intent: childIntent,
  inputs: { depth: draw.chance(0.3) ? 1 : 0 },
  ...(draw.chance(0.15) && { detached: true }),
});

const behaviours: readonly Behaviour[] = ["ok", "slow", "slow", "fatal", "throws", "transient", "sent_never"];

function drawChild(draw: Draw, operators: number): readonly StoryStep[] {
  const steps: StoryStep[] = [];
  for (let i = 1, size = 1 + draw.upTo(3); i <= size; i += 1)
    steps.push({
      id: `child${i}`,
      depends_on: steps.map(({ id }) => id).filter(() => draw.chance(0.6)),
      operator: draw.upTo(operators),
      gate: draw.chance(0.3) ? drawGate(draw) : null,
      outcome: draw.chance(0.2),
      applies: null,
      behaviours: Array.from({ length: draw.upTo(3) }, () => draw.pick(behaviours)),
    });
  return steps;
}

/** The steps of a child with so many levels below it. */
export const stepsOfChild = ({ childSteps }: Story, depth: number): readonly StoryStep[] =>
  depth <= 0 ? childSteps : [...childSteps, deeper(depth - 1)];

/** The step of a child that runs a child. */
const deeper = (depth: number): StoryStep => ({
  ...{ id: "below", operator: -1, gate: null, outcome: false, applies: null, behaviours: [], depends_on: [] },
  kind: "run",
  params: { intent: childIntent, inputs: { depth } },
});

/** A child that there is, whoever asked for its parent. */
export function findChild({ world }: Stage, n: number): string | undefined {
  const children = [...world.records.values()].filter((record) => record != null && record.parent !== null);
  return at(children, n)?.workflow_id;
}

/** Somebody ends a child. */
export function endChild(stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined {
  const id = findChild(stage, of);
  if (id === undefined || by % 3 > 0) return undefined;
  return ask(stage, { process, what: "cancel" }, (kernel) => kernel.cancel(id, callerOf(by)));
}

/** Somebody retries a child that has failed, whatever its parent does. */
export function retryChild(stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined {
  const id = findChild(stage, of);
  if (id === undefined) return undefined;
  const request = { ...callerOf(by), mode: "resume_failed_steps" } as const;
  return ask(stage, { process, what: "retry resume_failed_steps" }, (kernel) => kernel.retry(id, request));
}
