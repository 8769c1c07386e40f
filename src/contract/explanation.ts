/**
 * The explanation of a workflow: one line per cause, and the causes of each action or refusal.
 *
 * Owns: the shape. T6 fills it from ledger events and nothing else (explain.ts, explain-effects.ts).
 */
import { z } from "zod";
import { Charge } from "./budget.ts";
import { GateCarrier } from "./gate.ts";
import { Principal } from "./intent.ts";
import { PolicyLift } from "./policy.ts";

export const RuleCause = z
  .object({
    event_id: z.string(),
    decision: z.string(),
    policies: z.array(z.string()).readonly(),
    /** The default rules that were lifted, and the rules that lifted them; absent if there are none. */
    lifts: z.array(PolicyLift).readonly().optional(),
    reason: z.string(),
    policy_version: z.string(),
  })
  .readonly();
export type RuleCause = z.infer<typeof RuleCause>;

export const ApprovalCause = z
  .object({
    event_id: z.string(),
    decision: z.enum(["approve", "reject"]),
    /** The principal who decided; null if the gate's expiry did. */
    principal: Principal.nullable(),
    /** The votes that carried the decision of a quorum, including that of `principal`. */
    carried_by: z.array(GateCarrier).readonly(),
    at: z.string(),
    payload_digest: z.string(),
    outcome_id: z.string().nullable(),
    outcome_version: z.number().nullable(),
    edited: z.boolean(),
    comment: z.string().nullable(),
    /** Whether the executed payload is the approved one; null if nothing was executed. */
    same_as_executed: z.boolean().nullable(),
  })
  .readonly();
export type ApprovalCause = z.infer<typeof ApprovalCause>;

export const AttemptCause = z
  .object({
    event_id: z.string(),
    attempt: z.number(),
    /** `running`, `succeeded`, `failed`, `in_doubt`, or `settled_` and how a person settled it. */
    outcome: z.string(),
    error_code: z.string().nullable(),
  })
  .readonly();
export type AttemptCause = z.infer<typeof AttemptCause>;

export const ChargeCause = z
  .object({ event_id: z.string(), counters: z.array(z.string()).readonly(), amounts: Charge })
  .readonly();
export type ChargeCause = z.infer<typeof ChargeCause>;

export const Effect = z
  .object({
    action_id: z.string(),
    key: z.string(),
    operator: z.string(),
    payload_hash: z.string(),
    started_event_id: z.string(),
    ended_event_id: z.string().nullable(),
    outcome: z.object({ outcome_id: z.string(), version: z.number() }).readonly().nullable(),
  })
  .readonly();
export type Effect = z.infer<typeof Effect>;

/** One action, or one refusal: then `effect` is null and `refusal` states the reason. */
export const CausalChain = z
  .object({
    step_id: z.string().nullable(),
    intent: z.object({ event_id: z.string(), actor: Principal, type: z.string() }).readonly().nullable(),
    plan: z
      .object({ event_id: z.string(), plan_id: z.string(), cause: z.string(), reasoning: z.string() })
      .readonly()
      .nullable(),
    rule: RuleCause.nullable(),
    budget: z
      .object({
        spent_before: z.number(),
        estimated_cost: z.number(),
        /**
         * The amounts that ceilings over workflows had set aside for the latest attempt, and the amounts that it used.
         */
        reserved: ChargeCause.nullable(),
        settled: ChargeCause.nullable(),
      })
      .readonly(),
    approval: ApprovalCause.nullable(),
    attempts: z.array(AttemptCause).readonly(),
    effect: Effect.nullable(),
    refusal: z.object({ event_id: z.string(), code: z.string(), message: z.string() }).readonly().nullable(),
  })
  .readonly();
export type CausalChain = z.infer<typeof CausalChain>;

export const StepExplanation = z
  .object({
    step_id: z.string(),
    name: z.string(),
    operator: z.string(),
    state: z.string(),
    allowed_by: z.string(),
    approved_by: z.string().nullable(),
    attempts: z.number(),
    effect: z.string(),
    because: z.array(z.string()).readonly(),
  })
  .readonly();
export type StepExplanation = z.infer<typeof StepExplanation>;

/** The causes of what a workflow did, from its ledger. */
export const Explanation = z
  .object({
    workflow_id: z.string(),
    state: z.string(),
    /** At most ten lines: what was decided and by whom, what failed and what ran unasked. */
    summary: z.array(z.string()).readonly(),
    /** One readable line per cause, in ledger order. */
    why: z.array(z.string()).readonly(),
    steps: z.array(StepExplanation).readonly(),
    /** From intent to effect: one entry per action and per refusal, in ledger order. */
    chain: z.array(CausalChain).readonly(),
  })
  .readonly();
export type Explanation = z.infer<typeof Explanation>;
