/**
 * Tags: string metadata that any module reads without opening the body.
 *
 * Owns: the standard tags whose values are closed, and the check that every value is text. Never: decides who may
 * write a tag; the tiers do.
 */
import { z } from "zod";
import { isPlainObject } from "./json.ts";

export type Tags = Readonly<Record<string, string>>;

export const Urgency = z.enum(["low", "normal", "high", "critical"]);
export type Urgency = z.infer<typeof Urgency>;
export const Complexity = z.enum(["trivial", "simple", "moderate", "complex"]);
export type Complexity = z.infer<typeof Complexity>;
export const SourceType = z.enum(["user", "tool", "agent", "system"]);
export type SourceType = z.infer<typeof SourceType>;

type Rule = { readonly allows: (value: string) => boolean; readonly expects: string };

const rules: ReadonlyMap<string, Rule> = new Map([
  ["urgency", oneOf(Urgency.options)],
  ["complexity", oneOf(Complexity.options)],
  ["source_type", oneOf(SourceType.options)],
  ["confidence", { allows: isUnitNumber, expects: "a number from 0 to 1 as text" }],
  ["grounding", { allows: isUnitNumber, expects: "a number from 0 to 1 as text" }],
]);

function oneOf(values: readonly string[]): Rule {
  const allowed = new Set(values);
  return { allows: (value) => allowed.has(value), expects: `one of ${values.join(", ")}` };
}

function isUnitNumber(value: string): boolean {
  return /^\d+(\.\d+)?(e-?\d+)?$/.test(value) && Number(value) <= 1;
}

/** Returns the problem of the first bad tag, or null. Cheap: it runs on every Signal made. */
export function findTagProblem(tags: Readonly<Record<string, unknown>>): { key: string; reason: string } | null {
  for (const key of Object.keys(tags)) {
    const value = tags[key];
    if (typeof value !== "string") return { key, reason: `tag ${key} must be text` };
    const rule = rules.get(key);
    if (rule !== undefined && !rule.allows(value)) return { key, reason: `tag ${key} must be ${rule.expects}` };
  }
  return null;
}

/** A string-to-string map whose standard tags carry legal values. */
export const Tags = z
  .unknown()
  .refine((value) => isPlainObject(value) && findTagProblem(value) === null, "expected legal string tags")
  .meta({ type: "object", additionalProperties: { type: "string" } }) as unknown as z.ZodType<Tags, Tags>;
