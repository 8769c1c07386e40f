/**
 * The audit record: how each decision of policy or of a person came out, in one of five forms.
 *
 * 1.  `interaction_id` is the id of the event of the decision; in a review pipeline by itself it is the submitter's.
 * 2.  Entries are frozen; a log of them only grows.
 */
import { z } from "zod";
import { PrincipalId } from "./ids.ts";
import { PolicyMoment, PolicyStage } from "./policy.ts";

/**
 * Texts have no length limit, because the ledger's have none: an export must verify whatever the names of roles and
 * rules are.
 */
const text = z.string().min(1);

/**
 * `HumanApproved` and `HumanRejected` are decisions of people alone. An approval that a service or an agent gave, or
 * for which it voted, and one that a grant gave, is `AutoApproved`; a machine's rejection is `Blocked` by the policy
 * "gate decision". QueuedForReview names the gate as its review, and its roles, else its approvers, else "unassigned".
 */
export const AuditOutcome = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("AutoApproved") }),
  z.strictObject({ type: z.literal("Blocked"), policy: text }),
  z.strictObject({ type: z.literal("QueuedForReview"), review_id: text, reviewer: text }),
  z.strictObject({ type: z.literal("HumanApproved") }),
  z.strictObject({ type: z.literal("HumanRejected") }),
]);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** The outcome of one decision of policy or of a person. */
export const AuditEntry = z.object({
  interaction_id: text,
  outcome: AuditOutcome,
  /** Names of the policies that matched, in evaluation order. */
  policies: z.array(z.string()),
  /** The stage of a decision of policy. */
  stage: PolicyStage.optional(),
  /** The moment at which policy was asked again about a call that it had judged before. */
  moment: PolicyMoment.optional(),
  /** The person who decided; absent if nobody did or the person is not known. */
  decided_by: PrincipalId.optional(),
  /** The type of that principal, such as `user`, `service` or `agent`. */
  decided_by_type: text.optional(),
  /**
   * The voters whose votes carried the decision, in order; the last of them is `decided_by`. Votes have no entries of
   * their own.
   */
  carried_by: z.array(PrincipalId).optional(),
  /** The kinds of those principals, in the same order. */
  carried_by_types: z.array(text).optional(),
  /** The grant by which `decided_by` had approved the call ahead. */
  grant_id: text.optional(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const unassigned = "unassigned";
