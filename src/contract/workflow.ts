/**
 * A workflow as folded from its ledger: the record that decisions are made on. What callers see: workflow-state.ts.
 *
 * Owns: the shape. `machines/fold.ts` fills it; nothing else writes it.
 * 1.  Everything here can be rebuilt from the workflow's events alone.
 */
import type { ActionRecord } from "./action.ts";
import type { AuthContext } from "./auth-context.ts";
import type { ContextBundle } from "./context-bundle.ts";
import type { KernelError } from "./error.ts";
import { kernelError } from "./error-codes.ts";
import type { GateDecided, LedgerEvent } from "./event.ts";
import { type Gate, isOpenGate } from "./gate.ts";
import type { PrincipalRef } from "./gate-vote.ts";
import type { Intent, Principal } from "./intent.ts";
import type { Json } from "./json.ts";
import type { ModuleRef } from "./module-ref.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { PolicyDecision } from "./policy.ts";
import type { WorkflowStateName } from "./progress.ts";
import type { StepState, StepStatus } from "./step.ts";
import type { CapabilityUsage, ResourceRequest } from "./token.ts";
import type { AttemptTrace } from "./trace.ts";
import { isWorking, type SkipReason, type StepPhase } from "./workflow-state.ts";

export interface StepRecord {
  readonly step: PlanStep;
  readonly plan_id: string;
  state: StepState;
  phase: StepPhase | null;
  run: number;
  /** Attempts of this run. */
  attempt: number;
  attempts: AttemptTrace[];
  /** What policy said last of its call; `asked_at` is the ISO instant of the question. */
  decision: (PolicyDecision & { payload_hash: string; asked_at: string }) | null;
  action_id: string | null;
  retry_due: string | null;
  output: Json;
  output_text: string;
  status: StepStatus | null;
  error: KernelError | null;
  blocked: boolean;
  skip_reason: SkipReason | null;
  /** What a person said of the lost call, until it is begun again. */
  settled: "done" | "retry" | "failed" | null;
  /** The workflow whose record answered this run's call, where that is another. */
  answered_by: string | null;
  doubts: number;
  /** The token of the attempt that is queued or under way; null before the step is queued. */
  token_id: number | null;
  /** Whether that token has started: a further start is a token of its own. */
  token_started: boolean;
  /** What an attempt saved of its work for the one after it. */
  checkpoint: Json;
  /** What this run's calls have cost: the consumed part of the token's own budget. */
  token_cost: number;
  started_at: string | null;
  finished_at: string | null;
  input: Json;
  /** It is on record that references of its params could not be resolved. */
  unresolved: boolean;
  policy_events: Json[];
  approval_events: Json[];
}

/** The idempotency record of one key: the action ledger's row plus what the machine needs. */
export interface ActionEntry {
  readonly record: ActionRecord;
  /** `seen` is the state of the action machine. */
  seen: "unseen" | "running" | "succeeded" | "failed_retryable" | "failed_final" | "in_doubt";
}

/** A model call that was routed. */
export interface RoutedCall {
  readonly action_id: string;
  readonly attempt: number;
  readonly endpoint: string;
  /** Set aside of the endpoint's tokens until the call says what it used. */
  readonly reserved_tokens: number;
}

export interface KeptDecision {
  readonly decision: "approve" | "reject";
  readonly payload_digest: string;
  readonly auth: AuthContext;
  readonly decided: GateDecided;
}

/** How the steps stand together (`machines/fold-standing.ts`). */
export interface Standing {
  /** Where a step stands in the newest plan. */
  places: ReadonlyMap<string, number>;
  /** Steps that run, of any plan. */
  readonly running: Set<string>;
  /** Each step whose state changed, in order: who keeps a view of the steps reads on from where it was. */
  readonly moved: string[];
  /** Weight of what has succeeded, and of all that counts. */
  done: number;
  total: number;
}

export interface WorkflowRecord {
  readonly tenant_id: string | number;
  readonly workflow_id: string;
  readonly thread_id: string | number | null;
  readonly correlation_id: string;
  readonly intent: Intent;
  readonly auth: AuthContext;
  /** Calls of the work made again that were answered with what is of no use, as whoever began this could know. */
  readonly spent_calls: readonly string[];
  /** The workflow whose work it does again; null where it does none again. */
  readonly regenerated_from: string | null;
  /** Whether its first event names those who asked for the work that it makes again. */
  readonly knowsLineage: boolean;
  /** Who asked for the work, oldest first: who submitted, regenerated, retried or edited, here and in what it makes again. */
  requesters: readonly PrincipalRef[];
  readonly pipeline: string;
  /** In a workflow that makes another one's work again: the steps that are made anew. */
  readonly regenerate: readonly string[];
  readonly accepted_at: string;
  /** When this run began: with the request, or with the retry that began it. */
  run_began_at: string;
  /** What a retry said about the work that is done again. */
  feedback: string | null;
  plan_id: string;
  sequence: number;
  state: WorkflowStateName;
  bundle: ContextBundle | null;
  plan: Plan | null;
  plans: Plan[];
  round: number;
  run: number;
  draft_version: number;
  steps: Map<string, StepRecord>;
  readonly standing: Standing;
  gates: Map<string, Gate>;
  /** Decisions ahead of their gate, oldest first. */
  kept: Map<string, readonly KeptDecision[]>;
  /** The gate that each decision with an idempotency key reached, by `decisionKeyOf` its sender and its key. */
  readonly decision_keys: Map<string, string>;
  actions: Map<string, ActionEntry>;
  /** Idempotency key → action id. */
  keys: Map<string, string>;
  /** Outcome id → versions, oldest first. */
  outcomes: Map<string, Outcome[]>;
  spent: number;
  /** Model calls in the order of their decisions. */
  routes: RoutedCall[];
  /** Tokens scheduled so far, which is the id of the last. */
  tokens: number;
  /** Calls admitted so far: what was found to fit holds while this stands still. */
  admitted: number;
  /** What calls have used, by registered name and in all. */
  readonly used: { readonly capabilities: Map<string, CapabilityUsage>; resources: ResourceRequest };
  budget_refused: KernelError | null;
  /** Who ends it, and why, once that is said. */
  cancelling: { readonly reason: string; readonly principal: Principal } | null;
  streamed: number;
  text: string;
  warnings: KernelError[];
  error: KernelError | null;
  status: "running" | "waiting" | "completed" | "empty_plan" | "blocked" | "failed" | "cancelled";
  started_at: string | null;
  finished_at: string | null;
  updated_at: string;
  last_event: LedgerEvent | null;
}

/** A person has ended it, whether or not the end of each of its calls is known. */
export const isCancelled = (state: WorkflowStateName): boolean => state === "cancelling" || state === "cancelled";

export const isTerminal = (state: WorkflowStateName): boolean =>
  state === "completed" || state === "failed" || state === "cancelled";
/** It has ended, or waits for a person, or for whoever goes on with what a person has decided. */
export const isAtRest = (state: WorkflowStateName): boolean => isTerminal(state) || asks.has(state);
const asks: ReadonlySet<WorkflowStateName> = new Set(["waiting_for_user", "cancelling"]);
/** Nothing more happens by itself: it has ended, or somebody is asked. Between a decision and what follows from it, nobody is. */
export const isSettled = (state: WorkflowStateName, gates: Iterable<Pick<Gate, "status">>): boolean =>
  isTerminal(state) || (asks.has(state) && [...gates].some(isOpenGate));
/** The steps of the newest plan, in its order. */
export const stepsOf = ({ plan, steps }: Pick<WorkflowRecord, "plan" | "steps">): readonly StepRecord[] =>
  (plan?.steps ?? []).flatMap(({ step_id }) => steps.get(step_id) ?? []);
/** The first of what a step depends on that has not succeeded. */
export const unmetOf = ({ steps }: Pick<WorkflowRecord, "steps">, { depends_on }: PlanStep): string | undefined =>
  depends_on.find((id) => steps.get(id)?.state !== "succeeded");
/** Returns whether a step can go on now, or start. */
export function isRunnable({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">, of: StepRecord): boolean {
  const { state, phase, step } = of;
  if (state === "running") return isWorking(phase) || phase === "backing_off";
  return state === "queued" && standing.places.has(step.step_id) && unmetOf({ steps }, step) === undefined;
}
/**
 * Returns how much of the plan's weight is done, rounded; 100 exactly when all is, short of it below.
 * Counted: steps that succeeded in any round, and those of the newest plan that were not dropped.
 */
export function percentOf({ state, standing: { done, total } }: Pick<WorkflowRecord, "standing" | "state">): number {
  if (state === "completed") return 100;
  if (total === 0) return 0;
  if (done === total && state !== "failed" && !isCancelled(state)) return 100;
  return Math.min(99, Math.round((100 * done) / total));
}

/** Steps that succeeded in any round, and those of the newest plan. */
export function effectiveSteps({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">): readonly StepRecord[] {
  return [...steps.values()].filter((step) => step.state === "succeeded" || standing.places.has(step.step.step_id));
}

export const isStepDone = (state: StepState): boolean =>
  state === "succeeded" || state === "failed" || state === "skipped";

/** What is said of a workflow that is not there, and of another tenant's. */
export const workflowNotFound = (workflow_id: string, source: ModuleRef): KernelError =>
  kernelError("T4_WORKFLOW_NOT_FOUND", `there is no workflow ${workflow_id}`, source, { detail: { workflow_id } });
