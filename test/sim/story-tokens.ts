/**
 * Waits with a one-time address, and those that remind people; answers at the address before, during and after the
 * wait, the same again and others. Drawn from a stream of their own.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../src/contract/json.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story, StoryStep } from "./story.ts";
import { scatter } from "./story-forks.ts";
import { putIn } from "./story-lifecycle.ts";

const stream = 0x165667b1;
const spans = [2_000, 20_000, 600_000] as const;

export const waitTokens: NonNullable<KernelOptions["waitTokens"]> = {
  secrets: ["a secret of thirty-two characters"],
  url: "https://story.example/v1/waits/",
};

export function withTokens(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.tokens || !draw.chance(0.6)) return story;
  const steps = putIn(draw, story.steps, { id: "t1", kind: "wait", params: drawWait(draw) }).map((step) =>
    step.kind === "wait" ? withMembers(draw, step) : step,
  );
  return { ...story, steps, actions: scatter(draw, story.actions, ["answer", "answer", "answer", "tick", "crash"], 8) };
}

const drawWait = (draw: Draw): NonNullable<StoryStep["params"]> => ({
  event: "ready",
  key: "k2",
  within_ms: draw.pick(spans),
  otherwise: draw.pick(["fail", "skip", { value: { by: "nobody" } }]),
});

/** A wait without an end reminds without end: one that ends, or so many reminders, are enough here. */
function withMembers(draw: Draw, step: StoryStep): StoryStep {
  const within = Number(step.params?.["within_ms"] ?? 20_000);
  const every_ms = Math.max(1_000, Math.ceil(within / (1.5 + 3 * draw.random())));
  const remind = { every_ms, role: "admin", ...(draw.chance(0.4) && { at_most: 1 + draw.upTo(3) }) };
  const params = {
    ...step.params,
    ...(draw.chance(0.75) && { token: true }),
    ...(draw.chance(0.6) && { remind }),
  } as NonNullable<StoryStep["params"]>;
  return { ...step, params };
}

const payloads: readonly Json[] = [{ by: "a sender" }, { by: "a sender" }, { by: "another" }, "odd"];

/** Somebody answers a wait at its address. Who is told that the answer is received is held to the ledger. */
export function answer(stage: Stage, { of, by, how }: Action, process: SimulatedProcess): undefined {
  const { story, workflows, world } = stage;
  const id = at(workflows, of);
  const waits = story.steps.filter(({ kind, params }) => kind === "wait" && params?.["token"] === true);
  const step_id = at(waits, by)?.id;
  if (id === undefined || step_id === undefined) return undefined;
  const payload = at(payloads, how) as Json;
  return ask(stage, { process, what: "answer" }, async (kernel) => {
    const { url } = await kernel.tokenUrl(id, { ...callerOf(by), step_id });
    const token = url.slice(url.lastIndexOf("/") + 1);
    const { duplicate } = await kernel.answerWait({ token, payload });
    world.mark(duplicate ? "answer duplicate" : "answer received");
    const kept = world.durable.filter(
      ({ event }) => event.event_type === "WAIT_ANSWERED" && event.workflow_id === id && event.step_id === step_id,
    );
    if (!kept.some(({ event }) => isDeepStrictEqual(event.payload["payload"], payload)))
      stage.broken.push(`token: the answer to ${step_id} of ${id} is received, and the ledger does not hold it`);
  });
}
