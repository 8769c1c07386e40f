/**
 * A workflow as folded from its ledger: the record that decisions are based on. Callers see `workflow-state.ts`.
 *
 * Owns: the shape. `machines/fold.ts` fills it; nothing else writes it.
 * 1.  Everything here can be rebuilt from the workflow's events alone.
 */
import type { ActionRecord } from "./action.ts";
import type { KeptInput } from "./added-input.ts";
import type { AuthContext } from "./auth-context.ts";
import type { ChildEnd, ParentLink } from "./child.ts";
import type { Compensated } from "./compensation.ts";
import type { ContextBundle } from "./context-bundle.ts";
import type { KernelError } from "./error.ts";
import { kernelError } from "./error-codes.ts";
import type { GateDecided, LedgerEvent } from "./event.ts";
import type { StepParked, StepResumed } from "./events/step-events.ts";
import type { WorkflowCancelling, WorkflowCompensating } from "./events/workflow-events.ts";
import type { TakenRecord } from "./fork.ts";
import { type Gate, isOpenGate } from "./gate.ts";
import type { PrincipalRef } from "./gate-vote.ts";
import type { Intent, Principal } from "./intent.ts";
import type { Json } from "./json.ts";
import type { KeptDrafts } from "./kept-draft.ts";
import type { ModuleRef } from "./module-ref.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { PolicyDecision } from "./policy.ts";
import type { WorkflowStateName } from "./progress.ts";
import type { Debounced, InFlightWait, QueueStanding } from "./queue.ts";
import type { StepState, StepStatus } from "./step.ts";
import { type Added, countItems, type ItemCounts, isGroupOver, roomIn, type StepGroup } from "./step-group.ts";
import type { CapabilityUsage, ResourceRequest } from "./token.ts";
import type { AttemptTrace } from "./trace.ts";
import { isWorking, type Pause, type SkipReason, type StepPhase } from "./workflow-state.ts";

export interface StepRecord {
  readonly step: PlanStep;
  readonly plan_id: string;
  /** The step that added this one, and its item; null for a step that the plan's author wrote. */
  readonly added: Added | null;
  state: StepState;
  phase: StepPhase | null;
  run: number;
  /** Attempts of this run. */
  attempt: number;
  attempts: AttemptTrace[];
  /** The last policy decision on its call, the ISO instant of the question, and the gate and the money spent then. */
  decision: (PolicyDecision & { payload_hash: string; asked_at: string }) | null;
  decided_on: { readonly gate: Gate | undefined; readonly spent: number } | null;
  action_id: string | null;
  retry_due: string | null;
  /** The last wait of this run; null if it never parked. */
  parked: StepParked | null;
  /** The end of that wait; null before. */
  resumed: StepResumed | null;
  /** The events from outside that it did not take, because their payloads have another form than it asks. */
  passed: string[];
  /** The answer to this run's wait at its one-time address; null if there is none. */
  answer: { readonly payload: Json } | null;
  /** The child workflow of its last run, and its end if that is known; null if there is none. */
  child: { readonly workflow_id: string; readonly end: ChildEnd | null } | null;
  output: Json;
  output_text: string;
  status: StepStatus | null;
  error: KernelError | null;
  blocked: boolean;
  skip_reason: SkipReason | null;
  /** The end of a call in doubt as a person stated it, until the call is started again. */
  settled: "done" | "retry" | "failed" | null;
  /** The other workflow whose record answered this run's call; null if there is none. */
  answered_by: string | null;
  /** Whether that workflow has left the work, so that this one takes it over, and undoes it if need be. */
  takes_over: boolean;
  doubts: number;
  /** The token of the attempt that is queued or under way; null before the step is queued. */
  token_id: number | null;
  /** Whether that token has started: a further start draws a token of its own. */
  token_started: boolean;
  /** The checkpoint that an attempt saved for the next one. */
  checkpoint: Json;
  /** The halts that keep it from calling its operator; null if there are none. */
  held: readonly string[] | null;
  /** The cost of this run's calls: the consumed part of the token's own budget. */
  token_cost: number;
  started_at: string | null;
  finished_at: string | null;
  input: Json;
  /** It is on record that references of its params could not be resolved. */
  unresolved: boolean;
  policy_events: Json[];
  approval_events: Json[];
}

/** The idempotency record of one key: the action ledger's row and the state of the machine. */
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
  /** The endpoint's tokens that are reserved until the call reports its usage. */
  readonly reserved_tokens: number;
}

export interface KeptDecision {
  readonly decision: "approve" | "reject";
  readonly payload_digest: string;
  readonly auth: AuthContext;
  readonly decided: GateDecided;
}

/** The summary of the steps' states (`machines/fold-standing.ts`). */
export interface Standing {
  /** The index of each step in the newest plan. */
  places: Map<string, number>;
  /** The steps of all plans, in order, without those that steps have added. */
  readonly planned: Set<string>;
  /** The steps that each step has added, by the id of that step. */
  readonly groups: Map<string, StepGroup>;
  /** Steps that run, of any plan. */
  readonly running: Set<string>;
  /** Each step whose state changed, in order: a view of the steps continues to read from its last index. */
  readonly moved: string[];
  /** Each step that has succeeded, in order. One that succeeded again stands there once more. */
  readonly succeeded: string[];
  /** The weight of the succeeded steps, and of all that count. */
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
  /** The keys of calls of the repeated work that succeeded with an unusable result, as known at the request. */
  readonly spent_calls: readonly string[];
  /** The workflow whose work this one repeats; null if there is none. */
  readonly regenerated_from: string | null;
  /** The step that began the workflow as its child; null if a request did. */
  readonly parent: ParentLink | null;
  /** The part of another workflow's record that it takes over; null if it is no fork. */
  readonly fork: TakenRecord | null;
  /** The workflows that take over its record, oldest first. */
  readonly forks: string[];
  /** Whether its first event names those who requested the work that it repeats. */
  readonly knowsLineage: boolean;
  /** Those who requested the work, oldest first, here and in the repeated workflows: also who retried or edited it. */
  requesters: readonly PrincipalRef[];
  readonly pipeline: string;
  /** The steps that are made anew, in a workflow that repeats another one's work. */
  readonly regenerate: readonly string[];
  /** The versions of steps that the repeated work has made; null if none is repeated, and in older ledgers. */
  readonly kept_drafts: KeptDrafts | null;
  readonly accepted_at: string;
  /** The ISO instant before which the work does not begin; null if it begins at once. */
  readonly start_at: string | null;
  /** The start of this run: the request, or the retry that began it. */
  run_began_at: string;
  /** The feedback of a retry on the repeated work. */
  /** The principal who asked for the last restart, until one is recorded; null before. */
  restarted_by: Principal | null;
  feedback: string | null;
  plan_id: string;
  sequence: number;
  state: WorkflowStateName;
  bundle: ContextBundle | null;
  plan: Plan | null;
  plans: Plan[];
  round: number;
  /** Messages that were added, oldest first; without `follows` until the plan is there that was being made. */
  inputs: readonly KeptInput[];
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
  /** The number of calls admitted so far: an admission check that succeeded holds while this number does not change. */
  admitted: number;
  /** The usage of calls, by registered name and in all. */
  readonly used: { readonly capabilities: Map<string, CapabilityUsage>; resources: ResourceRequest };
  budget_refused: KernelError | null;
  /** The order of the person who cancels it, once it is recorded. */
  cancelling: WorkflowCancelling | null;
  /** The end to which it comes once the steps that it names are undone; null if nothing is undone. */
  compensating: WorkflowCompensating | null;
  /** The part of what it had done that is undone; null if it has not ended, or had nothing to undo. */
  compensated: Compensated | null;
  /** The order of the person who had it rolled back after it had ended; null if nobody did. */
  rolled_back: Pause | null;
  /** The pause that holds; null if there is none. A cancellation and any end of the workflow end it. */
  paused: Pause | null;
  /** The halts that hold it as a whole; null if there are none. */
  held: readonly string[] | null;
  /** The wait for a place among `limits.maxInFlight` with which it was accepted; null if it had one at once. */
  readonly in_flight: InFlightWait | null;
  /** The wait for a newer request of its queue and key; null if it waits for none. */
  readonly debounced: Debounced | null;
  /** Whether it has superseded those that waited before it. */
  has_superseded: boolean;
  /** Whether it waits in its queue, or has a place there; null before it has asked for one, and once it has ended. */
  place: QueueStanding["place"];
  /** The ISO instant since which it waits in its queue; null if it does not. */
  queued_at: string | null;
  /** Whether it was ever held back: what ends it then also takes it out of the index of holds. */
  was_held: boolean;
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

/** Returns whether a person has cancelled it, whether or not the end of each of its calls is known. */
export const isCancelled = (state: WorkflowStateName): boolean => state === "cancelling" || state === "cancelled";

export const isTerminal = (state: WorkflowStateName): boolean =>
  state === "completed" || state === "failed" || state === "cancelled";
/** Returns whether it has ended, or waits: for a person, for the continuation after a decision, or parked. */
export const isAtRest = (state: WorkflowStateName): boolean =>
  isTerminal(state) || asks.has(state) || state === "waiting";
const asks: ReadonlySet<WorkflowStateName> = new Set(["waiting_for_user", "cancelling"]);
/**
 * Returns whether nothing more happens by itself: it has ended, is paused, or a person is asked. Between a decision and
 * its consequences, nobody is asked.
 */
export const isSettled = ({ state, paused, gates }: Settling): boolean =>
  isTerminal(state) || paused !== null || (asks.has(state) && [...gates].some(isOpenGate));
interface Settling extends Pick<WorkflowRecord, "state" | "paused"> {
  readonly gates: Iterable<Pick<Gate, "status">>;
}
/** Returns the steps that undo others, and the questions about them, in the order in which they were added. */
export const undoingSteps = ({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">): readonly StepRecord[] =>
  [...steps.values()].filter(({ added }) => added !== null && standing.groups.get(added.of)?.undoes === true);
/** Returns the steps of the newest plan, in its order. */
export const stepsOf = ({ plan, steps }: Pick<WorkflowRecord, "plan" | "steps">): readonly StepRecord[] =>
  (plan?.steps ?? []).flatMap(({ step_id }) => steps.get(step_id) ?? []);
/** Returns the steps of all plans, without those that steps have added. */
export function* plannedSteps({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">): Iterable<StepRecord> {
  for (const id of standing.planned) {
    const step = steps.get(id);
    if (step !== undefined) yield step;
  }
}
/** Returns the steps that wait for a time, an event or another workflow. */
export function parkedSteps({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">): readonly StepRecord[] {
  const parked: StepRecord[] = [];
  for (const id of standing.running) {
    const step = steps.get(id);
    if (step?.phase === "parked") parked.push(step);
  }
  return parked;
}
const leavesOut: ReadonlySet<SkipReason | null> = new Set<SkipReason>(["condition", "expired", "declined"]);
/**
 * Returns whether a step was left out by its own condition, the end of its wait, or a rejection after which the plan
 * goes on: those that depend on it go on all the same.
 */
export const isLeftOut = (step: Pick<StepRecord, "skip_reason"> | undefined): boolean =>
  leavesOut.has(step?.skip_reason ?? null);
/** Returns whether a step is through as those that depend on its success need it: it succeeded, or was left out. */
export const isThrough = (step: StepRecord | undefined): boolean => step?.state === "succeeded" || isLeftOut(step);
/**
 * Returns whether a step that did not succeed is answered for: a step that waited for any end of it has succeeded, and
 * nobody refused it.
 */
export function isHandled(of: StepRecord, steps: readonly StepRecord[]): boolean {
  const { step, state, blocked, skip_reason } = of;
  if (blocked || (state === "skipped" && skip_reason !== "dependency_failed")) return false;
  return steps.some((join) => join.state === "succeeded" && join.step.settled?.includes(step.step_id) === true);
}
/** Returns whether a dependency of a step is met: it is through, or has ended if the step waits for any end of it. */
export const isMet = ({ steps }: Pick<WorkflowRecord, "steps">, { settled = [] }: PlanStep, id: string): boolean => {
  const step = steps.get(id);
  return isThrough(step) || (step !== undefined && isStepDone(step.state) && settled.includes(id));
};
/** Returns the first dependency of a step that is not met. */
export const unmetOf = (record: Pick<WorkflowRecord, "steps">, step: PlanStep): string | undefined =>
  step.depends_on.find((id) => !isMet(record, step, id));
/** Returns whether a workflow as a whole begins nothing: a person, a halt or its queue holds it back. */
export const isHeldBack = ({ paused, held, place }: Pick<WorkflowRecord, "paused" | "held" | "place">): boolean =>
  paused !== null || held !== null || place === "waiting";
const calls: ReadonlySet<StepPhase | null> = new Set<StepPhase>(["judging", "calling", "backing_off"]);
/** Returns whether a halt keeps a running step from its call. What follows from a call that has ended goes on. */
export const isHeld = ({ state, phase, held }: StepRecord): boolean =>
  held !== null && state === "running" && calls.has(phase);
/** Returns whether a step can go on now, or start. */
export function isRunnable({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">, of: StepRecord): boolean {
  const { state, phase, step, added } = of;
  if (isHeld(of)) return false;
  if (state === "running") return isWorking(phase) || phase === "backing_off" || hasAddedAll({ standing }, of);
  if (added !== null && !mayAnyBegin({ steps }, standing.groups.get(added.of))) return false;
  return state === "queued" && standing.places.has(step.step_id) && unmetOf({ steps }, step) === undefined;
}
/** Returns whether any step of the plan can go on now or start, or any that a step has added. */
export function isAnyRunnable(record: Pick<WorkflowRecord, "steps" | "standing">): boolean {
  for (const step of plannedSteps(record)) if (isRunnable(record, step)) return true;
  for (const id of record.standing.running) {
    const step = record.steps.get(id);
    if (step !== undefined && isRunnable(record, step)) return true;
  }
  for (const group of record.standing.groups.values()) if (mayAnyBegin(record, group)) return true;
  return false;
}
/** Returns whether a step that another one has added may begin. */
export function mayAnyBegin({ steps }: Pick<WorkflowRecord, "steps">, group: StepGroup | undefined): boolean {
  const owner = steps.get(group?.of ?? "");
  if (group === undefined || owner === undefined) return false;
  return group.counts.queued > 0 && roomIn(group, owner) > 0;
}
/** Returns the steps that a step has added, in their order. */
export function* addedBy({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">, of: string) {
  for (const id of standing.groups.get(of)?.ids.values() ?? []) {
    const step = steps.get(id);
    if (step !== undefined) yield step;
  }
}
/** Returns the counts of the items or rounds that a step has added; null if there are none. */
export function itemsOf({ standing }: Pick<WorkflowRecord, "standing">, { step }: StepRecord): ItemCounts | null {
  const group = standing.groups.get(step.step_id);
  return group === undefined || group.undoes ? null : countItems(group);
}
/** Returns the steps that a step has added and that have failed. */
export const failedOf = (record: Pick<WorkflowRecord, "steps" | "standing">, { step }: StepRecord): StepRecord[] =>
  [...addedBy(record, step.step_id)].filter(({ state }) => state === "failed");
/** Returns whether a step waits for the steps that it has added, and the last of them has ended. */
export function hasAddedAll(
  { standing }: Pick<WorkflowRecord, "standing">,
  { step, phase, parked }: StepRecord,
): boolean {
  if (phase !== "parked" || parked?.source !== "items") return false;
  const group = standing.groups.get(step.step_id);
  return group === undefined || isGroupOver(group, step);
}
/**
 * Returns how much of the plan's weight is done, rounded; 100 exactly when all is, short of it below.
 * Counted: steps that succeeded in any round, and those of the newest plan that were not dropped.
 */
export function percentOf({ state, steps, standing }: Pick<WorkflowRecord, "standing" | "state" | "steps">): number {
  const { total, groups } = standing;
  if (state === "completed") return 100;
  if (total === 0) return 0;
  let { done } = standing;
  for (const { of, as, ids, counts } of groups.values()) {
    const owner = steps.get(of);
    if (as === "item" && owner?.state === "running" && ids.size > 0)
      done += (owner.step.weight * (counts.succeeded + counts.failed + counts.skipped)) / (ids.size + 1);
  }
  if (done === total && state !== "failed" && state !== "compensating" && !isCancelled(state)) return 100;
  return Math.min(99, Math.round((100 * done) / total));
}

/** Steps that succeeded in any round, and those of the newest plan. */
export function effectiveSteps({ steps, standing }: Pick<WorkflowRecord, "steps" | "standing">): readonly StepRecord[] {
  return [...plannedSteps({ steps, standing })].filter(
    (step) => step.state === "succeeded" || standing.places.has(step.step.step_id),
  );
}

/** Returns whether a step is a wait with a one-time address. */
export const hasToken = ({ step }: Pick<StepRecord, "step">): boolean =>
  step.kind === "wait" && step.params["token"] === true;

/** Returns when people are reminded of a step's wait next, epoch ms; infinity for never. */
export function waitRemindedAt({ phase, parked }: Pick<StepRecord, "phase" | "parked">): number {
  const due = phase === "parked" && parked !== null && "reminder" in parked ? parked.reminder?.due_at : null;
  return due == null ? Number.POSITIVE_INFINITY : Date.parse(due);
}

export const isStepDone = (state: StepState): boolean =>
  state === "succeeded" || state === "failed" || state === "skipped";

/** Returns the error for a workflow that does not exist, which is also the error for another tenant's. */
export const workflowNotFound = (workflow_id: string, source: ModuleRef): KernelError =>
  kernelError("T4_WORKFLOW_NOT_FOUND", `there is no workflow ${workflow_id}`, source, { detail: { workflow_id } });
