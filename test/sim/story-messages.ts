/**
 * Messages of people to work under way, whose plans say which messages they were made with. Drawn from a stream of
 * their own.
 */
import type { PlanningSituation } from "../../src/contract/capability.ts";
import { KernelErrorException } from "../../src/contract/error.ts";
import type { ExecutionPlan } from "../../src/contract/plan.ts";
import { ask, at, callerOf } from "./ask.ts";
import { drawBases } from "./draw-bases.ts";
import { drawing } from "./drawing.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Action, Story } from "./story.ts";
import { scatter } from "./story-forks.ts";

const stream = 0x5851f42d;

export function withMessages(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.messages || !draw.chance(0.5)) return story;
  const rounds = draw.chance(0.7) ? Math.max(story.rounds, 1) : story.rounds;
  const actions = scatter(draw, story.actions, ["message", "message", "message", "crash"], 7);
  return { ...story, takesInput: true, rounds, actions };
}

/** Returns the plan with the messages that it was made with, as its reasoning. */
export const havingRead = (
  { takesInput }: Pick<Story, "takesInput">,
  plan: ExecutionPlan,
  { inputs = [] }: Pick<PlanningSituation, "inputs">,
): ExecutionPlan =>
  takesInput ? { ...plan, reasoning: `${plan.reasoning}; read: ${inputs.map(({ text }) => text).join(" ")}` } : plan;

/** Returns the messages that a plan was made with; null if it does not say. */
export function readIn(reasoning: string): readonly string[] | null {
  const [, told] = reasoning.split("; read: ");
  return told === undefined ? null : told.split(" ").filter((text) => text !== "");
}

/** What came of a message, by its text, which no other has: whether its author was told that it is received. */
export type Messages = Map<string, "received" | "refused" | "unknown">;

/** Somebody adds a message to a workflow. */
export function addMessage(stage: Stage, { of, by }: Action, process: SimulatedProcess): undefined {
  const id = at(stage.workflows, of);
  if (id === undefined) return undefined;
  const { messages } = stage;
  const text = `m${messages.size + 1}`;
  messages.set(text, "unknown");
  return ask(stage, { process, what: "message" }, async (kernel) => {
    try {
      await kernel.addInput(id, { ...callerOf(by), text });
      messages.set(text, "received");
    } catch (thrown) {
      const isRefused = thrown instanceof KernelErrorException && /^T[45]_/.test(thrown.error.code);
      if (isRefused) messages.set(text, "refused");
      throw thrown;
    }
  });
}
