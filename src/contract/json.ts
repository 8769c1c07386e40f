// Plain JSON data: the object schema that keeps every key, the plain-object test, the deep freeze, and the copy that
// everything from a host's code passes before it may enter a Signal or the ledger.
// Owns: what counts as a plain object and as JSON. A zod record drops an own "__proto__" key, so a body would not survive
// its own round trip; JsonObject keeps the object by reference instead.
// Never: sorts or hashes (digest.ts does), judges meaning (schemas do).
// INV-1  `toJson` returns a fresh tree that shares nothing with its input, holds no `__proto__` key, no function, no
//        cycle and no lone surrogate, and is at most `maxDepth` deep.

import { z } from "zod";

/** True for objects made of braces or JSON.parse; false for arrays, class instances, null and primitives. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A plain JSON object with any keys, kept by reference. */
export const JsonObject = z
  .unknown()
  .refine(isPlainObject, "expected a plain object")
  .meta({ type: "object" }) as unknown as z.ZodType<
  Readonly<Record<string, unknown>>,
  Readonly<Record<string, unknown>>
>;
export type JsonObject = Readonly<Record<string, unknown>>;

/** Any JSON value; null is one, nothing at all is none. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export const JsonValue = z
  .unknown()
  .refine((value) => value !== undefined, "expected a JSON value") as unknown as z.ZodType<Json>;

/**
 * Freezes plain objects and arrays in place, at every depth, and returns the value. What is already frozen is taken to
 * be frozen below as well; bytes, functions and class instances are left alone. Iterative: depth costs no stack.
 */
export function deepFreeze<T>(value: T): T {
  if (!isFreezable(value)) return value;
  const open: object[] = [];
  for (let next: object | undefined = value; next !== undefined; next = freezeOne(next, open) ?? open.pop());
  return value;
}

/** Gives one of those below that are to be frozen; the others wait. */
function freezeOne(parent: object, open: object[]): object | undefined {
  Object.freeze(parent);
  let first: object | undefined;
  // Without a list of keys: this is asked of all that is said.
  for (const key in parent) {
    const child = (parent as Record<string, unknown>)[key];
    if (!isFreezable(child)) continue;
    if (first === undefined) first = child;
    else open.push(child);
  }
  return first;
}

function isFreezable(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return false;
  return isPlainObject(value) || Array.isArray(value);
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Why a value is not acceptable JSON; `path` is a dotted path to the offending member. */
export class NotJson extends Error {
  readonly path: string;
  constructor(reason: string, path: string) {
    super(path === "" ? reason : `${reason} at ${path}`);
    this.name = "NotJson";
    this.path = path;
  }
}

/**
 * A deep copy of `value` as plain JSON. Undefined members are dropped; anything with `toJSON` is asked for its plain
 * form; lone surrogates become U+FFFD and -0 becomes 0, as they would on the way through a store.
 * @throws NotJson for cycles and trees deeper than `maxDepth`, functions, symbols, bigints and non-finite numbers.
 */
export function toJson(value: unknown, maxDepth = 64): Json {
  try {
    return copyJson(value, maxDepth) ?? null;
  } catch (thrown) {
    throw thrown instanceof Unfit ? new NotJson(thrown.reason, pathOf(thrown.keys)) : thrown;
  }
}

/** The way to what is not acceptable is put together on the way back from it. */
class Unfit {
  readonly reason: string;
  /** Innermost first. */
  readonly keys: (string | number)[] = [];
  constructor(reason: string) {
    this.reason = reason;
  }
}

const pathOf = (keys: readonly (string | number)[]): string =>
  keys.reduceRight<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path === "" ? key : `${path}.${key}`;
  }, "");

function copyMember(value: unknown, key: string | number, left: number): Json | undefined {
  try {
    return copyJson(value, left);
  } catch (thrown) {
    if (thrown instanceof Unfit) thrown.keys.push(key);
    throw thrown;
  }
}

function copyJson(value: unknown, left: number): Json | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : value.replace(loneSurrogate, "\uFFFD");
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new Unfit("a number must be finite");
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyObject(value, left);
    default:
      throw new Unfit(`a ${typeof value} is not JSON`);
  }
}

function copyObject(value: object, left: number): Json | undefined {
  if (left === 0) throw new Unfit("nested too deeply or in a cycle");
  const plain = (value as { readonly toJSON?: unknown }).toJSON;
  if (typeof plain === "function") return copyJson(plain.call(value), left - 1);
  if (Array.isArray(value)) return value.map((item, i) => copyMember(item, i, left - 1) ?? null);
  const out: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    if (key === "__proto__") continue;
    const member = copyMember((value as JsonObject)[key], key, left - 1);
    if (member !== undefined) out[key] = member;
  }
  return out;
}

/**
 * Refuses what would change its meaning on the way through a store: unsafe integers, numbers out of range, half surrogate
 * pairs, keys called `__proto__`. @throws NotJson, also for what is nested deeper than `left`.
 */
export function requireSafeJson(value: unknown, left = 64): void {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new NotJson("a number is too large to be kept; send it as text", "");
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotJson(`the integer ${value} is beyond what can be kept exactly; send it as text`, "");
  if (typeof value === "string" && !value.isWellFormed())
    throw new NotJson("a text holds half of a surrogate pair", "");
  if (left === 0) throw new NotJson("nested too deeply or in a cycle", "");
  if (Array.isArray(value)) for (const item of value) requireSafeJson(item, left - 1);
  if (Array.isArray(value) || typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    if (key === "__proto__") throw new NotJson('a key is called "__proto__"', "");
    if (!key.isWellFormed()) throw new NotJson("a key holds half of a surrogate pair", "");
    requireSafeJson((value as JsonObject)[key], left - 1);
  }
}

/** Without the members that were not given. */
export const withoutUnset = <T extends object>(record: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as never;
