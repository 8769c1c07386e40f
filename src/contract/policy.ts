/** Policy decisions: their five names, the two short names that rules may use, and the subject that a rule sees. */
import { z } from "zod";
import type { AuthContext } from "./auth-context.ts";
import type { ContextBundle } from "./context-bundle.ts";
import { gateConfirms } from "./gate-status.ts";
import type { PrincipalRef } from "./gate-vote.ts";
import type { Intent, ScheduleOrigin } from "./intent.ts";
import { type Json, JsonValue } from "./json.ts";

/** The stage at which a rule is asked. */
export const PolicyStage = z.enum(["plan", "action", "outcome", "gate"]);
export type PolicyStage = z.infer<typeof PolicyStage>;

/** A moment at which policy judges a call again: a person decides on its gate, or it is about to begin. */
export const PolicyMoment = z.enum(["decision", "call"]);
export type PolicyMoment = z.infer<typeof PolicyMoment>;

export const decisionNames = ["ALLOW", "DENY", "REQUIRE_HUMAN_APPROVAL", "TRANSFORM", "ALLOW_WITH_REDACTION"] as const;
export type DecisionName = (typeof decisionNames)[number];
/** The decisions that a rule may give that lifts another. */
export const liftingDecisions: readonly DecisionName[] = ["ALLOW", "REQUIRE_HUMAN_APPROVAL"];
const aliases = { REQUIRE_APPROVAL: "REQUIRE_HUMAN_APPROVAL", REDACT: "ALLOW_WITH_REDACTION" } as const;

/** The names of decisions that a rule may use, full or short. */
export const DecisionWord = z
  .enum([...decisionNames, "REQUIRE_APPROVAL", "REDACT"])
  .transform((name): DecisionName => (name === "REQUIRE_APPROVAL" || name === "REDACT" ? aliases[name] : name));

/**
 * The decisions that each stage can honour. A plan and a gate have no payload to change; an outcome is made already and
 * a gate is decided already, so that nobody can be asked first. Any other answer denies.
 */
export const decisionsAt: Readonly<Record<PolicyStage, readonly DecisionName[]>> = {
  plan: ["ALLOW", "DENY", "REQUIRE_HUMAN_APPROVAL"],
  action: decisionNames,
  outcome: ["ALLOW", "DENY", "TRANSFORM", "ALLOW_WITH_REDACTION"],
  gate: ["ALLOW", "DENY"],
};

/** The answer of a rule; null (from the function) means "does not match". */
export const RuleAnswer = z.object({
  decision: DecisionWord,
  reason: z.string().default(""),
  transform: JsonValue.nullable().default(null),
  redactions: z.array(z.string()).default([]),
  /** The care that faces take before an approval; only a rule that requires approval of a call may ask for it. */
  confirm: z.enum(gateConfirms).optional(),
});
export type RuleAnswer = z.input<typeof RuleAnswer>;

/** The names of the default rules. Only these can be lifted, and only by a rule of the host. */
export const defaultRuleNames = ["default.external_send", "default.final_write", "default.credential_use"] as const;
export type DefaultRuleName = (typeof defaultRuleNames)[number];

/**
 * The decision of one policy, from a rule that stands for several, such as policies in another language. It counts as
 * the answer of a rule of that name.
 */
export const NamedAnswer = z.strictObject({
  /** The name of the policy, which no rule of the kernel has. Decisions name it. */
  policy: z.string().min(1).max(200),
  /** The default rule that it replaces where it allows the call or asks a person; at stage `action` alone. */
  lifts: z.enum(defaultRuleNames).optional(),
  ...RuleAnswer.shape,
});
export type NamedAnswer = z.input<typeof NamedAnswer>;

/** The reply of a rule: its answer, the answers of the policies that it stands for, or null where nothing matches. */
export type RuleReply = RuleAnswer | readonly NamedAnswer[] | null;

/** A default rule that matched, and the host's rule whose answer replaced it. */
export const PolicyLift = z.object({ rule: z.string(), by: z.string() });
export type PolicyLift = z.infer<typeof PolicyLift>;

/** A change that rules made of a payload before all of them judged it again. */
export const PolicyChange = z.object({
  /** The rules that transformed or masked it. */
  policies: z.array(z.string()),
  /** The payload that they left, masked. */
  payload: JsonValue,
});
export type PolicyChange = z.infer<typeof PolicyChange>;

/** The engine's decision with every rule that matched, in evaluation order. */
export const PolicyDecision = z.object({
  decision: z.enum(decisionNames),
  /** The error code of a denial that no rule gave; T5_POLICY_DENIED where it is absent. */
  code: z.literal("T5_POLICY_UNSETTLED").optional(),
  reason: z.string(),
  transform: JsonValue.nullable(),
  redactions: z.array(z.string()),
  /** The strictest care that the rules which require approval ask for; absent if none does. */
  confirm: z.enum(gateConfirms).optional(),
  policies: z.array(z.string()).default([]),
  /** The default rules that matched and were lifted; absent if there are none. They are not among `policies`. */
  lifts: z.array(PolicyLift).optional(),
  /** The policy among these whose answer was taken; absent if none matched. */
  decided_by: z.string().optional(),
  /** The changes that the rules made to the payload, if there was more than one before all of them let it be. */
  changes: z.array(PolicyChange).optional(),
  policy_version: z.string().default("1"),
});
export type PolicyDecision = z.infer<typeof PolicyDecision>;

/** The subject of a decision: a plan, an action payload with its step, an outcome or a gate. */
export interface PolicySubject {
  /** The plan, the step, the outcome or the gate. */
  readonly name: string;
  /** The operator that would be called. */
  readonly operator?: string;
  /** The effect that it may have outside. */
  readonly effect?: string;
  /** The policy tags; for a decision at a gate also the decision and the person who decides. */
  readonly tags: readonly string[];
  /** `low`, `medium` or `high`. */
  readonly risk_level?: string;
  /** The payload that would be sent, was drafted, or is decided on. */
  readonly payload: Json;
  /** The step whose outcome the call would make final. */
  readonly applies?: string | null;
  /** Whether a person has approved it. */
  readonly approved?: boolean;
  /** The approvals that stand on exactly this payload at its gate; absent if there are none. */
  readonly approvals?: readonly SubjectApproval[];
  /** The schedule that submitted the work, and for which instant; absent if a request did. */
  readonly schedule?: ScheduleOrigin;
  /** The step that began the workflow as its child; absent if a request did, and for a decision at a gate. */
  readonly parent?: SubjectParent;
}

/** An approval that stands on the payload that is judged. */
export interface SubjectApproval {
  /** The person who gave it. */
  readonly principal: PrincipalRef;
  /** The role in which they gave it. */
  readonly role: string;
  /** The owner of the seat, if it was lent to them. */
  readonly on_behalf_of: PrincipalRef | null;
  /** The ISO instant. */
  readonly at: string;
}

/** The parent of the work that is judged. */
export interface SubjectParent {
  /** The parent. */
  readonly workflow_id: string;
  /** Its step that runs this work. */
  readonly step_id: string;
  /** The workflow at the top of the tree. */
  readonly root_workflow_id: string;
  /** The number of workflows above this one. */
  readonly depth: number;
}

/** The question to a rule. */
export interface PolicyQuestion {
  /** The stage that the question is about. */
  readonly stage: PolicyStage;
  /** The subject that is judged. */
  readonly subject: PolicySubject;
  /** The requesting principal; at stage gate, the one who decides. */
  readonly auth: AuthContext;
  /** The checked request. */
  readonly intent: Intent;
  /** The context of the request; null if it was not asked for. */
  readonly context: ContextBundle | null;
  /** ISO instant of the turn that asks. */
  readonly now: string;
  /** The part of the request's `maxCost` that is spent; a question that a host makes itself may leave it out. */
  readonly spent?: number;
}

/** Rules that change together: the result of `definePolicySet`. */
export interface RuleSet {
  /** The version that every decision records; approvals bind to it. */
  readonly version: string;
  /** The rules, in the order in which they are asked. */
  readonly rules: readonly PolicyRule[];
}

/** A policy rule; `stages` lists where it is asked. A rule that throws or does not answer denies. */
export interface PolicyRule {
  /** Unique in the kernel; decisions name the rules that matched. */
  readonly name: string;
  /** The stages at which it is asked. */
  readonly stages: readonly PolicyStage[];
  /**
   * The default rule that this rule replaces wherever it matches and allows the call or asks a person. It
   * lifts no rule of a host and no check of authority. Such a rule is asked at stage `action` alone.
   */
  readonly lifts?: DefaultRuleName;
  /** Its answer, or those of the policies that it stands for; null where it does not match. */
  readonly evaluate: (question: PolicyQuestion) => RuleReply | Promise<RuleReply>;
}
