/** Orders of people: pause and resume, halt and lift. They are drawn from a stream of their own. */
import type { HaltFilter } from "../../src/contract/halt.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { weave } from "./story-features.ts";
import { storyIntent } from "./story-package.ts";
import { nameOf } from "./story-plan.ts";

const stream = 0x5be0cd19;

export function withOrders(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.orders || !draw.chance(0.7)) return story;
  const paused = weave(draw, story.actions, ["hold_work", "hold_work", "let_work"]);
  return { ...story, actions: draw.chance(0.6) ? weave(draw, paused, ["halt", "halt", "lift"]) : paused };
}

/** Returns the work that a halt concerns, by the numbers of the action. */
function filterOf({ story }: Stage, { of, by, how }: Action): HaltFilter {
  const operator = nameOf(of % story.operators.length);
  const principal = { id: callerOf(by).principal.id };
  const filters: readonly HaltFilter[] = [
    {},
    { capability: storyIntent },
    { operator },
    { operator },
    { principal },
    { operator, principal },
    { capability: "Another.Intent" },
  ];
  return at(filters, how) as HaltFilter;
}

export const halt = (stage: Stage, action: Action, process: SimulatedProcess): undefined =>
  ask(stage, { process, what: "halt" }, (kernel) =>
    kernel.halt({ ...callerOf(3), of: filterOf(stage, action), reason: "as the story says" }),
  );

export const lift = (stage: Stage, { of }: Action, process: SimulatedProcess): undefined =>
  ask(stage, { process, what: "lift" }, async (kernel) => {
    const halt_id = at(await kernel.halts(1), of)?.halt_id;
    if (halt_id !== undefined) await kernel.lift({ ...callerOf(3), halt_id });
  });

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
  for (let after: { after?: string } = {}; ; ) {
    const page = await kernel.workflows({ limit: 100, ...after });
    for (const { workflow_id, paused } of page) if (paused) await kernel.resume(workflow_id, callerOf(3));
    const last = page.at(-1);
    if (last === undefined) break;
    after = { after: last.workflow_id };
  }
  for (const { halt_id } of await kernel.halts(1)) await kernel.lift({ ...callerOf(3), halt_id });
}
