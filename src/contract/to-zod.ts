/**
 * Schemas of other libraries that follow Standard Schema, as the zod schemas that the kernel works with.
 *
 * Owns: the zod schema that stands for such a schema. Never: knows a library.
 * 1.  The library's own `validate` judges each value; its issues keep their messages and paths.
 * 2.  The JSON Schema is that of the library (`~standard.jsonSchema`). An output without one is not described.
 * 3.  A schema that validates asynchronously refuses every value, as an asynchronous zod schema does.
 */
import { z } from "zod";
import { isPlainObject, type JsonObject, toJson } from "./json.ts";
import type { StandardSchema, ZodOf, ZodsOf } from "./standard-schema.ts";

const known = new WeakMap<StandardSchema, z.ZodType>();
/** The JSON Schemas of what schemas of other libraries take. */
const inputDescriptions = new WeakMap<z.ZodType, JsonObject>();

/** Returns the zod schema that stands for a schema, the same each time; a schema of zod itself. */
export function toZod<S extends StandardSchema>(schema: S): ZodOf<S> {
  if (schema instanceof z.ZodType) return schema as unknown as ZodOf<S>;
  const made = known.get(schema) ?? makeZod(schema);
  known.set(schema, made);
  return made as ZodOf<S>;
}

/** Returns the zod schemas that stand for schemas. */
export const toZods = <Named extends Readonly<Record<string, StandardSchema>>>(named: Named): ZodsOf<Named> =>
  Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, toZod(schema)])) as ZodsOf<Named>;

/**
 * Returns why a schema of another library cannot be used; null if it can, and for a value that is no such schema.
 */
export function problemOfStandard(value: unknown): string | null {
  const standard = standardOf(value);
  if (standard === null) return null;
  const { vendor, jsonSchema } = standard;
  if (typeof jsonSchema?.input === "function" && typeof jsonSchema.output === "function") return null;
  return (
    `this schema of ${vendor} gives no JSON Schema (~standard.jsonSchema), of which forms and descriptions are made: ` +
    (converters[vendor] ?? "wrap it with the converter of its library, or write it with zod 4")
  );
}

/** Returns why what a schema of another library takes has no JSON Schema; null if it has one. */
export function whyUndescribed(schema: StandardSchema): string | null {
  if (!isStandard(schema) || problemOfStandard(schema) !== null) return null;
  try {
    describeStandard(schema, "input");
    return null;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return `this schema of ${schema["~standard"].vendor} cannot be described as JSON Schema: ${why}`;
  }
}

/** Advice by library, for schemas that lack the JSON Schema part. */
const converters: Readonly<Record<string, string>> = {
  valibot: "wrap it with toStandardJsonSchema of @valibot/to-json-schema",
};

/** Returns the members of the standard; null for a value without them, and for a schema of zod. */
function standardOf(value: unknown): StandardSchema["~standard"] | null {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return null;
  if (value instanceof z.ZodType) return null;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function" && standard.vendor !== "zod" ? standard : null;
}

/** Returns whether a value is a schema of another library. */
export const isStandard = (value: unknown): value is StandardSchema => standardOf(value) !== null;

const target = { target: "draft-2020-12" } as const;

/** Returns the JSON Schema of a side of a schema. @throws Error if the library cannot express it. */
function describeStandard({ "~standard": { jsonSchema } }: StandardSchema, io: "input" | "output"): JsonObject {
  const { $schema: _, ...described } = jsonSchema?.[io](target) ?? {};
  return toJson(described) as JsonObject;
}

/** Makes a pipe, since zod describes the input of one by its first part, and its output by its last. */
function makeZod(schema: StandardSchema): z.ZodType {
  const input = describedAs(() => describeStandard(schema, "input"));
  const output = describedAs(() => describeStandard(schema, "output"));
  const judge = z.transform((value, context) => judgeBy(schema, value, context));
  const made = input.pipe(judge).pipe(output);
  if (whyUndescribed(schema) === null) inputDescriptions.set(made, describeStandard(schema, "input"));
  return made;
}

function describedAs(describe: () => JsonObject): z.ZodType {
  const schema = z.unknown();
  // The key is zod's own, for schemas that bring their JSON Schema.
  schema._zod.toJSONSchema = describe;
  return schema;
}

function judgeBy(schema: StandardSchema, value: unknown, context: z.core.ParsePayload): unknown {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw new Error("the schema is asynchronous, which the kernel does not wait for");
  }
  if (result.issues === undefined) return result.value;
  for (const { message, path = [] } of result.issues)
    context.issues.push({ code: "custom", message, path: path.map(keyIn), input: value });
  return z.NEVER;
}

const keyIn = (part: PropertyKey | { readonly key: PropertyKey }): PropertyKey =>
  typeof part === "object" ? part.key : part;

/**
 * Returns whether a schema of another library takes an object without the member at this path, as its JSON Schema says;
 * null for a schema of zod.
 */
export function isOptionalByStandard(schema: z.ZodType, path: readonly string[]): boolean | null {
  const describe = inputDescriptions.get(schema);
  if (describe === undefined) return null;
  let at: unknown = describe;
  for (const [depth, name] of path.entries()) {
    const { properties, required = [] } = at as { readonly properties?: JsonObject; readonly required?: string[] };
    if (!isPlainObject(properties) || !Object.hasOwn(properties, name)) return false;
    if (depth === path.length - 1) return !required.includes(name);
    at = properties[name];
    if (!isPlainObject(at)) return false;
  }
  return false;
}
