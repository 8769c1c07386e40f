/**
 * The result and the state of a step. The step machine is the source; StepStatus, DAG lists and action status are views
 * of it.
 */
import { z } from "zod";
import type { Json } from "./json.ts";
import { JsonValue } from "./json.ts";

/** The end of a step's call, as an operator reports it. */
export const StepStatus = z.enum(["COMPLETED", "BLOCKED", "FAILED"]);
export type StepStatus = z.infer<typeof StepStatus>;

/** The result of a step, in the form that operators may return. */
export const StepResult = z.object({ data: JsonValue, output_text: z.string(), status: StepStatus });
export type StepResult = z.infer<typeof StepResult>;

export const stepStates = ["queued", "running", "succeeded", "failed", "skipped"] as const;
export type StepState = (typeof stepStates)[number];

/** Makes a StepResult of an operator's return value: a StepResult as it is, a string as text, anything else as data. */
export function toStepResult(value: Json): StepResult {
  const parsed = hasShape(value) ? StepResult.safeParse(value) : null;
  if (parsed?.success === true) return parsed.data;
  return {
    data: value,
    output_text: textOf(value),
    status: "COMPLETED",
  };
}

/** Returns the text that people are shown of data without a text of its own. */
export const textOf = (data: Json): string => (typeof data === "string" ? data : JSON.stringify(data ?? null));

/** Checks the shape, which is cheaper than the failing parse that most results would cause. */
const hasShape = (value: Json): boolean =>
  typeof value === "object" && value !== null && "status" in value && Object.keys(value).length === 3;

/**
 * Returns a JSON-safe text of at most `limit` characters, for traces. Repeated objects, functions and throwing getters
 * are named.
 */
export function tracePreview(value: unknown, limit = 500): string {
  try {
    return (stringifyShown(value, limit) ?? "null").slice(0, limit);
  } catch {
    return "[unreadable]";
  }
}

function stringifyShown(value: unknown, limit: number): string | undefined {
  const seen = new WeakSet<object>();
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "function" || typeof member === "symbol") return `[${typeof member}]`;
    if (typeof member === "bigint") return `${member}n`;
    if (typeof member === "string" && member.length > limit) return `${member.slice(0, limit)}…`;
    if (typeof member !== "object" || member === null) return member;
    if (seen.has(member)) return "[cycle]";
    seen.add(member);
    return member;
  });
}
