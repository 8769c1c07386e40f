/**
 * The form of a question, made from the schema of its answer.
 *
 * Owns: how a schema is told in the keywords of a form. Never: drops a check in silence: what a form cannot say is
 * refused, also a check in code (`refine`) and a change of the value (`transform`).
 */
import { z } from "zod";
import { AnswerForm, formFormats } from "../contract/answer-form.ts";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject, type JsonObject } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { StandardSchema } from "../contract/standard-schema.ts";
import { problemOfStandard, toZod } from "../contract/to-zod.ts";

const formRef = moduleRef(3, "plan", "form");

/**
 * Returns the form of answers that a schema takes.
 * @throws KernelErrorException T3_PLAN_INVALID naming what a form cannot say.
 */
export function answerFormOf(schema: StandardSchema, stepId: string): AnswerForm {
  const what = `the form of step ${stepId}`;
  const reported = describe(schema, what);
  return readStrictly(AnswerForm, simplify(reported), { what, source: formRef, code: "T3_PLAN_INVALID" });
}

function describe(schema: StandardSchema, what: string): JsonObject {
  try {
    const problem = problemOfStandard(schema);
    if (problem !== null) throw new Error(problem);
    const override = ({ zodSchema }: { readonly zodSchema: z.core.$ZodTypes }): void => {
      if (zodSchema._zod.def.checks?.some((check) => check._zod.def.check === "custom"))
        throw new Error("a check in code (refine) is not part of a form");
    };
    return z.toJSONSchema(toZod(schema), { override }) as JsonObject;
  } catch (thrown) {
    const message = `${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    return raise(kernelError("T3_PLAN_INVALID", message, formRef, { detail: { problems: [message] } }));
  }
}

/** Returns the schema in the words of a form: a constant is a choice of one, and a format says its pattern itself. */
function simplify(reported: unknown): unknown {
  if (Array.isArray(reported)) return reported.map(simplify);
  if (!isPlainObject(reported)) return reported;
  const { $schema: _, const: only, pattern, ...rest } = reported;
  const isNamed = formFormats.some((format) => format === rest["format"]);
  return {
    ...rest,
    ...(only !== undefined && { enum: [only] }),
    ...(pattern !== undefined && !isNamed && { pattern }),
    ...(isPlainObject(rest["properties"]) && {
      properties: Object.fromEntries(Object.entries(rest["properties"]).map(([name, one]) => [name, simplify(one)])),
    }),
    ...(rest["items"] !== undefined && { items: simplify(rest["items"]) }),
  };
}
