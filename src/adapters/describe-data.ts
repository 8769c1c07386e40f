/**
 * Determines who wrote a placeholder that a plan holds: the plan's author, or the data that the author was given.
 *
 * A plan function puts its inputs into params freely, and text keeps no trace of its origin. So the function is called
 * a second time, with every brace of the data replaced by a character that nobody writes: a placeholder that still
 * opens with two braces is the author's. The first answer runs; the second is only compared with it.
 * 1.  No second call is made if no brace of the data could have begun a reference, or if the plan has no placeholder.
 * 2.  Text of unknown origin counts as data: a text that differs otherwise, or a second answer that did not come.
 * 3.  A planner is not called twice: there a placeholder that also occurs in its input is data. Text that a function
 *     decodes by itself (from base64, from percent signs) has no braces to replace; it is marked with `text`.
 */
import { isPlainObject } from "../contract/json.ts";
import { follow } from "../contract/maybe-promise.ts";
import type { AnyStepDraft, ExecutionPlan } from "../contract/plan.ts";
import { type MarkedText, mapTexts, markText, placeholder, someText } from "../contract/reference.ts";
import type { Planner } from "../ports/planner.ts";

/** A noncharacter of Unicode: one code unit, so that lengths and slices stay as they were. */
const mark = "\uFDD0";
/** Braces that can begin a reference; those of JSON's own objects cannot, and a function may want to read JSON. */
const brace = /\{(?!\s*["}])/g;
const maxDepth = 64;

/** Returns the plan of a plan function, in which text from the question is marked as text. */
export function askForPlan<Q>(plan: PlanFunction<Q>, question: Q): ExecutionPlan | Promise<ExecutionPlan> {
  return follow(plan(question), (proposed) => describeData(proposed, plan, question));
}

type PlanFunction<Q> = (question: Q) => ExecutionPlan | Promise<ExecutionPlan>;

function describeData<Q>(
  proposed: ExecutionPlan,
  plan: PlanFunction<Q>,
  question: Q,
): ExecutionPlan | Promise<ExecutionPlan> {
  return holdsPlaceholder(proposed) && holdsBrace(question) ? compare(proposed, plan, question) : proposed;
}

async function compare<Q>(proposed: ExecutionPlan, plan: PlanFunction<Q>, question: Q): Promise<ExecutionPlan> {
  const again = await answerAgain(plan, markData(question));
  return judgeTexts(proposed, (text, step, at) => {
    const twin = again[step]?.get(at);
    return (from) => twin !== undefined && isTwin(text, twin) && twin.startsWith("{{", from);
  });
}

/** Guards a planner: placeholders that also occur in its input are text. */
export function guardPlanner(planner: Planner): Planner {
  return {
    async plan(question) {
      const answer = await planner.plan(question);
      if (!holdsPlaceholder(answer?.plan)) return answer;
      const { intent, context, situation } = question;
      const given = textsIn([intent, context, situation]).map(squeeze);
      const plan = judgeTexts(answer.plan, (text) => (from, to) => {
        const written = squeeze(text.slice(from, to));
        return !given.some((fragment) => fragment.includes(written));
      });
      return { ...answer, plan };
    },
  };
}

const squeeze = (text: string): string => text.replace(/\s+/g, "");

/** Returns whether the placeholder at this range is the author's own. */
type Judge = (from: number, to: number) => boolean;

function judgeTexts(plan: ExecutionPlan, judgeOf: (text: string, step: number, at: string) => Judge): ExecutionPlan {
  const judge = (text: unknown, step: number, at: string): unknown => {
    if (typeof text !== "string" || !text.includes("{{")) return text;
    const judged: MarkedText = markText(text, judgeOf(text, step, at));
    return judged.literals.length === 0 ? text : judged;
  };
  const steps = plan.steps.map((step, i) =>
    typeof step === "object" && step !== null
      ? { ...step, ...(mapTexts(writtenOf(step), (text, at) => judge(text, i, at)) as object) }
      : step,
  );
  return { ...plan, steps: steps as ExecutionPlan["steps"] };
}

function holdsPlaceholder(plan: ExecutionPlan | undefined): boolean {
  if (!Array.isArray(plan?.steps)) return false;
  return plan.steps.some((step) => someText(writtenOf(step), isPlaceholderIn));
}

/** Returns the members of a step in which references are read. */
function writtenOf(step: AnyStepDraft | null | undefined): object {
  const { params, when, do: inner, until } = (step ?? {}) as Readonly<Partial<Record<string, unknown>>>;
  const written = { params, when, do: inner, until };
  return Object.fromEntries(Object.entries(written).filter(([, member]) => member !== undefined));
}

const isPlaceholderIn = (text: unknown): boolean => typeof text === "string" && text.search(placeholder) >= 0;

/** Returns whether any text or key of the data could begin a reference. */
function holdsBrace(data: unknown, left = maxDepth): boolean {
  if (typeof data === "string") return data.includes("{") && data.search(brace) >= 0;
  if (left === 0 || typeof data !== "object" || data === null) return false;
  if (isPlainObject(data)) {
    for (const key in data) if (holdsBrace(key) || holdsBrace(data[key], left - 1)) return true;
    return false;
  }
  if (Array.isArray(data)) {
    for (const item of data) if (holdsBrace(item, left - 1)) return true;
    return false;
  }
  return openUp(data)?.parts.some((part) => holdsBrace(part, left - 1)) === true;
}

/** Returns the plain texts of a step by their place. */
function textsOf(step: AnyStepDraft): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  mapTexts(writtenOf(step), (text, at) => {
    if (typeof text === "string") texts.set(at, text);
    return text;
  });
  return texts;
}

/** Returns the texts of each step by their place; nothing if no second answer came. */
async function answerAgain<Q>(plan: PlanFunction<Q>, question: Q): Promise<readonly ReadonlyMap<string, string>[]> {
  try {
    const { steps } = await plan(question);
    return steps.map(textsOf);
  } catch {
    return [];
  }
}

/** Returns whether two texts differ in nothing but the braces that were replaced. */
function isTwin(text: string, twin: string): boolean {
  if (text.length !== twin.length) return false;
  for (let i = 0; i < text.length; i += 1)
    if (text[i] !== twin[i] && !(text[i] === "{" && twin[i] === mark)) return false;
  return true;
}

/** Returns the data with its braces replaced. */
const markData = <T>(data: T): T => changeTexts(data, (text) => text.replace(brace, mark)) as T;

function textsIn(data: unknown): readonly string[] {
  const found: string[] = [];
  const keep = (text: string): string => {
    found.push(text);
    return text;
  };
  changeTexts(data, keep);
  return found;
}

/** Passes all texts and keys of plain data, maps and sets through `change`; an unchanged object is returned itself. */
function changeTexts(data: unknown, change: (text: string) => string, left = maxDepth): unknown {
  if (typeof data === "string") return change(data);
  const held = left === 0 ? null : openUp(data);
  if (held === null) return data;
  const changed = held.parts.map((part) => changeTexts(part, change, left - 1));
  return changed.every((part, i) => part === held.parts[i]) ? data : held.close(changed);
}

interface Opened {
  readonly parts: readonly unknown[];
  readonly close: (parts: readonly unknown[]) => unknown;
}

function openUp(data: unknown): Opened | null {
  if (Array.isArray(data)) return { parts: data, close: (parts) => parts };
  if (data instanceof Set) return { parts: [...data], close: (parts) => new Set(parts) };
  if (data instanceof Map) return { parts: [...data].flat(), close: (parts) => new Map(pairsOf(parts)) };
  if (!isPlainObject(data)) return null;
  const close = (parts: readonly unknown[]): unknown => Object.fromEntries(pairsOf(parts) as [string, unknown][]);
  return { parts: Object.entries(data).flat(), close };
}

const pairsOf = (parts: readonly unknown[]): [unknown, unknown][] =>
  parts.flatMap((key, i) => (i % 2 === 0 ? [[key, parts[i + 1]] as [unknown, unknown]] : []));
