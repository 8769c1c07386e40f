/**
 * The records that a fold begins with: of a workflow, a step, an attempt, an action; and how a step's record moves.
 */
import type { ActionRecord } from "../src/contract/action.ts";
import type { EventPayloads, LedgerEvent } from "../src/contract/event.ts";
import type { PrincipalRef } from "../src/contract/gate-vote.ts";
import type { WorkflowStateName } from "../src/contract/progress.ts";
import type { Added } from "../src/contract/step-group.ts";
import type { AttemptTrace } from "../src/contract/trace.ts";
import type { ActionEntry, StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";
import { chartEvent, lifecycleCharts, stepAfter } from "./charts.ts";
import { moveTo, newStanding } from "./fold-standing.ts";
import { isSamePrincipal } from "./quorum.ts";

/** The place of an event in its log, as handlers need it. */
export interface Folded {
  readonly type: string;
  readonly step_id: string | null;
  readonly at: string;
  readonly plan_id: string;
}

export type Handler<T extends keyof EventPayloads> = (
  record: WorkflowRecord,
  payload: EventPayloads[T],
  meta: Folded,
) => void;

export function moveStep(record: WorkflowRecord, meta: Folded, payload: object): StepRecord | null {
  const step = record.steps.get(meta.step_id ?? "");
  if (step === undefined) return null;
  const { state, phase } = stepAfter(step, chartEvent(meta.type, payload)) ?? step;
  if (state !== step.state) moveTo(record, step, state);
  step.phase = phase;
  return step;
}

export function beginRecord(event: LedgerEvent): WorkflowRecord {
  const p = event.payload as unknown as EventPayloads["INTENT_RECEIVED"];
  const regenerated_from = p.regenerated_from ?? null;
  return {
    tenant_id: event.tenant_id,
    workflow_id: event.workflow_id as string,
    thread_id: event.thread_id,
    correlation_id: event.correlation_id,
    intent: p.intent,
    auth: p.auth,
    regenerated_from,
    parent: p.parent ?? null,
    fork: p.fork ?? null,
    forks: [],
    knowsLineage: regenerated_from === null || p.requesters !== undefined,
    requesters: withPerson(p.requesters ?? [], p.intent.actor),
    pipeline: p.pipeline ?? "standard",
    regenerate: p.regenerate ?? [],
    kept_drafts: p.kept_drafts ?? null,
    accepted_at: event.timestamp,
    start_at: p.start_at ?? null,
    run_began_at: event.timestamp,
    restarted_by: null,
    feedback: p.feedback ?? null,
    spent_calls: p.spent_calls ?? [],
    plan_id: p.plan_id,
    sequence: event.sequence,
    state: lifecycleCharts.workflow.initial as WorkflowStateName,
    bundle: null,
    plan: null,
    plans: [],
    inputs: [],
    round: 0,
    run: 1,
    draft_version: p.draft_version ?? 1,
    steps: new Map(),
    standing: newStanding(),
    gates: new Map(),
    kept: new Map(),
    decision_keys: new Map(),
    actions: new Map(),
    keys: new Map(),
    outcomes: new Map(),
    spent: p.parent?.spent ?? 0,
    routes: [],
    // The Perception token: taking the request in was the first piece of work.
    tokens: 1,
    admitted: 0,
    used: { capabilities: new Map(), resources: { cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 } },
    budget_refused: null,
    cancelling: null,
    compensating: null,
    compensated: null,
    rolled_back: null,
    paused: null,
    held: null,
    ...{ in_flight: p.in_flight ?? null, place: null, queued_at: null },
    ...{ debounced: p.debounced ?? null, has_superseded: false },
    was_held: false,
    streamed: 0,
    text: "",
    warnings: [...(p.warnings ?? [])],
    error: null,
    status: "running",
    started_at: null,
    finished_at: null,
    updated_at: event.timestamp,
    last_event: event,
  };
}

/** Adds a person; events of older ledgers may name nobody. */
function withPerson(people: readonly PrincipalRef[], person: PrincipalRef | null | undefined): readonly PrincipalRef[] {
  if (person == null || people.some((one) => isSamePrincipal(one, person))) return people;
  return [...people, { type: person.type, id: person.id }];
}

/** Adds a person who regenerated, retried or edited to the requesters of the work. */
export function addRequester(record: WorkflowRecord, person: PrincipalRef | null | undefined): void {
  record.requesters = withPerson(record.requesters, person);
}

export function newStep(step: StepRecord["step"], planId: string, added: Added | null = null): StepRecord {
  return {
    step,
    plan_id: planId,
    added,
    state: "queued",
    phase: null,
    run: 1,
    attempt: 0,
    attempts: [],
    decision: null,
    decided_on: null,
    action_id: null,
    retry_due: null,
    parked: null,
    resumed: null,
    passed: [],
    answer: null,
    child: null,
    output: null,
    output_text: "",
    status: null,
    error: null,
    blocked: false,
    skip_reason: null,
    settled: null,
    answered_by: null,
    takes_over: false,
    doubts: 0,
    token_id: null,
    token_started: false,
    checkpoint: null,
    held: null,
    token_cost: 0,
    started_at: null,
    finished_at: null,
    input: null,
    unresolved: false,
    policy_events: [],
    approval_events: [],
  };
}

export function addAttempt(step: StepRecord, attempt: number, at: string): void {
  const open: AttemptTrace = {
    attempt,
    outcome: "running",
    started_at: at,
    finished_at: null,
    duration_ms: null,
    cached: false,
    error: null,
  };
  step.attempts.push(open);
}

export function endAttempt(
  step: StepRecord,
  at: string,
  end: Pick<AttemptTrace, "outcome" | "error" | "cached">,
): void {
  const last = step.attempts.at(-1);
  if (last === undefined || last.outcome !== "running") return;
  const duration = Date.parse(at) - Date.parse(last.started_at);
  const { attempt, started_at } = last;
  const { outcome, error, cached } = end;
  const ended = { attempt, outcome, started_at, finished_at: at, duration_ms: duration, cached, error };
  step.attempts[step.attempts.length - 1] = ended;
}

export function updateAction(entry: ActionEntry, change: Partial<ActionRecord>): ActionEntry {
  return { ...entry, record: { ...entry.record, ...change } };
}

/**
 * Begins a new run of a restarted step: same id, same action, attempts appended; a person who was not asked is asked
 * anew.
 */
export function restartStep(record: WorkflowRecord, stepId: string): void {
  const step = record.steps.get(stepId);
  if (step === undefined) return;
  for (const gate of record.gates.values())
    if (gate.step_id === stepId && gate.status === "voided") record.gates.delete(gate.gate_id);
  record.standing.running.delete(stepId);
  record.standing.moved.push(stepId);
  const fresh = newStep(step.step, step.plan_id, step.added);
  const group = record.standing.groups.get(stepId);
  if (group !== undefined) group.before = group.ids.size;
  const { attempts, policy_events, approval_events, doubts, action_id, input, checkpoint, unresolved, child } = step;
  record.steps.set(stepId, {
    ...fresh,
    attempts,
    policy_events,
    approval_events,
    doubts,
    action_id,
    input,
    checkpoint,
    unresolved,
    child,
    run: step.run + 1,
  });
}

/**
 * Creates a key's record at its first call, or at an attempt without a call while there is none; later starts change
 * nothing of it.
 */
export function startAction(record: WorkflowRecord, payload: EventPayloads["ACTION_STARTED"], meta: Folded): void {
  const known = record.actions.get(payload.action_id);
  if (known !== undefined && known.seen !== "unseen") return;
  const { action_id, key, operator_name, operator_version, payload_hash } = payload;
  record.actions.set(action_id, {
    record: {
      action_id,
      tenant_id: record.tenant_id,
      workflow_id: record.workflow_id,
      intent_id: record.intent.intent_id,
      plan_id: meta.plan_id,
      step_id: meta.step_id ?? "",
      operator_name,
      operator_version,
      idempotency_key: key,
      status: "running",
      payload_hash,
      input_payload: payload.input ?? known?.record.input_payload ?? null,
      result_payload: null,
      error: null,
      trace: null,
      timing: { started_at: meta.at, finished_at: null },
      tokens: null,
      cost: null,
    },
    seen: "unseen",
  });
  record.keys.set(key, action_id);
}
