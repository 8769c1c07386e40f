/** The refusal of Rego policies, and what a failure of their runtime says. */
import { isPlainObject } from "../../../contract/json.ts";
import { messageOf } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { type PolicyLanguage, refusePolicies } from "../refuse-policies.ts";

export const opaLanguage: PolicyLanguage = { name: "Rego", source: moduleRef(5, "policy", "opa") };

/** Refuses policies for one reason. @throws KernelErrorException T5_POLICY_INVALID. */
export const refuseOpa = (field: string, problem: string): never =>
  refusePolicies(opaLanguage, [{ rule: null, field, problem }]);

/** Returns the message of what the runtime throws: a text, an object with a message, or an error. */
export function reasonOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  const message = isPlainObject(thrown) ? thrown["message"] : undefined;
  return typeof message === "string" ? message : messageOf(thrown);
}
