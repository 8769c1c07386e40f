/** Orders of people on workflows: pause and resume. They are drawn from a stream of their own. */
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";

const stream = 0x5be0cd19;

export function withOrders(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.orders || !draw.chance(0.7)) return story;
  return { ...story, actions: weave(draw, story.actions, ["hold_work", "hold_work", "let_work"]) };
}

/** Somebody pauses a workflow, or has it go on. */
export function order(name: "pause" | "resume") {
  return (stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined => {
    const id = at(stage.workflows, of);
    if (id === undefined) return undefined;
    return ask(stage, { process, what: name }, async (kernel) => {
      await kernel[name](id, callerOf(by));
      stage.world.acknowledge(name, id, () => false);
    });
  };
}

/** Whoever is left lets all work go on. */
export async function letAllGoOn({ kernel }: SimulatedProcess): Promise<void> {
  const paused = (await kernel.workflows({ limit: 100 })).filter((workflow) => workflow.paused);
  for (const { workflow_id } of paused) await kernel.resume(workflow_id, callerOf(3));
}
