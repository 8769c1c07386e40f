/**
 * Ledger events: the closed list of types, what each carries, and the record that readers see (seed 003 section 6.1).
 * INV-1  The list is closed per schema version; an unknown type is refused on append.
 * INV-2  WORKFLOW_, PLAN_, STEP_, ACTION_, GATE_ and USER_ events move machines; the others are facts.
 * INV-3  A workflow's sequence is dense, starts at 1 and is the id that streams resume from.
 */
import { z } from "zod";
import type { Usage } from "./action.ts";
import type { AuthContext } from "./auth-context.ts";
import type { Ceiling, Charge, Reservation } from "./budget.ts";
import type { ContextBundle, ParsedDocumentRecord, ParsedMemoryRecord } from "./context-bundle.ts";
import type { KernelError } from "./error.ts";
import type { FederatedSyncReport } from "./federation.ts";
import type { Gate, GateCarrier } from "./gate.ts";
import type { GateExpiry } from "./gate-spec.ts";
import type { GateDelegation, GateSignature, PrincipalRef } from "./gate-vote.ts";
import { CorrelationId, EventId, IntentId, PlanId, PrincipalId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import type { Intent, Principal, Submission } from "./intent.ts";
import { type Json, JsonObject } from "./json.ts";
import type { RouteAnswer, RouteRequest } from "./model-route.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import type { PolicyDecision, PolicyStage } from "./policy.ts";
import type { StepStatus } from "./step.ts";
import type { ResourceRequest, TokenEventKind } from "./token.ts";
import type { SkipReason } from "./workflow-state.ts";

/** All types of events. */
export const eventTypes = [
  "INTENT_RECEIVED",
  "INTENT_REJECTED",
  "CONTEXT_BUILT",
  "PLAN_CREATED",
  "PLAN_TRUNCATED",
  "PLAN_REJECTED",
  "WORKFLOW_STARTED",
  "WORKFLOW_WAITING",
  "WORKFLOW_RESUMED",
  "WORKFLOW_RESTARTED",
  "WORKFLOW_COMPLETED",
  "WORKFLOW_FAILED",
  "WORKFLOW_CANCELLING",
  "WORKFLOW_CANCELLED",
  "STEP_QUEUED",
  "STEP_STARTED",
  "STEP_SUCCEEDED",
  "STEP_FAILED",
  "STEP_SKIPPED",
  "ACTION_STARTED",
  "ACTION_SUCCEEDED",
  "ACTION_FAILED",
  "ACTION_RETRY_SCHEDULED",
  "ACTION_IN_DOUBT",
  "ACTION_SETTLED",
  "POLICY_DECIDED",
  "GATE_OPENED",
  "USER_APPROVED",
  "USER_REJECTED",
  "GATE_DECISION_KEPT",
  "GATE_REVISED",
  "GATE_EXPIRED",
  "GATE_ESCALATED",
  "GATE_REMINDED",
  "GATE_SUSPENDED",
  "GATE_VOTED",
  "GATE_VOTE_WITHDRAWN",
  "GATE_DELEGATED",
  "OUTCOME_DRAFTED",
  "OUTCOME_FINALIZED",
  "OUTPUT_SANITIZED",
  "OUTPUT_UNCHECKED",
  "TEMPLATE_UNRESOLVED",
  "ERROR_ESCALATED",
  "OPERATOR_ALERT",
  "ROUTE_DECIDED",
  "MEMORY_WRITTEN",
  "MEMORY_SYNCED",
  "DOCUMENT_RECORDED",
  "STEP_STREAMED",
  "BUDGET_RESERVED",
  "BUDGET_SETTLED",
  "BUDGET_REFUSED",
  "TOKEN_RECORDED",
  "BODY_ERASED",
] as const;
/** The type of an event. */
export const EventType = z.enum(eventTypes);
export type EventType = (typeof eventTypes)[number];

export const Actor = z.object({ type: z.string(), id: PrincipalId });
export type Actor = z.infer<typeof Actor>;

/** One fact of the ledger. */
export const LedgerEvent = z.object({
  event_id: EventId,
  event_type: EventType,
  timestamp: z.iso.datetime(),
  tenant_id: TenantId,
  workflow_id: WorkflowId.nullable(),
  thread_id: ThreadId.nullable(),
  intent_id: IntentId.nullable(),
  plan_id: PlanId.nullable(),
  step_id: z.string().nullable(),
  actor: Actor,
  correlation_id: CorrelationId,
  sequence: z.int().positive(),
  payload: JsonObject,
});
export type LedgerEvent = z.infer<typeof LedgerEvent>;

/** What each event type carries. Types that later work fills are open records. */
export interface EventPayloads {
  INTENT_RECEIVED: {
    readonly intent: Intent;
    readonly auth: AuthContext;
    readonly plan_id: string;
    readonly pipeline: string;
    readonly complexity: string;
    readonly domain: string;
    readonly urgency: string;
    readonly warnings: readonly KernelError[];
    readonly parent_workflow_id: string | null;
    readonly draft_version: number;
    readonly regenerate?: readonly string[];
    /** Who asked for the work that is made again; absent where there is none. */
    readonly requesters?: readonly PrincipalRef[];
    /** What whoever had the work done again said of it. */
    readonly feedback?: string;
    /** Absent where the request named no key. */
    readonly submission?: Submission;
    /** Calls of the work that is made again which were answered with what is of no use, as whoever asked could know. */
    readonly spent_calls?: readonly string[];
  };
  INTENT_REJECTED: { readonly error: KernelError; readonly intent_type: string | null };
  CONTEXT_BUILT: { readonly bundle: ContextBundle; readonly cache_hit: boolean };
  PLAN_CREATED: {
    readonly plan: Plan;
    readonly planner_cost: number;
    /** `continue`: the plan before it has succeeded, and said that another follows. */
    readonly cause: "submit" | "replan" | "continue" | "regenerate";
    /** The steps that a regeneration named; absent where it named none. */
    readonly named?: readonly string[];
  };
  /** `warning`: what the state of the workflow says of it; older ledgers do not say. */
  PLAN_TRUNCATED: { readonly kept: number; readonly dropped: readonly string[]; readonly warning?: KernelError };
  PLAN_REJECTED: { readonly plan_id: string; readonly error: KernelError };
  WORKFLOW_STARTED: { readonly round: number };
  WORKFLOW_WAITING: { readonly gates: readonly string[] };
  /** `principal`: who regenerated what waited; older ledgers do not say. */
  WORKFLOW_RESUMED: {
    readonly gate_id: string | null;
    readonly step_id: string | null;
    readonly principal?: Principal;
    readonly feedback?: string;
  };
  WORKFLOW_RESTARTED: {
    readonly run: number;
    readonly step_ids: readonly string[];
    readonly mode: "resume_failed_steps" | "regenerate";
    readonly principal: Principal | null;
    readonly feedback?: string | null;
  };
  WORKFLOW_COMPLETED: {
    readonly text: string;
    readonly confidence: string;
    readonly grounding: string;
    readonly warnings: readonly KernelError[];
    readonly duration_ms: number;
  };
  WORKFLOW_FAILED: {
    readonly error: KernelError;
    readonly status: "empty_plan" | "blocked" | "failed";
    readonly category: string;
    readonly duration_ms: number;
  };
  /** A person ends it; it has ended once the end of each call is known that may have an effect and may not be repeated. */
  WORKFLOW_CANCELLING: { readonly reason: string; readonly principal: Principal };
  WORKFLOW_CANCELLED: {
    readonly reason: string;
    readonly error: KernelError | null;
    readonly principal: Principal | null;
    readonly duration_ms: number;
  };
  STEP_QUEUED: { readonly name: string; readonly operator: string };
  STEP_STARTED: { readonly run: number };
  STEP_SUCCEEDED: {
    readonly action_id: string | null;
    readonly output: Json;
    readonly output_text: string;
    readonly status: StepStatus;
    readonly cost: number;
  };
  STEP_FAILED: { readonly error: KernelError; readonly category: string; readonly blocked: boolean };
  STEP_SKIPPED: { readonly reason: SkipReason; readonly because: string | null };
  ACTION_STARTED: {
    readonly action_id: string;
    readonly key: string;
    readonly operator_name: string;
    readonly operator_version: string;
    readonly attempt: number;
    readonly payload_hash: string;
    readonly input?: Json;
    readonly timeout_ms: number;
    readonly recovered?: boolean;
    /** Which call of its key this is, counted over all workflows that share the key; absent where none can. */
    readonly claim?: number;
    /** The token this call was admitted as; absent where the record answered and no call was made. */
    readonly token?: { readonly id: number; readonly cost?: number; readonly resources?: ResourceRequest };
    readonly outcome_id: string | null;
  };
  ACTION_SUCCEEDED: {
    readonly action_id: string;
    readonly operator_name: string;
    readonly attempt: number;
    readonly result: Json;
    readonly usage: Usage;
    readonly cached: boolean;
    /** The workflow whose record answered, where that is another. */
    readonly answered_by?: string;
    readonly late: boolean;
    readonly outcome_id: string | null;
  };
  ACTION_FAILED: {
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
  };
  ACTION_RETRY_SCHEDULED: { readonly action_id: string; readonly attempt: number; readonly due_at: string };
  ACTION_IN_DOUBT: { readonly action_id: string; readonly reason: string };
  ACTION_SETTLED: {
    readonly action_id: string;
    readonly resolution: "done" | "retry" | "failed";
    readonly result: Json | null;
  };
  POLICY_DECIDED: PolicyDecision & {
    readonly stage: PolicyStage;
    readonly subject: string;
    readonly payload_hash: string;
    /** At stage gate: whose decision was judged. */
    readonly by?: {
      readonly decision: "approve" | "reject" | "delegate";
      readonly principal: Principal;
      readonly auth: AuthContext;
      /** Of a delegation: to whom. */
      readonly to?: PrincipalRef;
    };
    /** The payload judged, where no other event holds it: a person's edit, masked where policy masks it, or a plan that was denied. */
    readonly payload?: Json;
    /** The instant the question named, where it is not the event's. */
    readonly asked_at?: string;
  };
  GATE_OPENED: { readonly gate: Gate };
  USER_APPROVED: GateDecided;
  USER_REJECTED: GateDecided;
  GATE_DECISION_KEPT: {
    readonly gate_id: string;
    readonly decision: "approve" | "reject";
    readonly principal: Principal;
    readonly auth: AuthContext;
    readonly payload_digest: string;
    readonly apply_targets: readonly string[];
    readonly comment?: string;
    readonly idempotency_key?: string;
  };
  GATE_REVISED: {
    readonly gate: Gate;
    readonly cause: "edit" | "regenerate" | "policy" | "basis";
    readonly principal: Principal | null;
    /** Of an edit that decides nothing, its comment; of any edit, the key of the decision that brought it. */
    readonly comment?: string;
    readonly idempotency_key?: string;
  };
  GATE_EXPIRED: { readonly gate_id: string; readonly action: "deny" | "allow" };
  GATE_ESCALATED: {
    readonly gate_id: string;
    readonly role: string;
    readonly due_at: string | null;
    /** Whether the role is asked in place of those who were asked before. Rows of earlier releases lack it, which replaced. */
    readonly replaces?: boolean;
    /** What is still to come. Rows of earlier releases lack it: all but the first of what was to come before. */
    readonly ladder?: readonly GateExpiry[];
  };
  /** Nobody has decided for so long. `due_at`: when the next reminder falls due. */
  GATE_REMINDED: { readonly gate_id: string; readonly due_at: string };
  GATE_SUSPENDED: { readonly gate_id: string };
  GATE_VOTED: GateVoted;
  GATE_VOTE_WITHDRAWN: { readonly gate_id: string; readonly principal: PrincipalRef };
  GATE_DELEGATED: GateDelegation & { readonly gate_id: string };
  OUTCOME_DRAFTED: { readonly outcome: Outcome; readonly action_id: string | null };
  OUTCOME_FINALIZED: { readonly outcome: Outcome; readonly action_id: string | null };
  OUTPUT_SANITIZED: { readonly reason: string; readonly stage: "output" | "params" | "stream" };
  OUTPUT_UNCHECKED: { readonly checked: number; readonly length: number };
  TEMPLATE_UNRESOLVED: { readonly references: readonly string[] };
  ERROR_ESCALATED: { readonly tier: number; readonly error: KernelError };
  OPERATOR_ALERT: { readonly action_id: string; readonly operator_name: string; readonly error: KernelError };
  MEMORY_WRITTEN: { readonly record: ParsedMemoryRecord };
  /** What came of changes from other replicas; each merged one is a MEMORY_WRITTEN before it in the same row. */
  MEMORY_SYNCED: { readonly report: FederatedSyncReport };
  DOCUMENT_RECORDED: { readonly record: ParsedDocumentRecord };
  STEP_STREAMED: {
    readonly attempt: number;
    readonly sequence: number;
    readonly chunks: readonly string[];
    readonly percent: number | null;
    readonly final: boolean;
  };
  BUDGET_RESERVED: Reservation & { readonly action_id: string };
  BUDGET_SETTLED: Reservation & { readonly action_id: string; readonly reserved: Charge };
  TOKEN_RECORDED: {
    readonly token_id: number;
    readonly kind: TokenEventKind;
    readonly label: string | null;
    readonly detail: JsonObject;
  };
  BUDGET_REFUSED: { readonly error: KernelError };
  ROUTE_DECIDED: RouteAnswer & {
    readonly action_id: string;
    readonly attempt: number;
    readonly request: RouteRequest;
  };
}

export interface GateDecided {
  readonly gate_id: string;
  readonly principal: Principal | null;
  readonly payload_digest: string;
  readonly policy_version: string;
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  /** Absent where the gate rested on nothing that was named. */
  readonly basis_digest?: string;
  readonly edited: boolean;
  readonly resolution: "done" | "retry" | "failed" | null;
  /** With `done`: SHA-256 of the result that ACTION_SETTLED holds. Rows of earlier releases lack it. */
  readonly result_digest?: string;
  readonly apply_targets: readonly string[];
  readonly comment: string | null;
  /** With a quorum: the votes that carried the decision; `principal` is whose vote completed it. */
  readonly carried_by?: readonly GateCarrier[];
  readonly signature?: GateSignature;
  /** The key of the decision that closed the gate, where it had one. */
  readonly idempotency_key?: string;
}

/** One person's vote, bound to what it was given on. */
export interface GateVoted {
  readonly gate_id: string;
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly on_behalf_of: PrincipalRef | null;
  readonly advisory: boolean;
  readonly payload_digest: string;
  readonly policy_version: string;
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  readonly basis_digest?: string;
  readonly signature: GateSignature | null;
  readonly comment: string | null;
  /** Where any are named. */
  readonly apply_targets?: readonly string[];
  /** Of advice on a call in doubt: what became of it, and with `done` what it gave. */
  readonly resolution?: "done" | "retry" | "failed";
  readonly result?: Json;
  /** Where the host says who is one person: the voters that this one was found to be another than. */
  readonly apart_from?: readonly PrincipalRef[];
  /** The key of the decision that this vote was, where it had one. */
  readonly idempotency_key?: string;
}

/** An event before it has an id, a sequence and a place: what a turn decides. */
export type EventDraft = {
  [T in keyof EventPayloads]: {
    readonly type: T;
    readonly step_id: string | null;
    readonly payload: EventPayloads[T];
    /** Of a reservation: what the store holds its counters to. No part of the event. */
    readonly ceilings?: readonly Ceiling[];
  };
}[keyof EventPayloads];

export function draft<T extends keyof EventPayloads>(
  type: T,
  payload: EventPayloads[T],
  stepId: string | null = null,
): EventDraft {
  return { type, step_id: stepId, payload } as unknown as EventDraft;
}

/** Narrows a read event to its payload. */
export function payloadOf<T extends keyof EventPayloads>(event: LedgerEvent, _type: T): EventPayloads[T] {
  return event.payload as unknown as EventPayloads[T];
}
