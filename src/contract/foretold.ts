/**
 * Records said in short: what a reader can foretell of a record is not written, and is there again when it is read.
 *
 * Owns: packing members against what is foretold of them, and the exact inverse. Never: knows an event.
 * F1  unpack(pack(record)) is the record, its members in their order; what a form cannot say so is written whole.
 * F2  In what is packed, a list around a nested value says "whole", `-` names members that were foretold and are not there.
 */
import { isPlainObject, type JsonObject } from "./json.ts";

/** What is foretold of one member. A function is told the place of the record, and the members that stand before it. */
export type Expected<P = unknown> =
  | unknown
  | Foretold<P>
  | ForetoldList<P>
  | Affixed
  | ((place: P, earlier: JsonObject) => unknown | Foretold<P> | Affixed);

/** A record whose members come in this order; undefined foretells nothing, and where nothing is said, there is no member. */
export class Foretold<P = unknown> {
  readonly names: readonly string[];
  readonly values: readonly Expected<P>[];
  /** The record itself is not foretold to be there. */
  readonly optional: boolean;

  constructor(names: readonly string[], values: readonly Expected<P>[], optional = false) {
    this.names = names;
    this.values = values;
    this.optional = optional;
  }
}

/** A list of records, each foretold from those before it. */
export class ForetoldList<P = unknown> {
  readonly item: Foretold<P>;
  /** Tells the place of the item before the one that comes; of undefined before the first. */
  readonly pass: (place: P, before: unknown) => void;

  constructor(item: Foretold<P>, pass: (place: P, before: unknown) => void) {
    this.item = item;
    this.pass = pass;
  }
}

/** A text of which only the middle is written. Where the ends are not known, the middle says nothing. */
export class Affixed {
  readonly head: string | null;
  readonly tail: string;

  constructor(head: string | null, tail: string) {
    this.head = head;
    this.tail = tail;
  }
}

type Packed = Record<string, unknown>;
const absent = "-";

/** Null where the record has a member that the form does not name, or members in another order. */
export function packMembers<P>(record: JsonObject, { names, values }: Foretold<P>, place: P): Packed | null {
  const packed: Packed = {};
  let missing: string[] | null = null;
  let at = 0;
  // Without a list of names: this is asked of all that is said.
  for (const name in record) {
    const value = record[name];
    if (value === undefined) continue;
    for (; names[at] !== name; at += 1) {
      if (at >= names.length) return null;
      if (isForetold(values[at], record, place)) missing = [...(missing ?? []), names[at] as string];
    }
    const short = packValue(value, resolve(values[at], record, place), place);
    if (short !== undefined) packed[name] = short;
    at += 1;
  }
  for (; at < values.length; at += 1)
    if (isForetold(values[at], record, place)) missing = [...(missing ?? []), names[at] as string];
  if (missing !== null) packed[absent] = missing;
  return packed;
}

export function unpackMembers<P>(packed: JsonObject, { names, values }: Foretold<P>, place: P): JsonObject {
  const record: Packed = {};
  const missing = packed[absent] as readonly string[] | undefined;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    const short = packed[name];
    if (short === undefined && missing?.includes(name) === true) continue;
    const expected = resolve(values[at], record, place);
    const value = short === undefined ? foretoldValue(expected, place) : unpackValue(short, expected, place);
    if (value !== undefined) record[name] = value;
  }
  return record;
}

const resolve = <P>(expected: Expected<P>, earlier: JsonObject, place: P): unknown =>
  typeof expected === "function" ? expected(place, earlier) : expected;

const isForetold = <P>(expected: Expected<P>, record: JsonObject, place: P): boolean =>
  foretoldValue(resolve(expected, record, place), place) !== undefined;

/** What stands where nothing is said. */
function foretoldValue(expected: unknown, place: unknown): unknown {
  if (typeof expected !== "object" || expected === null) return expected;
  if (expected instanceof Foretold) return expected.optional ? undefined : unpackMembers({}, expected, place);
  return expected instanceof ForetoldList || expected instanceof Affixed ? undefined : expected;
}

/** Undefined where nothing need be said. */
function packValue(value: unknown, expected: unknown, place: unknown): unknown {
  if (value === expected) return undefined;
  if (typeof expected !== "object" || expected === null) return value;
  if (expected instanceof Foretold) return packRecord(value, expected, place);
  if (expected instanceof ForetoldList) return packList(value, expected, place);
  if (expected instanceof Affixed) return packText(value, expected);
  return isSameJson(value, expected) ? undefined : value;
}

function unpackValue(short: unknown, expected: unknown, place: unknown): unknown {
  if (typeof expected !== "object" || expected === null) return short;
  if (expected instanceof Foretold)
    return Array.isArray(short) ? short[0] : unpackMembers(short as JsonObject, expected, place);
  if (expected instanceof ForetoldList) return unpackList(short, expected, place);
  if (expected instanceof Affixed) return unpackText(short, expected);
  return short;
}

function packRecord(value: unknown, expected: Foretold, place: unknown): unknown {
  const packed = isPlainObject(value) ? packMembers(value, expected, place) : null;
  if (packed === null) return [value];
  return expected.optional || !isEmpty(packed) ? packed : undefined;
}

export function isEmpty(packed: JsonObject): boolean {
  for (const _ in packed) return false;
  return true;
}

function packList(value: unknown, { item: form, pass }: ForetoldList, place: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item, at) => {
    pass(place, value[at - 1]);
    return packRecord(item, form, place) ?? {};
  });
}

function unpackList(short: unknown, { item: form, pass }: ForetoldList, place: unknown): unknown {
  if (!Array.isArray(short)) return short;
  const list: unknown[] = [];
  for (const item of short) {
    pass(place, list.at(-1));
    list.push(unpackValue(item, form, place));
  }
  return list;
}

function packText(value: unknown, { head, tail }: Affixed): unknown {
  const isWithin =
    typeof value === "string" &&
    head !== null &&
    value.length >= head.length + tail.length &&
    value.startsWith(head) &&
    value.endsWith(tail);
  return isWithin ? value.slice(head.length, value.length - tail.length) : [value];
}

function unpackText(short: unknown, { head, tail }: Affixed): unknown {
  if (Array.isArray(short)) return short[0];
  return head === null ? undefined : `${head}${short as string}${tail}`;
}

/** Whether two values are the same JSON text. What holds an undefined member is taken to differ. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSameJson(item, other[at]));
  }
  if (!isPlainObject(one) || !isPlainObject(other)) return false;
  const names = Object.keys(one);
  const others = Object.keys(other);
  return (
    names.length === others.length &&
    names.every((name, at) => name === others[at] && isSameJson(one[name], other[name]))
  );
}
