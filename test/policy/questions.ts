/** Questions to put to rules and engines directly, each field as the test says and all others plain. */
import type { PolicyDecision, PolicyQuestion, PolicyStage, PolicySubject, RuleSet } from "../../src/contract/policy.ts";
import { definePolicySet, evaluatePolicies } from "../../src/index.ts";

export interface Asking {
  readonly stage?: PolicyStage;
  readonly subject?: Partial<PolicySubject>;
  readonly role?: string;
  readonly tenant?: string | number;
  readonly principal?: string | number;
  readonly intent?: string;
  readonly now?: string;
}

export function question(asking: Asking = {}): PolicyQuestion {
  const { stage = "action", subject = {}, role = "user", tenant = 1, principal = 1, intent = "Notes.Draft" } = asking;
  const auth = {
    tenant_id: tenant,
    principal_id: principal,
    principal_type: "user",
    role,
    scopes: [],
    data_policy: { allow_pii: true, allow_external_send: false },
  };
  return {
    stage,
    subject: {
      name: "s1",
      operator: "Notes.Write",
      effect: "none",
      tags: [],
      risk_level: "low",
      payload: {},
      ...subject,
    },
    auth,
    intent: { type: intent, constraints: {} } as unknown as PolicyQuestion["intent"],
    context: null,
    now: asking.now ?? "2026-01-01T00:00:00.000Z",
  };
}

/** A set of one rule, at stage action unless said otherwise. */
export const oneRule = (more: object): RuleSet =>
  definePolicySet({
    version: "test-1",
    rules: [{ name: "the rule", stages: ["action"], decision: "DENY", reason: "because", ...more }],
  });

/** What an engine of these rules alone says. */
export const askSet = (set: RuleSet, asking: Asking = {}): PolicyDecision =>
  evaluatePolicies(set, question(asking)) as PolicyDecision;

/** Whether a rule with these conditions holds. */
export const holds = (when: object, asking: Asking = {}, more: object = {}): boolean =>
  askSet(oneRule({ when, ...more }), asking).policies.length === 1;
