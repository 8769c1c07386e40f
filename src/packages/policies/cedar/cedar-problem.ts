/** The refusal of a bundle of Cedar policies: every problem with its policy and its place in the text. */
import type { DetailedError } from "@cedar-policy/cedar-wasm/nodejs";
import { kernelError } from "../../../contract/error-codes.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";

export const cedarRef = moduleRef(5, "policy", "cedar");

/** One mistake: the policy, if it is in one; the text and the place in it, as `policies:3:14`; and what is wrong. */
export interface CedarProblem extends JsonObject {
  readonly rule: string | null;
  readonly field: string;
  readonly problem: string;
}

/** Refuses the bundle. @throws KernelErrorException T5_POLICY_INVALID that lists every problem. */
export function refuseBundle(problems: readonly CedarProblem[]): never {
  const list = problems.map(
    ({ rule, field, problem }) => `${rule === null ? "" : `policy ${rule}, `}${field}: ${problem}`,
  );
  return raise(
    kernelError("T5_POLICY_INVALID", `Cedar: ${list.join("; ")}`, cedarRef, { detail: { problems: [...problems] } }),
  );
}

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
): CedarProblem {
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
