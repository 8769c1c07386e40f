/**
 * The reading of a value by a schema of a host: what the schema makes of it, as JSON that can be kept.
 *
 * Owns: the demand that a schema gives JSON, and that a second reading would leave its result as it is. Never: raises; the
 * caller knows the code.
 * 1. The result is JSON as it stands: a Date, a Map or an instance of a class is refused, not converted.
 * 2. A schema that throws, or that is asynchronous, refuses the value.
 * 3. A stable reading is one that the schema does not change when it reads its own result.
 */
import { z } from "zod";
import { isPlainObject, type Json, NotJson, toJson } from "./json.ts";

/** What a schema made of a value, or why the value is refused. */
export type SchemaReading =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Whether the schema left the value as it was given. */
      readonly isSame: boolean;
    }
  | {
      readonly ok: false;
      /** `invalid` is the fault of the value; the others are faults of the schema. */
      readonly fault: "invalid" | "not_json" | "not_stable";
      readonly problem: string;
      /** The issues of an invalid value, where the schema named any. */
      readonly error: z.ZodError | null;
    };

/** The code that a call's params are refused with. */
export const paramsFaults = {
  invalid: "T4_PARAMS_INVALID",
  not_json: "T4_PARAMS_NOT_JSON",
  not_stable: "T4_PARAMS_NOT_STABLE",
} as const;

type Refused = Extract<SchemaReading, { readonly ok: false }>;

const refuse = (fault: Refused["fault"], problem: string, error: z.ZodError | null = null): Refused => ({
  ok: false,
  fault,
  problem,
  error,
});

/** Reads a value with a schema; one that the schema leaves as it is comes back itself. Never throws. */
export function readWith(schema: z.ZodType, given: unknown): SchemaReading {
  try {
    const parsed = schema.safeParse(given);
    if (!parsed.success) return refuse("invalid", z.prettifyError(parsed.error), parsed.error);
    const foreign = findForeign(parsed.data);
    if (foreign !== null) return refuse("not_json", `the schema gives ${foreign.what}${at(foreign.path)}`);
    const value = toJson(parsed.data);
    return isSameJson(value, given)
      ? { ok: true, value: given as Json, isSame: true }
      : { ok: true, value, isSame: false };
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return refuse(thrown instanceof NotJson ? "not_json" : "invalid", message);
  }
}

/** Reads a value as `readWith` does, and refuses a result that the same schema would change. */
export function readStably(schema: z.ZodType, given: unknown): SchemaReading {
  const first = readWith(schema, given);
  if (!first.ok || first.isSame) return first;
  const second = readWith(schema, first.value);
  if (!second.ok)
    return refuse("not_stable", `the schema refuses what it made itself, ${shortOf(first.value)}: ${second.problem}`);
  if (second.isSame) return first;
  const changed = `the schema makes ${shortOf(second.value)} of what it made itself, ${shortOf(first.value)}`;
  return refuse("not_stable", changed);
}

/** Tells whether a value is this JSON already, whatever the order of its members. */
function isSameJson(json: Json, value: unknown): boolean {
  if (json === value) return true;
  if (typeof json !== "object" || json === null || typeof value !== "object" || value === null) return false;
  const names = Object.keys(json);
  if (names.length !== Object.keys(value).length || Array.isArray(json) !== Array.isArray(value)) return false;
  return names.every((name) => Object.hasOwn(value, name) && isSameJson(memberOf(json, name), memberOf(value, name)));
}

const memberOf = <T>(value: object, name: string): T => (value as Readonly<Record<string, T>>)[name] as T;

const maxShown = 120;

/** The beginning of a value's JSON, for a message. */
function shortOf(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`;
}

const at = (path: string): string => (path === "" ? "" : ` at ${path.startsWith(".") ? path.slice(1) : path}`);

interface Foreign {
  readonly what: string;
  readonly path: string;
}

const maxDepth = 64;

/** Finds the first value that has no JSON form of its own; what is nested too deeply is left to `toJson`. */
function findForeign(value: unknown, left = maxDepth): Foreign | null {
  if (typeof value === "function") return { what: "a function", path: "" };
  if (typeof value !== "object" || value === null || left === 0) return null;
  if (Array.isArray(value)) return findIn(value.entries(), left);
  if (!isPlainObject(value)) return { what: `a value of the class ${classOf(value)}`, path: "" };
  return findIn(Object.entries(value), left);
}

function findIn(members: Iterable<readonly [string | number, unknown]>, left: number): Foreign | null {
  for (const [key, member] of members) {
    const isHole = member === undefined && typeof key === "number";
    const found = isHole ? { what: "undefined in a list", path: "" } : findForeign(member, left - 1);
    if (found !== null) return { ...found, path: `${typeof key === "number" ? `[${key}]` : `.${key}`}${found.path}` };
  }
  return null;
}

const classOf = (value: object): string =>
  (value.constructor as { readonly name?: string } | undefined)?.name || "Object";
