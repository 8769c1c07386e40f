/**
 * Param templates: `{{step_1.output}}`, `{{step_1.output.field.sub}}`, alone or inside text.
 *
 * Owns: reading references in params. Never: evaluates anything; reads references in a value that a reference brought.
 * 1.  Only own data properties and array indices of plain outputs are followed: no getter, no prototype, no call.
 * 2.  A param that is wholly one reference takes the value with its type; inside text, objects become JSON.
 * 3.  A reference without a value stays as it was written, and so does every placeholder that the plan marks as a
 *     literal. A default replaces a missing output; `undefined` leaves the member out.
 */
import { type Json, toJson } from "../../../../contract/json.ts";
import {
  type Literals,
  placeholder,
  pointerPart,
  readReference,
  referencesIn,
} from "../../../../contract/reference.ts";

export interface Resolved {
  readonly value: Json;
  /** Templates without a value, in order of appearance; they stay as they were written. */
  readonly unresolved: readonly string[];
}

/** The outputs of steps by id. A function returns undefined for a step without an output. */
type Outputs =
  | ReadonlyMap<string, unknown>
  | Readonly<Record<string, unknown>>
  | ((stepId: string) => Json | undefined);

/** Resolves params against the outputs of steps, by the rules 1 to 3. */
export function resolveTemplates(params: unknown, outputs: Outputs): Json {
  return resolveParams({ params }, outputs).value;
}

interface Written {
  readonly params: unknown;
  readonly literals?: Literals | undefined;
}

export function resolveParams({ params, literals }: Written, outputs: Outputs): Resolved {
  const unresolved: string[] = [];
  const find = (written: string): unknown => {
    const named = readReference(written);
    if (named === null) return missing;
    const found = follow(outputOf(outputs, named.stepId), named.path);
    return found === missing && named.or !== undefined ? named.or.value : found;
  };
  const value = visit(params, { literals, at: "" }, (text, texts) => resolveText(text, { find, texts, unresolved }));
  return { value: value ?? null, unresolved };
}

/**
 * Returns the references in the params without a value: the JSON pointer of each, and the reference as it was written.
 */
export function missingIn({ params, literals }: Written, unresolved: readonly string[]) {
  const missing = referencesIn(params, literals).filter(({ written }) => unresolved.includes(written));
  return missing.map(({ at, written }) => ({ path: at, reference: written }));
}

const missing = Symbol("missing");

function outputOf(outputs: Outputs, stepId: string): unknown {
  if (typeof outputs === "function") {
    const output = outputs(stepId);
    return output === undefined ? missing : output;
  }
  if (outputs instanceof Map) return outputs.has(stepId) ? outputs.get(stepId) : missing;
  return ownValue(outputs, stepId);
}

/** Returns the value of an own data property, or `missing`; accessors are not invoked. */
function ownValue(holder: unknown, key: string): unknown {
  if (typeof holder !== "object" || holder === null || key === "__proto__") return missing;
  if (Array.isArray(holder) && !/^\d+$/.test(key)) return missing;
  const property = Object.getOwnPropertyDescriptor(holder, key);
  return property === undefined || !("value" in property) ? missing : property.value;
}

function follow(start: unknown, path: string): unknown {
  if (path === "") return start;
  let at = start;
  for (const key of path.slice(1).split(".")) at = ownValue(at, key);
  return at;
}

/** The place of a value in the params, which matters only if the params have literals. */
interface Place {
  readonly literals: Literals | undefined;
  readonly at: string;
}

const noLiterals: readonly number[] = [];

type OnText = (text: string, literals: readonly number[]) => Json | undefined;

/** Copies a value with each text passed through `onText`; undefined means that the member is left out. */
function visit(value: unknown, place: Place, onText: OnText): Json | undefined {
  if (typeof value === "string") return onText(value, place.literals?.[place.at] ?? noLiterals);
  if (Array.isArray(value)) return value.map((item, i) => visit(item, below(place, String(i)), onText) ?? null);
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  const copy: Record<string, Json> = { ...(value as { readonly [key: string]: Json }) };
  for (const key of Object.keys(copy)) {
    const member = visit(copy[key], below(place, key), onText);
    if (member === undefined) delete copy[key];
    else copy[key] = member;
  }
  return copy;
}

const below = (place: Place, key: string): Place =>
  place.literals === undefined ? place : { literals: place.literals, at: `${place.at}/${pointerPart(key)}` };

interface Resolving {
  readonly find: (written: string) => unknown;
  /** The numbers of the placeholders that are literals. */
  readonly texts: readonly number[];
  readonly unresolved: string[];
}

function resolveText(text: string, { find, texts, unresolved }: Resolving): Json | undefined {
  if (!text.includes("{{")) return text;
  if (texts.length === 0 && readReference(text) !== null) {
    const value = find(text);
    if (value !== missing) return plain(value);
  }
  return replaceOwn(text, texts, (written) => {
    const value = find(written);
    if (value !== missing) return render(value);
    unresolved.push(written);
    return written;
  });
}

/** Passes each placeholder that is not a literal through `change`. */
function replaceOwn(text: string, literals: readonly number[], change: (written: string) => string): string {
  let i = -1;
  return text.replace(placeholder, (written) => {
    i += 1;
    return literals.includes(i) ? written : change(written);
  });
}

/** Returns plain data by reference, and an object with `toJSON` in its serialised form. */
function plain(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && typeof (value as { toJSON?: unknown }).toJSON === "function"
    ? toJson(value)
    : (value as Json);
}

function render(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "";
  return JSON.stringify(typeof value === "object" && value !== null ? toJson(value) : (value ?? null));
}

/** Renames the step ids in references, as a regenerated plan needs; literals stay unchanged. */
export function renameReferences({ params, literals }: Written, renamed: ReadonlyMap<string, string>): Json {
  const rename = (written: string): string => {
    const stepId = readReference(written)?.stepId;
    return stepId === undefined ? written : written.replace(stepId, renamed.get(stepId) ?? stepId);
  };
  return visit(params, { literals, at: "" }, (text, texts) => replaceOwn(text, texts, rename)) ?? null;
}
