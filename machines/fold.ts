/**
 * The fold: a workflow's record from its ledger events. Live state, recovery, explain and replay all come through here.
 *
 * Owns: the one place where an event changes a record. Never: decides, reads a clock, does IO.
 * 1.  States move by the charts of this folder and by nothing else; an event that a chart does not accept changes no
 *     state and is refused before it is appended (`acceptsEvent`).
 * 2.  A record belongs to one turn at a time and is changed in place; a failed commit drops it and folds again.
 * 3.  An event type without a handler is a fact that reaches no record but its position.
 */
import type { EventPayloads, LedgerEvent } from "../src/contract/event.ts";
import type { Json } from "../src/contract/json.ts";
import type { Outcome } from "../src/contract/outcome.ts";
import type { WorkflowStateName } from "../src/contract/progress.ts";
import type { ActionEntry, StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";
import { chartEvent, lifecycleCharts } from "./charts.ts";
import { addSteps } from "./fold-added.ts";
import { endHandlers } from "./fold-ends.ts";
import { gateHandlers, gateShowing, keepDenial, voidGates } from "./fold-gates.ts";
import {
  addAttempt,
  addRequester,
  beginRecord,
  endAttempt,
  type Folded,
  type Handler,
  moveStep,
  newStep,
  restartStep,
  startAction,
  updateAction,
} from "./fold-records.ts";
import { countAgain, countSkip } from "./fold-standing.ts";
import {
  addCost,
  chargeCall,
  chargeCapability,
  chargeChild,
  scheduleAttempt,
  scheduleToken,
  startToken,
} from "./fold-usage.ts";
import { placeInputs, waitHandlers } from "./fold-waits.ts";
import type { ChartEvent } from "./table.ts";

/** The members that records of schema version 1.0 may lack (SCH-06): the schemas' defaults, without their parsing. */
const optionalInDecisions = { policies: [], policy_version: "1" };
const withDefaults = (payload: EventPayloads["POLICY_DECIDED"]): EventPayloads["POLICY_DECIDED"] =>
  payload.policies !== undefined && payload.policy_version !== undefined
    ? payload
    : { ...optionalInDecisions, ...payload };
const optionalInOutcomes = { draft_version: 1, step_id: null };

/** Returns a workflow's record from its first event on; null if there is none (or only a refusal). */
export function foldEvents(events: Iterable<LedgerEvent>): WorkflowRecord | null {
  let record: WorkflowRecord | null = null;
  for (const event of events) record = foldWorkflow(record, event);
  return record;
}

/** Returns the record of a workflow after this event. */
export function foldWorkflow(record: WorkflowRecord | null, event: LedgerEvent): WorkflowRecord | null {
  if (event.event_type === "INTENT_RECEIVED") return beginRecord(event);
  if (record === null) return null;
  const meta = {
    type: event.event_type,
    step_id: event.step_id,
    at: event.timestamp,
    plan_id: event.plan_id ?? record.plan_id,
  };
  moveWorkflow(record, event);
  const handler = handlers[event.event_type as keyof typeof handlers] as Handler<never> | undefined;
  handler?.(record, event.payload as never, meta);
  record.sequence = event.sequence;
  record.updated_at = event.timestamp;
  record.last_event = event;
  return record;
}

function moveWorkflow(record: WorkflowRecord, event: LedgerEvent): void {
  const next = lifecycleCharts.workflow.next(record.state, chartEvent(event.event_type, event.payload));
  if (next !== undefined) record.state = next as WorkflowStateName;
}

function moveAction(record: WorkflowRecord, actionId: string, event: ChartEvent): ActionEntry | null {
  const entry = record.actions.get(actionId);
  if (entry === undefined) return null;
  entry.seen = (lifecycleCharts.action.next(entry.seen, event) as ActionEntry["seen"] | undefined) ?? entry.seen;
  return entry;
}

/** Returns whether the step has just begun an attempt without a call: its failure is the attempt's alone. */
const madeNoCall = ({ last_event }: WorkflowRecord, { step_id }: Folded): boolean =>
  last_event?.event_type === "ACTION_STARTED" &&
  last_event.step_id === step_id &&
  last_event.payload["token"] === undefined;

/** Counts a round of planning, which is a token of its own, and a call of the package. */
function planned(record: WorkflowRecord): void {
  scheduleToken(record);
  chargeCapability(record, record.intent.type, 0);
}

const handlers: { readonly [T in keyof EventPayloads]?: Handler<T> } = {
  ...gateHandlers,
  ...endHandlers,
  ...waitHandlers,
  CONTEXT_BUILT(record, { bundle }) {
    scheduleToken(record);
    record.bundle = bundle;
  },
  PLAN_REJECTED: planned,
  PLAN_CREATED(record, { plan, planner_cost }) {
    planned(record);
    record.plan = plan;
    record.plans.push(plan);
    record.plan_id = plan.plan_id;
    record.round = plan.round;
    placeInputs(record, plan.steps.at(-1)?.step_id ?? null);
    record.spent = addCost(record.spent, planner_cost);
    for (const step of plan.steps)
      if (!record.steps.has(step.step_id)) record.steps.set(step.step_id, newStep(step, plan.plan_id));
    for (const { step_id } of plan.steps) record.standing.planned.add(step_id);
    rebindSteps(record, plan);
    countAgain(record);
  },
  WORKFLOW_STARTED(record, _p, { at }) {
    record.started_at ??= at;
    record.status = "running";
  },
  WORKFLOW_WAITING(record) {
    record.status = "waiting";
  },
  WORKFLOW_RESUMED(record, { principal, feedback }) {
    addRequester(record, principal);
    record.feedback = feedback ?? record.feedback;
    record.status = "running";
  },
  WORKFLOW_RESTARTED(record, { step_ids, run, feedback, principal }, { type, at }) {
    addRequester(record, principal);
    record.run = run;
    record.run_began_at = at;
    record.restarted_by = principal;
    record.feedback = feedback ?? null;
    record.status = "running";
    record.error = null;
    record.finished_at = null;
    record.budget_refused = null;
    for (const stepId of step_ids) restartStep(record, stepId);
    countAgain(record);
    for (const id of record.actions.keys()) moveAction(record, id, { type });
  },
  WORKFLOW_FORKED(record, { fork }) {
    record.forks.push(fork);
  },
  PLAN_TRUNCATED(record, { warning }) {
    if (warning !== undefined) record.warnings.push(warning);
  },
  WORKFLOW_PAUSED(record, { reason, principal }, { at }) {
    record.paused = { reason, principal, at };
    record.was_held = true;
  },
  WORKFLOW_UNPAUSED(record) {
    record.paused = null;
  },
  WORKFLOW_QUEUED(record, _payload, { at }) {
    record.place = "waiting";
    record.queued_at = at;
  },
  WORKFLOW_DEBOUNCED(record) {
    record.has_superseded = true;
  },
  WORKFLOW_ADMITTED(record) {
    record.place = "taken";
    record.queued_at = null;
  },
  WORK_HELD(record, { halt_ids }, { step_id }) {
    record.was_held = true;
    const of = step_id === null ? record : record.steps.get(step_id);
    if (of !== undefined) of.held = halt_ids;
  },
  WORK_RELEASED(record, _payload, { step_id }) {
    const of = step_id === null ? record : record.steps.get(step_id);
    if (of !== undefined) of.held = null;
  },
  STEP_QUEUED(record, _payload, meta) {
    const step = record.steps.get(meta.step_id ?? "");
    if (step !== undefined) scheduleAttempt(record, step);
  },
  STEP_STARTED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step !== null) step.started_at ??= meta.at;
  },
  STEP_TAKEN_OVER(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    const taken = record.fork?.steps.find(({ step_id }) => step_id === meta.step_id);
    if (step === null || taken === undefined) return;
    const { output, output_text, status } = taken;
    // The workflow that did it undoes it, if need be.
    Object.assign(step, { output, output_text, status, answered_by: payload.from, finished_at: meta.at });
  },
  STEP_SUCCEEDED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    record.spent = addCost(record.spent, payload.cost);
    if (step === null) return;
    Object.assign(step, {
      output: payload.output,
      output_text: payload.output_text,
      status: payload.status,
      finished_at: meta.at,
    });
  },
  STEP_FAILED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step === null) return;
    voidGates(record, meta.type, meta.step_id);
    endAttempt(step, meta.at, { outcome: "failed", error: payload.error, cached: false });
    Object.assign(step, {
      error: payload.error,
      blocked: payload.blocked,
      status: payload.blocked ? "BLOCKED" : "FAILED",
      finished_at: meta.at,
    });
  },
  STEP_SKIPPED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step !== null) voidGates(record, meta.type, meta.step_id);
    if (step === null) return;
    Object.assign(step, { skip_reason: payload.reason, finished_at: meta.at });
    if (payload.output !== undefined) step.output = payload.output as unknown as Json;
    countSkip(record, step);
  },
  STEP_PARKED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step === null) return;
    step.parked = payload;
    if (payload.source === "workflow" && step.child?.workflow_id !== payload.key)
      step.child = { workflow_id: payload.key, end: null };
  },
  STEPS_ADDED: addSteps,
  STEP_RESUMED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step === null) return;
    step.resumed = payload;
    if (payload.by === "workflow" && payload.end !== null) chargeChild(record, step, payload.end);
  },
  POLICY_DECIDED(record, payload, meta) {
    const step = record.steps.get(meta.step_id ?? "");
    // At stage gate policy judges the person who decides, which belongs to the approval's own event.
    if (step === undefined || payload.stage === "gate") return;
    step.policy_events.push({
      stage: payload.stage,
      decision: payload.decision,
      reason: payload.reason,
      policies: payload.policies ?? [],
    });
    if (payload.stage !== "action") return;
    step.decision = { asked_at: meta.at, ...withDefaults(payload) };
    step.decided_on = { gate: gateShowing(record, step.step.step_id, payload), spent: record.spent };
    keepDenial(record, step.step.step_id, { ...payload, at: meta.at });
  },
  ACTION_STARTED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step === null) return;
    Object.assign(step, {
      attempt: payload.attempt,
      action_id: payload.action_id,
      retry_due: null,
      settled: null,
      answered_by: null,
      takes_over: false,
      input: payload.input ?? step.input,
    });
    if (payload.recovered !== true || step.attempts.at(-1)?.outcome !== "running")
      addAttempt(step, payload.attempt, meta.at);
    startAction(record, payload, meta);
    // A start without a token makes no call and does not change the key, unless a record answers it.
    if (payload.token !== undefined) moveAction(record, payload.action_id, { type: meta.type });
    startToken(record, step, payload.token);
    chargeCall(record, step, payload);
  },
  ACTION_SUCCEEDED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step !== null) {
      endAttempt(step, meta.at, { outcome: "succeeded", error: null, cached: payload.cached });
      step.answered_by = payload.answered_by ?? null;
      step.takes_over = payload.takes_over === true;
    }
    if (payload.cached) moveAction(record, payload.action_id, { type: "ACTION_STARTED" });
    const entry = moveAction(record, payload.action_id, { type: meta.type });
    if (entry === null) return;
    const { tokens = null, cost = null, trace = null } = payload.usage;
    const timing = { ...entry.record.timing, finished_at: meta.at };
    record.actions.set(
      payload.action_id,
      updateAction(entry, {
        status: "succeeded",
        result_payload: payload.result,
        error: null,
        timing,
        tokens,
        cost,
        trace,
      }),
    );
  },
  ACTION_FAILED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    const outcome = payload.error.code === "T4_TOOL_TIMEOUT" ? "timed_out" : "failed";
    if (step !== null) endAttempt(step, meta.at, { outcome, error: payload.error, cached: payload.cached });
    if (payload.cached) moveAction(record, payload.action_id, { type: "ACTION_STARTED" });
    const entry = moveAction(record, payload.action_id, chartEvent(meta.type, payload));
    if (entry === null || (entry.seen !== "unseen" && !payload.cached && madeNoCall(record, meta))) return;
    const { tokens = null, cost = null, trace = null } = payload.usage;
    const timing = { ...entry.record.timing, finished_at: payload.pending ? null : meta.at };
    const status = payload.pending ? "running" : "failed";
    record.actions.set(
      payload.action_id,
      updateAction(entry, { status, error: payload.error, timing, tokens, cost, trace }),
    );
  },
  ACTION_RETRY_SCHEDULED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step === null) return;
    step.retry_due = payload.due_at;
    scheduleAttempt(record, step);
  },
  ACTION_IN_DOUBT(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step !== null) step.doubts += 1;
    const entry = moveAction(record, payload.action_id, { type: meta.type });
    if (entry !== null) record.actions.set(payload.action_id, updateAction(entry, { status: "in_doubt" }));
  },
  ACTION_SETTLED(record, payload, meta) {
    const step = moveStep(record, meta, payload);
    if (step !== null) step.settled = payload.resolution;
    if (step !== null)
      endAttempt(step, meta.at, {
        outcome: payload.resolution === "done" ? "succeeded" : "failed",
        error: null,
        cached: false,
      });
    // A late result of the call itself takes precedence over a person's statement.
    const reported = record.actions.get(payload.action_id)?.seen === "succeeded";
    const entry = moveAction(record, payload.action_id, chartEvent(meta.type, payload));
    if (entry === null || reported) return;
    const status = payload.resolution === "done" ? "succeeded" : "failed";
    record.actions.set(payload.action_id, updateAction(entry, { status, result_payload: payload.result }));
  },
  OUTCOME_DRAFTED(record, { outcome }) {
    const { draft_version } = addVersion(record, outcome);
    record.draft_version = Math.max(record.draft_version, draft_version);
  },
  OUTCOME_FINALIZED(record, { outcome }) {
    addVersion(record, outcome);
  },
  STEP_STREAMED(record, { sequence }) {
    record.streamed = Math.max(record.streamed, sequence);
  },
  TOKEN_RECORDED(record, { kind, detail }, { step_id }) {
    const step = record.steps.get(step_id ?? "");
    if (step !== undefined && kind === "snapshot_created")
      step.checkpoint = (detail["state"] ?? null) as StepRecord["checkpoint"];
  },
  TEMPLATE_UNRESOLVED(record, _payload, { step_id }) {
    const step = record.steps.get(step_id ?? "");
    if (step !== undefined) step.unresolved = true;
  },
  BUDGET_REFUSED(record, { error }) {
    record.budget_refused = error;
  },
  ROUTE_DECIDED(record, { action_id, attempt, decision, request }) {
    if (decision === null) return;
    const { name: endpoint } = decision.endpoint;
    record.routes.push({ action_id, attempt, endpoint, reserved_tokens: request.expected_tokens ?? 0 });
  },
};

function addVersion(record: WorkflowRecord, outcome: Outcome): Outcome {
  const versions = record.outcomes.get(outcome.outcome_id) ?? [];
  const added = { ...optionalInOutcomes, ...outcome, version: outcome.version ?? versions.length + 1 };
  record.outcomes.set(outcome.outcome_id, [...versions, added]);
  return added;
}

/** Updates steps that a new plan keeps under their id (never run, or waiting) to the new plan's values. */
function rebindSteps(record: WorkflowRecord, plan: EventPayloads["PLAN_CREATED"]["plan"]): void {
  for (const step of plan.steps) {
    const known = record.steps.get(step.step_id);
    if (known === undefined || known.step === step) continue;
    if (known.state === "queued" || known.state === "running")
      record.steps.set(step.step_id, { ...known, step, plan_id: plan.plan_id });
  }
}
