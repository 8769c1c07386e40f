/**
 * Steps that can be undone, and pivots: an undo is a call of an operator of the story, with a gate and behaviours of
 * its own. What people say where an undo did not succeed. Drawn from a stream of their own.
 */
import type { AnswerForm } from "../../src/contract/answer-form.ts";
import { undoAnswers } from "../../src/contract/compensation.ts";
import type { Json, JsonObject } from "../../src/contract/json.ts";
import { drawBases } from "./draw-bases.ts";
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Behaviour, GateInput, Story, StoryStep } from "./story.ts";
import { weave } from "./story-features.ts";

/** The call that undoes a step. */
export interface StoryUndo {
  readonly operator: number;
  readonly gate: GateInput | null;
  /** What its calls do, in order; afterwards they succeed. */
  readonly behaviours: readonly Behaviour[];
  /** Whether its params say what stands in where the step gave nothing. */
  readonly isSure: boolean;
}

const stream = 0x7f4a7c15;

export function withUndo(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.undo || !draw.chance(0.85)) return story;
  const many = story.operators.length;
  // People would be asked about each item of a long list, one after another.
  const isShort = ({ list }: StoryStep): boolean => (list?.items.length ?? 0) <= 12;
  const isOfCalls = ({ kind, list }: StoryStep): boolean =>
    kind === undefined || (kind === "each" && list?.runs !== true) || kind === "repeat";
  const mayBeUndone = (step: StoryStep): boolean => isOfCalls(step) && isShort(step);
  const undoable = (step: StoryStep): StoryStep =>
    mayBeUndone(step) && draw.chance(0.6) ? { ...step, undo: drawUndo(draw, many) } : step;
  const pivotal = (step: StoryStep): StoryStep =>
    step.kind === undefined && draw.chance(0.08) ? { ...step, pivot: true } : step;
  return {
    ...story,
    steps: story.steps.map(undoable).map(pivotal),
    childSteps: story.childSteps.map(undoable),
    actions: weave(draw, story.actions, ["cancel_undo", "tick", "crash", "open"]),
  };
}

const usual: readonly Behaviour[] = ["ok", "ok", "slow", "slow", "talks", "nothing"];
const rare: readonly Behaviour[] = ["throws", "sent_throws", "transient", "fatal", "fatal", "never", "sent_never"];

const drawUndo = (draw: Draw, operators: number): StoryUndo => ({
  operator: draw.upTo(operators),
  gate: draw.chance(0.15) ? drawGate(draw) : null,
  behaviours: Array.from({ length: draw.upTo(3) }, () => draw.pick(draw.chance(0.6) ? usual : rare)),
  isSure: draw.chance(0.7),
});

/** Returns the member that the plan has of a step that can be undone; `id` is its id in the plan. */
export function undoDraft({ undo, pivot }: StoryStep, id: string, nameOf: (operator: number) => string): object {
  if (undo === undefined) return pivot === true ? { pivot } : {};
  const { operator, gate, isSure } = undo;
  const made: Json = `{{${id}.output.by${isSure ? ' ?? "none"' : ""}}}`;
  return {
    undo: { operator: nameOf(operator), params: { undoes: id, made }, ...(gate !== null && { gate }) },
    ...(pivot === true && { pivot }),
  };
}

/** Returns whether a step undoes another, or asks about that. */
export const isUndoing = (stepId: string): boolean => stepId.startsWith("undo:");

/** Returns the id of the step that such a step undoes. */
export const undoneBy = (stepId: string, has: (id: string) => boolean): string | undefined => {
  const rest = stepId.slice("undo:".length).replace(/:ask$/, "");
  return [rest, rest.replace(/:\d+$/, "")].find(has);
};

/** Returns what a person answers to the question about an undo; null if the form asks for something else. */
export function answerToUndo({ properties }: AnswerForm, how: number): JsonObject | null {
  if (!Object.hasOwn(properties, "resolution")) return null;
  return { resolution: undoAnswers[how % undoAnswers.length] as string };
}
