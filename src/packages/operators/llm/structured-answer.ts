/**
 * An answer that a model writes as JSON of a given schema.
 *
 * 1.  The schema is sent with the question, for models that can be held to one; the answer is read by it in any case.
 * 2.  The text is read as strictly as the body of a request. An answer that is refused is `MODEL_ANSWER_INVALID`, which
 *     is tried again.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { z } from "zod";
import { type Json, NotJson } from "../../../contract/json.ts";
import { readStably } from "../../../contract/schema-reading.ts";
import { operatorError } from "../../../define/define-operator.ts";
import { schemaOf } from "../../../define/describe-capability.ts";
import { parseSafeJson } from "../../../protocol/parse-json.ts";

/** Returns the format that a model is asked to answer in. */
export const formatOf = (schema: z.ZodType): NonNullable<LanguageModelV4CallOptions["responseFormat"]> => ({
  type: "json",
  schema: schemaOf(schema, "input") as never,
});

/** Reads the text of an answer by the schema. @throws OperatorError MODEL_ANSWER_INVALID. */
export function readStructured(schema: z.ZodType, text: string, model: string): Json {
  const reading = readStably(schema, parseAnswer(text, model));
  return reading.ok ? reading.value : refuse(model, `does not have the form that was asked for: ${reading.problem}`);
}

function parseAnswer(text: string, model: string): unknown {
  try {
    return parseSafeJson(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return refuse(model, "is no JSON");
    if (thrown instanceof NotJson) return refuse(model, `would lose its meaning as JSON: ${thrown.message}`);
    throw thrown;
  }
}

const maxProblemChars = 2_000;

function refuse(model: string, problem: string): never {
  const message = `${model}: its answer ${problem}`.slice(0, maxProblemChars);
  throw operatorError({ code: "MODEL_ANSWER_INVALID", category: "transient", message });
}
