/**
 * Steps that wait for events from outside, and events that come before, during and after their waits: duplicates, those
 * for all, those of another form. They are drawn from a stream of their own.
 */
import { ask, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story, StoryStep } from "./story.ts";
import { weave } from "./story-features.ts";
import { putIn } from "./story-lifecycle.ts";

const stream = 0x1f83d9ab;
const spans = [300, 2_000, 20_000, 20_000, 600_000] as const;
const ends = ["fail", "skip", { value: { by: "nobody" } }, { value: { by: "nobody" } }] as const;

export function withWaits(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.waits || !draw.chance(0.6)) return story;
  let { steps } = story;
  for (let i = 1, many = 1 + draw.upTo(2); i <= many; i += 1)
    steps = putIn(draw, steps, { id: `w${i}`, kind: "wait", params: drawWait(draw) });
  return { ...story, steps, actions: weave(draw, story.actions, ["emit", "emit", "emit", "tick"]) };
}

const drawWait = (draw: Draw): NonNullable<StoryStep["params"]> => ({
  event: "ready",
  key: draw.pick(["k0", "k1"]),
  within_ms: draw.pick(spans),
  otherwise: draw.pick(ends),
  ...(draw.chance(0.5) ? { schema: { type: "object", required: ["by"] } } : {}),
});

/** Somebody sends an event; the same number is the same event, whoever sends it again. */
export function emit(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): undefined {
  const id = how % 12;
  const event = {
    name: "ready",
    key: `k${of % 2}`,
    payload: id % 4 === 3 ? "odd" : { by: id },
    event_id: `e${of % 2}-${id}`,
    broadcast: id % 5 === 4,
  };
  return ask(stage, { process, what: "emit" }, async (kernel) => {
    const { event_id } = await kernel.emit({ ...callerOf(by), ...event });
    stage.sent.push(event_id);
  });
}
