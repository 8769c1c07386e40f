/**
 * References of a plan to the outputs of its steps: `{{look.output.card}}`.
 *
 * Owns: the grammar, the marks by which a plan's author distinguishes references from text, and the form in which a
 * stored plan keeps the difference. Never: resolves a reference (T4 does), guesses who wrote a text (the planner's
 * adapter does).
 * 1.  A reference is read only in text of the plan's author. All other text is literal and stays so.
 * 2.  A stored plan's params are readable; `literals` names the placeholders in them that are text.
 * 3.  A mark is identified by a symbol, which JSON cannot hold: no data from outside can imitate one.
 * 4.  A default is part of the reference, as JSON: `{{look.output.card ?? "none"}}`. It replaces an output that is
 *     absent, not one that is null. `?? undefined` leaves the member out.
 */
import { z } from "zod";
import { kernelError } from "./error-codes.ts";
import { isRecord, type Json, NotJson } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";

const name = "[A-Za-z0-9_-]+";
/** `step.output`, and the way from there. */
const pathPattern = new RegExp(`^(${name})\\.output((?:\\.${name})*)$`);
/** Matches one reference and nothing else: the step, the path with its leading dot, and the default. */
const wholeReference = new RegExp(
  `^\\{\\{\\s*(${name})\\.output((?:\\.${name})*)\\s*(?:\\?\\?\\s*([^{}]*?)\\s*)?\\}\\}$`,
);
/** Matches any text in double braces, which includes references. */
export const placeholder = /\{\{[^{}]*\}\}/g;

/** A reference as it is read. */
export interface ReadReference {
  readonly stepId: string;
  /** The path from the output on, with a leading dot; empty for the whole output. */
  readonly path: string;
  /** The default; absent if the author gave none. */
  readonly or?: { readonly value: Json | undefined };
}

/** Reads a placeholder; null if it does not refer to the output of a step. */
export function readReference(written: string): ReadReference | null {
  const [, stepId, path = "", or] = wholeReference.exec(written) ?? [];
  if (stepId === undefined) return null;
  if (or === undefined) return { stepId, path };
  try {
    return { stepId, path, or: { value: or === "undefined" ? undefined : (JSON.parse(or) as Json) } };
  } catch {
    return null;
  }
}

/** JSON pointer of a text in the params → which of its placeholders, from 0, are text and no references. */
export const Literals = z.record(z.string(), z.array(z.int().nonnegative()).readonly()).readonly();
export type Literals = z.infer<typeof Literals>;

const textMark = Symbol.for("countersign.text");
const referenceMark = Symbol.for("countersign.reference");

/** Text with references in it; `literals` are the placeholders that are plain text. */
export interface MarkedText {
  readonly text: string;
  readonly literals: readonly number[];
  readonly toJSON: () => string;
}

declare const gives: unique symbol;

/**
 * A reference: a whole param, or a part of a `text` or of an author's template string. `T` is the type of its value;
 * `never`, if the type is not known, is accepted for any.
 */
export interface Reference<T = never> {
  readonly [gives]?: T;
  readonly toJSON: () => string;
  readonly toString: () => string;
}

/** A reference that extends by member: `draft.output.sections[0].title`. */
export type Ref<T> = Reference<T> & Members<Exclude<T, null | undefined>>;

/** A reference that may give nothing, as may each of its members. */
export type OptionalRef<T> = Reference<T | undefined> & OptionalMembers<Exclude<T, null | undefined>>;

type OptionalMembers<T> = unknown extends T
  ? unknown
  : T extends readonly (infer E)[]
    ? { readonly [index: number]: OptionalRef<E> }
    : T extends object
      ? { readonly [K in keyof T]-?: OptionalRef<T[K]> }
      : unknown;

type Members<T> = unknown extends T
  ? unknown
  : T extends readonly (infer E)[]
    ? { readonly [index: number]: Ref<E> }
    : T extends object
      ? { readonly [K in keyof T]-?: Ref<T[K]> }
      : unknown;

const referenceRef = moduleRef(3, "plan", "ref");

/** The value that a reference may give in place of a missing output. */
export type ReferenceDefault = string | number | boolean | null | undefined | readonly ReferenceDefault[];

/**
 * Makes a reference to the output of a step: `ref("look.output.card")`. As a whole param it brings the value with its
 * type. A call whose reference finds nothing is refused (T4_PARAMS_UNRESOLVED), unless `or` gives a default: a text, a
 * number, a boolean, null, a list of these, or undefined, which leaves the member out (in a list it is null, in a text
 * nothing).
 * @throws KernelErrorException T3_PLAN_INVALID for an invalid path, and for a default of another kind.
 */
export function ref(path: string, options?: { readonly or: ReferenceDefault }): Reference;
/** Adds a default to a reference of a built step, such as `found.output.note`. */
export function ref<T, const D extends ReferenceDefault>(
  of: Reference<T>,
  options: { readonly or: D },
): Reference<Exclude<T, undefined> | D>;
export function ref(of: string | Reference<unknown>, options?: { readonly or: ReferenceDefault }): Reference {
  const path = isReference(of) ? pathOf(of) : (of as string);
  requirePath(path);
  return options === undefined ? referTo(path) : referTo(path, writeDefault(path, options.or));
}

const pathOf = (of: Reference<unknown>): string => {
  const { stepId, path } = readReference(of.toString()) as ReadReference;
  return `${stepId}.output${path}`;
};

function requirePath(path: unknown): void {
  if (typeof path !== "string" || !pathPattern.test(path))
    raise(kernelError("T3_PLAN_INVALID", `ref: ${String(path)} is no path such as look.output.card`, referenceRef));
}

/** Returns the default as JSON for a reference; braces in its texts are escaped. */
function writeDefault(path: string, or: unknown): string {
  if (!isDefault(or)) {
    const kinds = "a text, a number, a boolean, null, undefined or a list of these";
    raise(kernelError("T3_PLAN_INVALID", `ref: the default of ${path} must be ${kinds}`, referenceRef));
  }
  const json = or === undefined ? "undefined" : JSON.stringify(or);
  return ` ?? ${json.replaceAll("{", "\\u007b").replaceAll("}", "\\u007d")}`;
}

function isDefault(or: unknown): boolean {
  if (Array.isArray(or)) return or.every((item) => item !== undefined && isDefault(item));
  return or === undefined || or === null || ["string", "boolean"].includes(typeof or) || Number.isFinite(or);
}

const referTo = (path: string, or = ""): Reference => {
  const write = (): string => `{{${path}${or}}}`;
  return Object.freeze({ [referenceMark]: true, toJSON: write, toString: write });
};

/**
 * Returns a reference to a step's output, which its author goes through like a value. @throws as `ref`, for a step or a
 * member that no path can name.
 */
export const outputOf = <T>(stepId: string): Ref<T> => followTo(`${stepId}.output`) as Ref<T>;

function followTo(path: string): Reference {
  requirePath(path);
  const get = (made: Reference, key: string | symbol): unknown =>
    typeof key === "symbol" || Object.hasOwn(made, key) ? Reflect.get(made, key) : followTo(`${path}.${key}`);
  return new Proxy(referTo(path), { get });
}

/**
 * Makes a param's text whose references are those in the template itself and those made by `ref`; every other value is
 * inserted literally: text`Dear ${ref("look.output.name")}, ${input.note}`.
 */
export function text(words: TemplateStringsArray, ...values: readonly unknown[]): MarkedText {
  let joined = words[0] ?? "";
  const foreign: (readonly [from: number, to: number])[] = [];
  for (const [i, value] of values.entries()) {
    const rendered = wordsOf(value);
    if (!isReference(value) && rendered !== "") foreign.push([joined.length, joined.length + rendered.length]);
    joined += rendered + (words[i + 1] ?? "");
  }
  return markText(joined, (from, to) => foreign.every(([start, end]) => to <= start || from >= end));
}

function wordsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return isReference(value) ? value.toString() : isMarkedText(value) ? value.text : JSON.stringify(value);
}

/**
 * Marks the placeholders of a text: those for which `isOwn` (by their position) is true are the author's, the others
 * are text.
 */
export function markText(text: string, isOwn: (from: number, to: number) => boolean): MarkedText {
  const literals = [...text.matchAll(placeholder)].flatMap(({ index, 0: written }, i) =>
    isOwn(index, index + written.length) ? [] : [i],
  );
  return Object.freeze({ [textMark]: true, text, literals: Object.freeze(literals), toJSON: () => text });
}

const isReference = (value: unknown): value is Reference => isMarked(value, referenceMark);
export const isMarkedText = (value: unknown): value is MarkedText => isMarked(value, textMark);

const isMarked = (value: unknown, mark: symbol): boolean =>
  typeof value === "object" && value !== null && (value as Readonly<Record<symbol, unknown>>)[mark] === true;

const maxDepth = 64;

/** The number of values that a walk over data may visit; a value that occurs in several places counts in each. */
const maxPlaces = 1_000_000;

type ChangeText = (text: string | MarkedText | Reference, at: string) => unknown;

/**
 * Copies data and passes each text in it, with its place, through `change`; otherwise it follows `toJson`.
 * @throws NotJson for data with more values than can be kept.
 */
export function mapTexts(value: unknown, change: ChangeText): unknown {
  let left = maxPlaces;
  const walk = (one: unknown, at: string): unknown => {
    left -= 1;
    if (left < 0) throw new NotJson(`more than ${maxPlaces} values`, "");
    if (typeof one === "string" || isMarkedText(one) || isReference(one)) return change(one, at);
    if (typeof one !== "object" || one === null || at.split("/").length > maxDepth) return one;
    const plain = (one as { readonly toJSON?: unknown }).toJSON;
    if (typeof plain === "function") return walk(plain.call(one), at);
    if (Array.isArray(one)) return one.map((item, i) => walk(item, `${at}/${i}`));
    if (!isRecord(one)) return one;
    return Object.fromEntries(
      Object.entries(one).map(([key, member]) => [key, walk(member, `${at}/${pointerPart(key)}`)]),
    );
  };
  return walk(value, "");
}

/**
 * Returns whether `isIt` holds for any text in the data, walked as `mapTexts` does; it copies nothing. @throws NotJson.
 */
export function someText(value: unknown, isIt: (text: string | MarkedText | Reference) => boolean): boolean {
  let places = maxPlaces;
  const walk = (one: unknown, left: number): boolean => {
    if (typeof one === "string") return isIt(one);
    if (typeof one !== "object" || one === null) return false;
    if (isMarkedText(one) || isReference(one)) return isIt(one);
    places -= 1;
    if (places < 0) throw new NotJson(`more than ${maxPlaces} values`, "");
    if (left === 0) return false;
    const plain = (one as { readonly toJSON?: unknown }).toJSON;
    if (typeof plain === "function") return walk(plain.call(one), left - 1);
    if (Array.isArray(one)) return one.some((item) => walk(item, left - 1));
    for (const key in one) if (Object.hasOwn(one, key) && walk((one as Body)[key], left - 1)) return true;
    return false;
  };
  return walk(value, maxDepth);
}

type Body = Readonly<Record<string, unknown>>;

/** Returns a member's name as a part of a JSON pointer (RFC 6901). */
export const pointerPart = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * Returns the params with each reference in its written form; marked text stays marked. `onStep` is called for each
 * step that is referred to by `ref`, by an output of `outputOf`, or in a `text`; text in braces alone does not count,
 * because its author is not known. A reference without a default, at a place for which `mayLack` is true, leaves the
 * member out if it finds nothing.
 */
export const writeReferences = (
  params: unknown,
  onStep: (stepId: string) => void,
  mayLack: (at: string) => boolean = () => false,
): unknown =>
  mapTexts(params, (marked, at) => {
    if (typeof marked === "string") return marked;
    for (const id of stepsIn(marked)) onStep(id);
    if (!isReference(marked)) return marked;
    const written = readReference(marked.toString());
    const isLeftOut = written?.or === undefined && mayLack(at);
    const reference = isLeftOut ? ref(marked, { or: undefined }) : marked;
    // A default is the author's, also if it holds data.
    return isLeftOut || written?.or !== undefined ? markText(reference.toString(), () => true) : reference.toString();
  });

function stepsIn(marked: MarkedText | Reference): readonly string[] {
  const { text, literals } = isMarkedText(marked) ? marked : { text: marked.toString(), literals: noLiterals };
  return [...text.matchAll(placeholder)].flatMap(([written], i) =>
    literals.includes(i) ? [] : (readReference(written)?.stepId ?? []),
  );
}

const noLiterals: readonly number[] = [];

/** A reference in the params or the condition of a plan's step, with the JSON pointer of the text that holds it. */
export interface WrittenReference extends ReadReference {
  readonly at: string;
  readonly written: string;
}

/** Returns the references in written data; placeholders that `literals` names are text and are left out. */
export function referencesIn(data: unknown, literals: Literals | undefined): readonly WrittenReference[] {
  const found: WrittenReference[] = [];
  mapTexts(data, (text, at) => {
    for (const [i, [written]] of [...String(text).matchAll(placeholder)].entries()) {
      const read = literals?.[at]?.includes(i) === true ? null : readReference(written);
      if (read !== null) found.push({ ...read, at, written });
    }
    return text;
  });
  return found;
}

/** Returns the places that a planner's params mark as text; undefined if there are none. */
export function literalsOf(params: unknown): Literals | undefined {
  if (!someText(params, isMarkedText)) return undefined;
  const found: [string, readonly number[]][] = [];
  mapTexts(params, (marked, at) => {
    if (isMarkedText(marked) && marked.literals.length > 0) found.push([at, marked.literals]);
    return marked;
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
