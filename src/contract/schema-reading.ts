/**
 * The reading of a value by a schema of a host: the parsed value, as JSON that can be kept.
 *
 * Owns: the requirement that a schema gives JSON, and that a second reading leaves its result unchanged. Never: raises;
 * the caller knows the code.
 * 1. The result is JSON as it stands: a Date, a Map or an instance of a class is refused, not converted.
 * 2. A schema that throws, or that is asynchronous, refuses the value.
 * 3. A stable reading is one that the schema does not change when it reads its own result.
 */
import { z } from "zod";
import { isPlainObject, type Json, NotJson, toJson } from "./json.ts";

/** The value that a schema made, or why the value is refused. */
export type SchemaReading =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Whether the schema left the value unchanged. */
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

/** Reads a value with a schema; a value that the schema leaves unchanged is returned itself. Never throws. */
export function readWith(schema: z.ZodType, given: unknown): SchemaReading {
  try {
    const parsed = schema.safeParse(given);
    if (!parsed.success) return refuse("invalid", z.prettifyError(parsed.error), parsed.error);
    if (isSameJson(given, parsed.data)) return asGiven(given);
    const foreign = findNonJson(parsed.data);
    if (foreign !== null) return refuse("not_json", `the schema gives ${foreign.what}${at(foreign.path)}`);
    const value = toJson(parsed.data);
    return isSameJson(given, value) ? asGiven(given) : { ok: true, value, isSame: false };
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

const asGiven = (given: unknown): SchemaReading => ({ ok: true, value: given as Json, isSame: true });

/**
 * Returns whether two values are the same JSON, whatever the order of their members; a value that is not JSON equals an
 * absent one.
 */
function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null) return a === b && isScalar(a);
  if (typeof b !== "object" || b === null) return false;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSameJson(item, b[i]));
  if (!isPlainObject(a) || !isPlainObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}

const isScalar = (value: unknown): boolean =>
  typeof value === "string"
    ? value.isWellFormed()
    : value === null || typeof value === "boolean" || Number.isFinite(value);

const maxShown = 120;

/** Returns the beginning of a value's JSON, for a message. */
function shortOf(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`;
}

const at = (path: string): string => (path === "" ? "" : ` at ${path.startsWith(".") ? path.slice(1) : path}`);

interface NonJsonValue {
  readonly what: string;
  readonly path: string;
}

const maxDepth = 64;

/** Finds the first value without a JSON form of its own; data that is nested too deeply is left to `toJson`. */
function findNonJson(value: unknown, left = maxDepth): NonJsonValue | null {
  if (typeof value === "function") return { what: "a function", path: "" };
  if (typeof value !== "object" || value === null || left === 0) return null;
  if (Array.isArray(value)) return findIn(value.entries(), left);
  if (!isPlainObject(value)) return { what: `a value of the class ${classOf(value)}`, path: "" };
  return findIn(Object.entries(value), left);
}

function findIn(members: Iterable<readonly [string | number, unknown]>, left: number): NonJsonValue | null {
  for (const [key, member] of members) {
    const isHole = member === undefined && typeof key === "number";
    const found = isHole ? { what: "undefined in a list", path: "" } : findNonJson(member, left - 1);
    if (found !== null) return { ...found, path: `${typeof key === "number" ? `[${key}]` : `.${key}`}${found.path}` };
  }
  return null;
}

const classOf = (value: object): string =>
  (value.constructor as { readonly name?: string } | undefined)?.name || "Object";
