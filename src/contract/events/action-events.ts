/** Events of calls: the judgements before them, their usage, and their ends. */
import type { Usage } from "../action.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Charge, Reservation } from "../budget.ts";
import type { KernelError } from "../error.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { Principal } from "../intent.ts";
import type { Json, JsonObject } from "../json.ts";
import type { RouteAnswer, RouteRequest } from "../model-route.ts";
import type { PolicyDecision, PolicyMoment, PolicyStage } from "../policy.ts";
import type { ResourceRequest, TokenEventKind } from "../token.ts";
import { event } from "./event-row.ts";

/** A call that begins. */
export interface ActionStarted {
  readonly action_id: string;
  readonly key: string;
  readonly operator_name: string;
  readonly operator_version: string;
  readonly attempt: number;
  readonly payload_hash: string;
  readonly input?: Json;
  readonly timeout_ms: number;
  readonly recovered?: boolean;
  /** The number of this call of its key, over all workflows that share the key; absent if no other can. */
  readonly claim?: number;
  /** The token this call was admitted as; absent where the record answered and no call was made. */
  readonly token?: { readonly id: number; readonly cost?: number; readonly resources?: ResourceRequest };
  readonly outcome_id: string | null;
}

/** The result of a call. */
export interface ActionSucceeded {
  readonly action_id: string;
  readonly operator_name: string;
  readonly attempt: number;
  readonly result: Json;
  readonly usage: Usage;
  readonly cached: boolean;
  /** The other workflow whose record answered this call; absent if the call was its own. */
  readonly answered_by?: string;
  /** Whether that workflow has left the work, so that this one takes it over; absent if not. */
  readonly takes_over?: true;
  readonly late: boolean;
  readonly outcome_id: string | null;
}

/** The failure of an attempt. */
export interface ActionFailed {
  readonly action_id: string;
  readonly operator_name: string;
  readonly attempt: number;
  readonly error: KernelError;
  readonly category: string;
  readonly retryable: boolean;
  readonly pending: boolean;
  readonly final: boolean;
  readonly usage: Usage;
  readonly cached: boolean;
  readonly outcome_id: string | null;
}

/** A person's statement about a call in doubt. */
export interface ActionSettled {
  readonly action_id: string;
  readonly resolution: "done" | "retry" | "failed";
  readonly result: Json | null;
}

/** A decision of policy. */
export type PolicyDecided = PolicyDecision & {
  readonly stage: PolicyStage;
  readonly subject: string;
  readonly payload_hash: string;
  /** The principal whose decision was judged, with the decision; at stage gate only. */
  readonly by?: {
    readonly decision: "approve" | "reject" | "delegate";
    readonly principal: Principal;
    readonly auth: AuthContext;
    /** The principal who receives a delegated seat. */
    readonly to?: PrincipalRef;
  };
  /**
   * The judged payload, if no other event holds it: a person's edit, masked as policy masks it, or a plan that was
   * denied.
   */
  readonly payload?: Json;
  /** The instant the question named, where it is not the event's. */
  readonly asked_at?: string;
  /** The moment at which policy was asked again about a call. Absent for its first judgement. */
  readonly moment?: PolicyMoment;
};

/** An event of a token of the token kernel. */
export interface TokenRecorded {
  readonly token_id: number;
  readonly kind: TokenEventKind;
  readonly label: string | null;
  readonly detail: JsonObject;
}

/** A failure that shows that an operator is broken. */
export interface OperatorAlert {
  readonly action_id: string;
  readonly operator_name: string;
  readonly error: KernelError;
}

const attemptDefaults = { attempt: 1, outcome_id: null } as const;

export const actionEvents = {
  ACTION_STARTED: event<ActionStarted>({
    from: "step",
    to: "operator",
    charts: ["step", "action"],
    guards: ["recovered"],
    begins: "attempt",
    defaults: { values: attemptDefaults satisfies Partial<ActionStarted> },
  }),
  ACTION_SUCCEEDED: event<ActionSucceeded>({
    from: "operator",
    to: "step",
    charts: ["step", "action"],
    ends: "attempt",
    defaults: {
      values: { ...attemptDefaults, usage: {}, cached: false, late: false } satisfies Partial<ActionSucceeded>,
    },
  }),
  ACTION_FAILED: event<ActionFailed>({
    from: "operator",
    to: "step",
    charts: ["step", "action"],
    guards: ["pending", "final"],
    ends: "attempt",
    defaults: { values: { ...attemptDefaults, usage: {}, cached: false } satisfies Partial<ActionFailed> },
  }),
  ACTION_RETRY_SCHEDULED: event<{
    readonly action_id: string;
    readonly attempt: number;
    readonly due_at: string;
  }>({ from: "t4", to: "step", charts: ["step", "action"] }),
  ACTION_IN_DOUBT: event<{ readonly action_id: string; readonly reason: string }>({
    from: "t4",
    to: "step",
    charts: ["step", "action"],
  }),
  ACTION_SETTLED: event<ActionSettled>({
    from: "t4",
    to: "step",
    charts: ["step", "action"],
    guards: ["resolution"],
    ends: "attempt",
  }),
  POLICY_DECIDED: event<PolicyDecided>({
    from: "t5",
    to: "step",
    judges: true,
    defaults: {
      values: { decision: "ALLOW", transform: null, redactions: [], policies: [] } satisfies Partial<PolicyDecided>,
    },
  }),
  OPERATOR_ALERT: event<OperatorAlert>({ from: "step", to: "t7" }),
  ROUTE_DECIDED: event<
    RouteAnswer & { readonly action_id: string; readonly attempt: number; readonly request: RouteRequest }
  >({ from: "t7", to: "step", judges: true }),
  BUDGET_RESERVED: event<Reservation & { readonly action_id: string }>({ from: "t5", to: "step", judges: true }),
  BUDGET_SETTLED: event<Reservation & { readonly action_id: string; readonly reserved: Charge }>({
    from: "t5",
    to: "step",
    judges: true,
  }),
  BUDGET_REFUSED: event<{ readonly error: KernelError }>({ from: "t5", to: "step", judges: true }),
  TOKEN_RECORDED: event<TokenRecorded>({ from: "operator", to: "step" }),
} as const;
