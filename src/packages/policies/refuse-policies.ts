/** The refusal of policies in any language: every problem with its policy and its place. */
import { kernelError } from "../../contract/error-codes.ts";
import type { JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import type { moduleRef } from "../../contract/module-ref.ts";

/** The language in which a bundle is written, and the module that reads it. */
export interface PolicyLanguage {
  /** The name that errors show, such as `Cedar`. */
  readonly name: string;
  readonly source: ReturnType<typeof moduleRef>;
}

/** One mistake: the policy, if it is in one; the text or file and the place in it; and what is wrong. */
export interface PolicyProblem extends JsonObject {
  readonly rule: string | null;
  readonly field: string;
  readonly problem: string;
}

/** Refuses policies. @throws KernelErrorException T5_POLICY_INVALID that lists every problem. */
export function refusePolicies({ name, source }: PolicyLanguage, problems: readonly PolicyProblem[]): never {
  const list = problems.map(
    ({ rule, field, problem }) => `${rule === null ? "" : `policy ${rule}, `}${field}: ${problem}`,
  );
  const message = `${name}: ${list.join("; ")}`;
  return raise(kernelError("T5_POLICY_INVALID", message, source, { detail: { problems: [...problems] } }));
}
