/**
 * The default rules: no data is sent, no outcome becomes final and no delegated credential is used unless
 * their conditions hold. Hosts may replace them.
 */
import { hasScope } from "../../../contract/auth-context.ts";
import type {
  DefaultRuleName,
  PolicyQuestion,
  PolicyRule,
  PolicySubject,
  RuleAnswer,
} from "../../../contract/policy.ts";

export const defaultPolicyVersion = "default-1";

const has = (subject: PolicySubject, word: string): boolean => subject.effect === word || subject.tags.includes(word);

function externalSend({ subject, auth }: PolicyQuestion): RuleAnswer | null {
  if (!has(subject, "external_send")) return null;
  if (!auth.data_policy.allow_external_send) return { decision: "DENY", reason: sendDenied(auth.role) };
  return { decision: "REQUIRE_HUMAN_APPROVAL", reason: "nothing is sent to the outside without a person's decision" };
}

/** Returns the refusal, with the remedy for a host. */
const sendDenied = (role: string): string =>
  `the role ${role} may not have anything sent to the outside: ` +
  "give the role data_policy.allow_external_send, after which a person is asked; " +
  "or lift default.external_send for this operator with a rule of your own";

function finalWrite({ subject }: PolicyQuestion): RuleAnswer | null {
  if (!has(subject, "final_write") && (subject.applies ?? null) === null) return null;
  return { decision: "REQUIRE_HUMAN_APPROVAL", reason: "a final write waits for a person's approval" };
}

function credentialUse({ subject, auth, intent }: PolicyQuestion): RuleAnswer | null {
  if (!has(subject, "credential_use")) return null;
  const toggled = intent.constraints["allow_credential_use"] === true;
  if (hasScope(auth.scopes, "credential:use") && toggled)
    return { decision: "ALLOW", reason: "scope credential:use is held and constraints.allow_credential_use is on" };
  return {
    decision: "DENY",
    reason: "a delegated credential needs the scope credential:use and constraints.allow_credential_use",
  };
}

export const defaultRules: readonly (PolicyRule & { readonly name: DefaultRuleName })[] = Object.freeze([
  { name: "default.external_send", stages: ["action"], evaluate: externalSend },
  { name: "default.final_write", stages: ["action"], evaluate: finalWrite },
  { name: "default.credential_use", stages: ["action"], evaluate: credentialUse },
] as const);
