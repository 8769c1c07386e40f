/** The problems of Cedar texts, each with its policy and its place in the text. */
import type { DetailedError } from "@cedar-policy/cedar-wasm/nodejs";
import { moduleRef } from "../../../contract/module-ref.ts";
import { type PolicyLanguage, type PolicyProblem, refusePolicies } from "../refuse-policies.ts";

export const cedarLanguage: PolicyLanguage = { name: "Cedar", source: moduleRef(5, "policy", "cedar") };

/** Refuses the bundle. @throws KernelErrorException T5_POLICY_INVALID that lists every problem. */
export const refuseBundle = (problems: readonly PolicyProblem[]): never => refusePolicies(cedarLanguage, problems);

/** A text, its name in messages, and the offset in bytes from which Cedar counts its beginning. */
export interface CedarText {
  readonly name: string;
  readonly text: string;
  /** The bytes that Cedar counts before the text. */
  readonly before?: number;
}

/** Returns an error of Cedar's as a problem with its place. */
export function problemOf(
  error: DetailedError,
  { name, text, before = 0 }: CedarText,
  rule: string | null,
): PolicyProblem {
  const [at] = error.sourceLocations ?? [];
  const wanted = at?.label == null ? "" : ` (${at.label})`;
  const help = error.help === null ? "" : `; ${error.help}`;
  const field = at === undefined ? name : `${name}:${placeIn(text, at.start - before)}`;
  return { rule, field, problem: `${error.message}${wanted}${help}` };
}

/** Returns `line:column` of an offset in bytes, both from 1. */
export function placeIn(text: string, offset: number): string {
  const lines = Buffer.from(text).subarray(0, Math.max(0, offset)).toString().split("\n");
  return `${lines.length}:${(lines.at(-1) as string).length + 1}`;
}
