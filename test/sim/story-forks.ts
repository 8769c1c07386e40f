/**
 * Forks and rollbacks, while work goes on and after all of it has ended. Drawn from a stream of their own.
 *
 * 1.  Each story of the family is bounded first: it has few requests and short lists, so that what is added here does
 *     not make it long.
 */
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Deed, Story, StoryStep } from "./story.ts";
import { findChild } from "./story-children.ts";

const stream = 0x1b873593;
const bounds = { actions: 45, submits: 3, items: 5, children: 3, workflows: 10 } as const;

export function withForks(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.forks) return story;
  const short = boundStory(draw, story);
  const actions = draw.chance(0.8)
    ? scatter(draw, short.actions, ["fork", "fork", "rollback", "crash"], 6)
    : short.actions;
  const encore = draw.chance(0.6)
    ? Array.from({ length: 2 + draw.upTo(8) }, () => drawAction(draw, draw.pick(afterwards)))
    : [];
  return { ...short, actions, encore };
}

/** What happens once all work has ended: it is forked and rolled back, and then all that happens otherwise. */
const afterwards: readonly Deed[] = [
  ...(["fork", "fork", "fork", "rollback", "rollback", "rollback", "retry"] as const),
  ...(["crash", "open", "tick", "next", "end_call", "end_call", "decide", "cancel"] as const),
];

function boundStory(draw: Draw, story: Story): Story {
  const many = story.actions.length;
  const kept = story.actions.filter((_, i) => i === 0 || draw.random() * many < bounds.actions);
  let submits = 0;
  const actions = kept.map((action) => {
    if (action.does !== "submit") return action;
    submits += 1;
    return submits > bounds.submits ? { ...action, does: "tick" as const } : action;
  });
  return { ...story, actions, steps: story.steps.map(shortenList) };
}

function shortenList(step: StoryStep): StoryStep {
  const { list } = step;
  if (list === undefined) return step;
  const most = list.runs === true ? bounds.children : bounds.items;
  return { ...step, list: { ...list, items: list.items.slice(0, most) } };
}

const drawAction = (draw: Draw, does: Deed): Action => ({
  does,
  at: draw.upTo(60),
  of: draw.upTo(60),
  by: draw.upTo(60),
  how: draw.upTo(60),
});

/** Puts up to `most` of these deeds at any places behind the first; the others keep their order. */
export function scatter(
  draw: Draw,
  actions: readonly Action[],
  from: readonly Deed[],
  most: number,
): readonly Action[] {
  const mixed = [...actions];
  for (let left = 1 + draw.upTo(most); left > 0; left -= 1)
    mixed.splice(1 + draw.upTo(mixed.length), 0, drawAction(draw, draw.pick(from)));
  return mixed;
}

/** Somebody forks a workflow: at one of its steps, or behind one of its events. */
export function fork(stage: Stage, action: Action, process: SimulatedProcess): undefined {
  const { story, workflows } = stage;
  const { of, by, how } = action;
  const id = at(workflows, of);
  if (id === undefined || workflows.length >= bounds.workflows) return undefined;
  const named = at(story.steps, by + how)?.id as string;
  const given = at(story.steps, by)?.id as string;
  const request = {
    ...callerOf(by),
    at: how % 4 === 3 ? 1 + how : named,
    ...(how % 6 === 5 && given !== named && { outputs: { [given]: { by: "a person" } } }),
    ...(how % 7 === 6 && { inputs: { line: `line ${how % 2}`, anew: true } }),
    ...(how % 5 === 4 && { idempotency_key: `fork ${of % 2}` }),
  };
  return ask(stage, { process, what: "fork" }, async (kernel) => {
    const { workflow_id } = await kernel.fork(id, request);
    if (!workflows.includes(workflow_id)) workflows.push(workflow_id);
    stage.world.acknowledge("fork", workflow_id, () => false);
  });
}

/** Somebody forks a child at one of its steps. */
export function forkChild(stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined {
  const { story, workflows } = stage;
  const id = findChild(stage, of);
  if (id === undefined || workflows.length >= bounds.workflows) return undefined;
  const request = { ...callerOf(by), at: at(story.childSteps, by)?.id as string };
  return ask(stage, { process, what: "fork" }, async (kernel) => {
    const { workflow_id } = await kernel.fork(id, request);
    if (!workflows.includes(workflow_id)) workflows.push(workflow_id);
    stage.world.mark("forked a child");
    stage.world.acknowledge("fork", workflow_id, () => false);
  });
}

/** Somebody has undone what a workflow has done that has ended. */
export function rollback(stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined {
  const id = at(stage.workflows, of);
  if (id === undefined) return undefined;
  return ask(stage, { process, what: "rollback" }, async (kernel) => {
    const { status } = await kernel.rollback(id, callerOf(by));
    stage.world.mark(`rollback ${status}`);
  });
}
