/**
 * Forms: JSON Schemas for values that come from outside into a plan, such as the payload of an event.
 *
 * Owns: the check of a form, and reading a value by one. A plan is data, so that it holds no zod schema.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";
import { readWith, type SchemaReading } from "./schema-reading.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { problemOfStandard, toZod } from "./to-zod.ts";

type Written = Parameters<typeof z.fromJSONSchema>[0];

const toSchema = (form: JsonObject): z.ZodType => z.fromJSONSchema(form as Written);

function isReadable(form: JsonObject): boolean {
  try {
    toSchema(form);
    return true;
  } catch {
    return false;
  }
}

/** A JSON Schema that the kernel can read. */
export const Form = JsonObject.refine(isReadable, "must be a JSON Schema");

/** Returns the form of what a schema takes. @throws Error for a schema that JSON Schema cannot say. */
export function formOf(schema: StandardSchema): JsonObject {
  const problem = problemOfStandard(schema);
  if (problem !== null) throw new Error(problem);
  return z.toJSONSchema(toZod(schema), { io: "input" }) as JsonObject;
}

/** Returns the reader of values of a form. A value is read as it is: a form changes nothing. */
export function readerOf(form: JsonObject): (value: unknown) => SchemaReading {
  const schema = toSchema(form);
  return (value) => readWith(schema, value);
}
