/** Events of requests, their context and their plans. */
import type { AuthContext } from "../auth-context.ts";
import type { ParentLink } from "../child.ts";
import type { ContextBundle } from "../context-bundle.ts";
import type { KernelError } from "../error.ts";
import type { TakenRecord } from "../fork.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { Intent, Submission } from "../intent.ts";
import type { KeptDrafts } from "../kept-draft.ts";
import type { Plan, PlanStep } from "../plan.ts";
import type { Debounced, InFlightWait } from "../queue.ts";
import { event } from "./event-row.ts";

/** A request that was accepted. */
export interface IntentReceived {
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly plan_id: string;
  readonly pipeline: string;
  readonly complexity: string;
  readonly domain: string;
  readonly urgency: string;
  readonly warnings: readonly KernelError[];
  readonly regenerated_from: string | null;
  readonly draft_version: number;
  readonly regenerate?: readonly string[];
  /**
   * The versions of steps that the repeated work has made and that are kept, where they are not the first. Absent if no
   * work is repeated, and in older ledgers.
   */
  readonly kept_drafts?: KeptDrafts;
  /** The principals who requested the work that is repeated; absent if none is. */
  readonly requesters?: readonly PrincipalRef[];
  /** The feedback of the person who had the work repeated. */
  readonly feedback?: string;
  /** Absent where the request named no key. */
  readonly submission?: Submission;
  /** The ISO instant before which the work does not begin; absent if it begins at once. */
  readonly start_at?: string;
  /** Absent if the workflow had a place among `limits.maxInFlight` when it was accepted. */
  readonly in_flight?: InFlightWait;
  /** Absent if the workflow waits for no newer request. */
  readonly debounced?: Debounced;
  /** The step that began the workflow as its child; absent if a request did. */
  readonly parent?: ParentLink;
  /** The part of another workflow's record that the workflow takes over; absent if it is no fork. */
  readonly fork?: TakenRecord;
  /** The keys of calls of the repeated work that succeeded with an unusable result, as known at the request. */
  readonly spent_calls?: readonly string[];
}

/** A plan that passed policy. */
export interface PlanCreated {
  readonly plan: Plan;
  readonly planner_cost: number;
  /** The cause of the plan. `continue`: the previous plan succeeded and announced a further one. */
  readonly cause: "submit" | "replan" | "continue" | "regenerate" | "fork";
  /** The steps that a regeneration named; absent if it named none. */
  readonly named?: readonly string[];
}

/** A plan of which steps were dropped. */
export interface PlanTruncated {
  readonly kept: number;
  readonly dropped: readonly string[];
  /** The warning that the state of the workflow shows; older ledgers lack it. */
  readonly warning?: KernelError;
}

const stepDefaults = {
  values: {
    outcome: null,
    applies: null,
    kind: "call",
    outputs: ["data"],
    policy_tags: [],
    risk_level: "low",
    gate: null,
    idempotency: { strategy: "inputs", target: null },
    weight: 1,
    estimated_cost: 0,
    priority: 0,
    draft_version: 1,
  } satisfies Partial<PlanStep>,
};

export const planEvents = {
  INTENT_RECEIVED: event<IntentReceived>({
    from: "person",
    to: "workflow",
    begins: "workflow",
    transition: "received",
  }),
  INTENT_REJECTED: event<{ readonly error: KernelError; readonly intent_type: string | null }>({
    from: "person",
    to: "t0",
    ends: "request",
  }),
  CONTEXT_BUILT: event<{ readonly bundle: ContextBundle; readonly cache_hit: boolean }>({
    from: "t2",
    to: "workflow",
  }),
  PLAN_CREATED: event<PlanCreated>({
    from: "t3",
    to: "workflow",
    charts: ["workflow"],
    creates: "steps",
    progress: true,
    defaults: { values: {}, inside: { plan: { values: {}, inside: { steps: stepDefaults } } } },
  }),
  PLAN_TRUNCATED: event<PlanTruncated>({ from: "t3", to: "workflow" }),
  PLAN_REJECTED: event<{ readonly plan_id: string; readonly error: KernelError }>({
    from: "t3",
    to: "workflow",
    charts: ["workflow"],
  }),
} as const;
