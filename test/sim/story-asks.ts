/** Questions to people in a story: steps of kind `ask`, the forms they show, and what people answer. */
import { type AnswerForm, readAnswer } from "../../src/contract/answer-form.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import type { AskParams } from "../../src/contract/step-kinds.ts";
import { drawBases } from "./draw-bases.ts";
import { drawGate } from "./draw-gate.ts";
import { type Draw, drawing } from "./drawing.ts";
import type { Story, StoryStep } from "./story.ts";
import { weave } from "./story-features.ts";
import { putIn } from "./story-lifecycle.ts";
import { answerToUndo } from "./story-undo.ts";

const stream = 0x51ed270b;

const form = {
  type: "object",
  properties: {
    by: { type: "string", enum: ["ann", "bob", "somebody"] },
    many: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    note: { type: "string", maxLength: 12 },
  },
  required: ["by"],
} as const satisfies AnswerForm;

export function withAsks(story: Story): Story {
  const draw = drawing(story.seed ^ stream);
  if (story.seed < drawBases.asks || !draw.chance(0.7)) return story;
  let { steps } = story;
  for (let i = 1, many = 1 + draw.upTo(3); i <= many; i += 1) steps = putIn(draw, steps, drawAsk(draw, `a${i}`));
  return { ...story, steps, actions: weave(draw, story.actions) };
}

function drawAsk(draw: Draw, id: string): Pick<StoryStep, "id" | "kind" | "params" | "gate"> {
  const gate = draw.chance(0.8) ? drawGate(draw) : null;
  const isAllowed = gate?.expiry?.action === "allow";
  const params = { question: `who is it, ${id}?`, show: { of: id }, form };
  const whole = isAllowed ? { ...params, otherwise: { by: "somebody", many: 1 } } : params;
  return { id, kind: "ask", gate, params: whole as unknown as NonNullable<StoryStep["params"]> };
}

const answers = [{ by: "ann" }, { many: 4, by: "bob" }, { by: "ann", note: "so be it" }, { by: "ann", many: 3 }];
const wrong = [{}, { by: "eve" }, { by: "ann", many: 0 }, { by: "bob", more: 1 }, { by: "ann", note: "x".repeat(13) }];

/** What a person answers who wants the question to be through: as those before them did. */
export function answerTo({ votes, payload }: Gate, how: number): JsonObject {
  const given = votes.find(({ decision, advisory }) => decision === "approve" && !advisory)?.answer;
  const { form: shown } = payload as unknown as AskParams;
  return given ?? answerToUndo(shown, how) ?? (answers[how % answers.length] as JsonObject);
}

/** What a person answers who knows better than those before them, or does not read the form. */
export const otherAnswer = (how: number): JsonObject =>
  (how % 2 === 0 ? answers[how % answers.length] : wrong[how % wrong.length]) as JsonObject;

/** Returns the answer as the form of its gate reads it (recorded and signed so); as it is if the form refuses it. */
export function readBy({ payload }: Pick<Gate, "payload">, answer: JsonObject): JsonObject {
  const reading = readAnswer((payload as unknown as AskParams).form, answer);
  return reading.ok ? reading.value : answer;
}
