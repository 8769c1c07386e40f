/**
 * Plain JSON data: the object schema that keeps every key, the plain-object test, the deep freeze, and the copy that
 * is made of every value from a host's code before it may enter a Signal or the ledger.
 *
 * Owns: the definitions of a plain object and of JSON. A zod record drops an own "__proto__" key, so a body would not
 * survive its own round trip; JsonObject keeps the object by reference instead. Never: sorts or hashes (digest.ts
 * does), judges meaning (schemas do).
 * 1.  `toJson` returns a fresh tree that shares nothing with its input, holds no `__proto__` key, no function, no
 *     cycle and no lone surrogate, is at most `maxDepth` deep, and at most `maxChars` long. Nothing is lost silently:
 *     a value without a JSON form is refused with its path.
 */
import { z } from "zod";

/**
 * Returns whether a value is an object made of braces or JSON.parse; not an array, class instance, null or primitive.
 */
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

/** Any JSON value. Null is one; undefined is not. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export const JsonValue = z
  .unknown()
  .refine((value) => value !== undefined, "expected a JSON value") as unknown as z.ZodType<Json>;

/**
 * Freezes plain objects and arrays in place, at every depth, and returns the value. A frozen object is assumed to be
 * frozen below as well; bytes, functions and class instances are left alone. It is iterative, so that depth uses no
 * stack.
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
  // A list of keys would cost too much: every Signal is frozen.
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

/** The reason why a value is not acceptable JSON; `path` is a dotted path to the offending member. */
export class NotJson extends Error {
  readonly path: string;
  constructor(reason: string, path: string) {
    super(path === "" ? reason : `${reason} at ${path}`);
    this.name = "NotJson";
    this.path = path;
  }
}

/** The default limit on levels of nested data. */
export const usualDepth = 64;
/** The default limit on the characters of JSON that may be written. */
const defaultMaxChars = 16_000_000;

/** A copy under way. */
interface Copying {
  /**
   * The characters of JSON that may still be written. The count never exceeds the length that JSON.stringify would
   * write.
   */
  left: number;
  readonly maxChars: number;
  /** Whether a value that would change its meaning is refused instead of corrected. */
  readonly isStrict: boolean;
}

/**
 * Copies `value` as plain JSON. Undefined members are dropped; `toJSON` (of a Date, a URL) gives an object's plain
 * form; lone surrogates become U+FFFD and -0 becomes 0, as in a store. A value that occurs in several places is written
 * in each, up to `maxChars` characters in all.
 * @throws NotJson for cycles and trees deeper than `maxDepth`, more than `maxChars`, functions, symbols, bigints,
 * non-finite numbers, invalid dates, bytes, and instances of classes without `toJSON`: a Map, a Set, an Error, a
 * Response, a String object.
 */
export function toJson(value: unknown, maxDepth = usualDepth, maxChars = defaultMaxChars): Json {
  return copy(value, maxDepth, { left: maxChars, maxChars, isStrict: false });
}

/**
 * Copies as `toJson` does, and refuses values that a store would change: unsafe integers, numbers out of range, lone
 * surrogates, keys called `__proto__`. @throws NotJson.
 */
export function toSafeJson(value: unknown, maxDepth = usualDepth, maxChars = defaultMaxChars): Json {
  return copy(value, maxDepth, { left: maxChars, maxChars, isStrict: true });
}

function copy(value: unknown, maxDepth: number, copying: Copying): Json {
  try {
    return copyJson(value, maxDepth, copying) ?? null;
  } catch (thrown) {
    throw thrown instanceof Unfit ? new NotJson(thrown.reason, pathOf(thrown.keys)) : thrown;
  }
}

/** The internal failure of a copy; the path to it is assembled as the recursion returns. */
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

function copyMember(value: unknown, key: string | number, left: number, copying: Copying): Json | undefined {
  try {
    return copyJson(value, left, copying);
  } catch (thrown) {
    if (thrown instanceof Unfit) thrown.keys.push(key);
    throw thrown;
  }
}

function spend(copying: Copying, chars: number): void {
  copying.left -= chars;
  if (copying.left < 0) throw new NotJson(`more than ${copying.maxChars} characters of JSON`, "");
}

function copyJson(value: unknown, left: number, copying: Copying): Json | undefined {
  switch (typeof value) {
    case "string":
      spend(copying, value.length + 2);
      return copyText(value, copying);
    case "undefined":
      return value;
    case "boolean":
      spend(copying, 4);
      return value;
    case "number":
      spend(copying, 1);
      return copyNumber(value, copying);
    case "object":
      if (value !== null) return copyObject(value, left, copying);
      spend(copying, 4);
      return null;
    default:
      throw new Unfit(`a ${typeof value} is not JSON`);
  }
}

function copyText(value: string, { isStrict }: Copying): string {
  if (value.isWellFormed()) return value;
  if (isStrict) throw new Unfit("a text holds half of a surrogate pair");
  return value.replace(loneSurrogate, "\uFFFD");
}

function copyNumber(value: number, { isStrict }: Copying): number {
  if (isStrict && Math.abs(value) === Number.POSITIVE_INFINITY)
    throw new Unfit("a number is too large to be kept; send it as text");
  if (!Number.isFinite(value)) throw new Unfit("a number must be finite");
  if (isStrict && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Unfit(`the integer ${value} is beyond what can be kept exactly; send it as text`);
  return value === 0 ? 0 : value;
}

function copyObject(value: object, left: number, copying: Copying): Json | undefined {
  if (left === 0) throw new Unfit("nested too deeply or in a cycle");
  if (Array.isArray(value)) return copyList(value, left, copying);
  const plain = plainFormOf(value);
  if (plain !== value) return copyJson(plain, left - 1, copying);
  spend(copying, 2);
  const out: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    if (copying.isStrict) requireSafeKey(key);
    if (key === "__proto__") continue;
    const member = copyMember((value as JsonObject)[key], key, left - 1, copying);
    if (member === undefined) continue;
    spend(copying, key.length + 3);
    out[key] = member;
  }
  return out;
}

/** Copies a list. A hole becomes null and is counted like one, so that a long empty list is bounded as well. */
function copyList(list: readonly unknown[], left: number, copying: Copying): Json {
  spend(copying, 2 + list.length);
  return Array.from(list, (item, i) => copyMember(item, i, left - 1, copying) ?? null);
}

/** Returns the object itself if it is plain, else the result of its `toJSON`. */
function plainFormOf(value: object): unknown {
  if (ArrayBuffer.isView(value)) throw new Unfit(`${nameKind(value)} is not JSON: give bytes as text, such as base64`);
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new Unfit("an invalid date is not JSON");
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return toJSON.call(value);
  if (isRecord(value)) return value;
  throw new Unfit(`${nameKind(value)} is not JSON: give plain data, or let it have a toJSON`);
}

/** Returns whether an object is plain, also if it comes from another realm: its prototype has no prototype. */
export function isRecord(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function nameKind(value: object): string {
  const { constructor: made } = value as { readonly constructor?: { readonly name?: unknown } };
  const name = typeof made?.name === "string" && made.name !== "" ? made.name : "class without a name";
  return `an instance of ${name.slice(0, 100)}`;
}

function requireSafeKey(key: string): void {
  if (key === "__proto__") throw new Unfit('a key is called "__proto__"');
  if (!key.isWellFormed()) throw new Unfit("a key holds half of a surrogate pair");
}

/**
 * Refuses data that was read from a text and that `toSafeJson` would refuse. @throws NotJson, also for data nested
 * deeper than `left`.
 */
export const requireSafeJson = (value: unknown, left = usualDepth): void =>
  void toSafeJson(value, left, Number.MAX_SAFE_INTEGER);

/** Returns the record without its undefined members. */
export const withoutUnset = <T extends object>(record: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as never;
