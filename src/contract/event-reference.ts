/**
 * References from a row's inputs and answers to the payloads of its events, so that no value is written twice.
 *
 * `{"$event": 3, "path": ["result"]}` is the subtree at this path of the payload of the row's event 3 (from 0); without
 * a path it is the payload. `{"$event": 3, "omit": ["stage"]}` is the payload without these members. `{"$plain": {…}}`
 * is an object that itself has a member of one of these names.
 */
import { isPlainObject, type Json, type JsonObject } from "./json.ts";

interface Reference {
  readonly $event: number;
  readonly path?: readonly string[];
  readonly omit?: readonly string[];
}

/** Levels of a payload that are referred to. */
const maxDepth = 3;
/** Shorter texts are written out: a reference is as long. */
const longText = 64;
/** An object with fewer members is written out rather than compared with whole payloads. */
const manyMembers = 4;

/** Writes values with references to the payloads of one row. */
export class ReferenceWriter {
  readonly #payloads: readonly object[];
  /** The first place of each object and long text; made when it is first needed. */
  #places: ReadonlyMap<unknown, Place> | null = null;
  /** The names of all members of the payloads; made when they are first asked. */
  #names: ReadonlySet<string> | null = null;
  /** Answers have the order of their events: each search starts behind the last event that was found. */
  #next = 0;

  constructor(payloads: readonly object[]) {
    this.#payloads = payloads;
  }

  /** Returns whether an event of the row holds this same object. */
  holds(value: unknown): boolean {
    return this.#find(value) !== null;
  }

  /** Returns the value as JSON that refers to the row's events for objects that they hold. */
  write(value: unknown): Json {
    if (typeof value === "string") return value.length < longText ? value : (this.#find(value) ?? value);
    if (typeof value !== "object" || value === null) return (value ?? null) as Json;
    if (isEmpty(value)) return value as Json;
    return (
      this.#find(value) ?? (Array.isArray(value) ? value.map((item) => this.write(item)) : this.#writeObject(value))
    );
  }

  #find(value: unknown): Json | null {
    this.#places ??= placesIn(this.#payloads);
    const place = this.#places.get(value);
    if (place === undefined) return null;
    const { $event, path } = place;
    return path.length === 0 ? { $event } : { $event, path };
  }

  #writeObject(value: object): Json {
    const names = Object.keys(value).filter((name) => (value as JsonObject)[name] !== undefined);
    const reference = names.length < manyMembers ? null : this.#findWithout(value, names);
    if (reference !== null) return reference;
    if (Object.hasOwn(value, "$event") || Object.hasOwn(value, "$plain")) return { $plain: value as Json };
    return Object.fromEntries(names.map((name) => [name, this.write((value as JsonObject)[name])]));
  }

  /**
   * Returns a reference that omits members, because an event often holds an answer's members beside its own; else null.
   */
  #findWithout(value: object, names: readonly string[]): Json | null {
    this.#names ??= new Set(this.#payloads.flatMap((payload) => Object.keys(payload)));
    for (const name of names) if (!this.#names.has(name)) return null;
    const count = this.#payloads.length;
    for (let tried = 0; tried < count; tried++) {
      const $event = (this.#next + tried) % count;
      const payload = this.#payloads[$event] as JsonObject;
      if (!names.every((name) => payload[name] === (value as JsonObject)[name])) continue;
      const own = Object.keys(payload).filter((name) => payload[name] !== undefined);
      const held = own.filter((name) => Object.hasOwn(value, name));
      if (held.length !== names.length || !names.every((name, at) => name === held[at])) continue;
      this.#next = $event + 1;
      return { $event, omit: own.filter((name) => !held.includes(name)) };
    }
    return null;
  }
}

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

interface Place {
  readonly $event: number;
  readonly path: string[];
}

/** Returns the first position of each object and each long text of the payloads, down to `maxDepth` levels. */
function placesIn(payloads: readonly object[]): ReadonlyMap<unknown, Place> {
  const places = new Map<unknown, Place>();
  for (const [$event, payload] of payloads.entries()) notePlaces(places, payload, { $event, path: [] });
  return places;
}

function notePlaces(places: Map<unknown, Place>, at: object, place: Place): void {
  if (!places.has(at)) places.set(at, place);
  const { $event, path } = place;
  if (path.length === maxDepth) return;
  for (const name in at) {
    const value = (at as JsonObject)[name];
    if (typeof value === "object" && value !== null) notePlaces(places, value, { $event, path: [...path, name] });
    else if (typeof value === "string" && value.length >= longText && !places.has(value))
      places.set(value, { $event, path: [...path, name] });
  }
}

/** Returns the value that was written with references to these payloads. A dangling reference is null. */
export function readReferences(written: Json, payloads: readonly JsonObject[]): Json {
  if (Array.isArray(written)) return written.map((item) => readReferences(item, payloads));
  if (!isPlainObject(written)) return written;
  if (Object.hasOwn(written, "$plain")) return written["$plain"] as Json;
  if (Object.hasOwn(written, "$event")) return followReference(written as unknown as Reference, payloads);
  const entries = Object.entries(written).map(([name, member]) => [name, readReferences(member as Json, payloads)]);
  return Object.fromEntries(entries) as Json;
}

function followReference({ $event, path = [], omit = [] }: Reference, payloads: readonly JsonObject[]): Json {
  let at: unknown = payloads[$event] ?? null;
  for (const name of path) at = Object.hasOwn(Object(at), name) ? (at as JsonObject)[name] : null;
  if (omit.length === 0) return at as Json;
  return Object.fromEntries(Object.entries(at as JsonObject).filter(([name]) => !omit.includes(name))) as Json;
}
