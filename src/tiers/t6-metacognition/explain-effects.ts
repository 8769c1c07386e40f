/**
 * From intent to effect: the causes of each action and each refusal, from ledger events and nothing else.
 *
 * 1.  Every part names its event. A part that the ledger lacks is null.
 * 2.  An approval is compared with the executed call: the approved digest with the digest of the payload of the call.
 */
import type { KernelError } from "../../contract/error.ts";
import type { EventPayloads, GateDecided, LedgerEvent } from "../../contract/event.ts";
import type { ApprovalCause, AttemptCause, CausalChain, ChargeCause, RuleCause } from "../../contract/explanation.ts";
import { type Gate, gateIdOf } from "../../contract/gate.ts";
import { addMoney } from "../../contract/money.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";

type Link = { -readonly [K in keyof CausalChain]: CausalChain[K] };

/** The facts gathered from the events so far. */
interface Seen {
  intent: CausalChain["intent"];
  plan: CausalChain["plan"];
  /** The costs charged so far, and the costs that the plans expect of each step. */
  spent: number;
  readonly estimates: Map<string, number>;
  /** The rules by step; the plan's own under the empty id. */
  readonly rules: Map<string, RuleCause>;
  readonly gates: Map<string, Gate>;
  readonly approvals: Map<string, Omit<ApprovalCause, "same_as_executed">>;
  /** The reservations by action id. */
  readonly reserved: Map<string, ChargeCause>;
  readonly links: Link[];
  readonly byAction: Map<string, Link>;
}

export function explainEffects(events: readonly LedgerEvent[]): readonly CausalChain[] {
  const seen: Seen = {
    intent: null,
    plan: null,
    spent: 0,
    estimates: new Map(),
    rules: new Map(),
    gates: new Map(),
    approvals: new Map(),
    reserved: new Map(),
    links: [],
    byAction: new Map(),
  };
  for (const event of events) readEvent(readers, event, seen);
  return seen.links;
}

const stepOf = ({ step_id }: LedgerEvent): string => step_id ?? "";

const readers: EventReaders<void, [seen: Seen]> = {
  INTENT_RECEIVED({ intent: { actor, type, version } }, { event_id }, seen) {
    seen.intent = { event_id, actor, type: `${type}@${version}` };
  },
  PLAN_CREATED({ plan, cause, planner_cost }, { event_id }, seen) {
    seen.plan = { event_id, plan_id: plan.plan_id, cause, reasoning: plan.reasoning };
    seen.spent = addMoney(seen.spent, planner_cost);
    for (const step of plan.steps) seen.estimates.set(step.step_id, step.estimated_cost);
  },
  PLAN_REJECTED: ({ error }, event, seen) => refuse(event, seen, error),
  POLICY_DECIDED: addRule,
  GATE_OPENED: addGate,
  GATE_REVISED: addGate,
  USER_APPROVED: (decided, event, seen) => addApproval(event, seen, { ...decided, decision: "approve" }),
  USER_REJECTED: (decided, event, seen) => addApproval(event, seen, { ...decided, decision: "reject" }),
  GATE_EXPIRED: addExpiry,
  BUDGET_RESERVED({ action_id, counters, amounts }, { event_id }, { reserved }) {
    reserved.set(action_id, { event_id, counters, amounts });
  },
  BUDGET_SETTLED({ action_id, counters, amounts }, { event_id }, { byAction }) {
    const link = byAction.get(action_id);
    if (link !== undefined) link.budget = { ...link.budget, settled: { event_id, counters, amounts } };
  },
  BUDGET_REFUSED: ({ error }, event, seen) => refuse(event, seen, error),
  ACTION_STARTED: startAction,
  ACTION_SUCCEEDED: ({ action_id }, event, seen) => endAttempt(event, seen, { action_id, outcome: "succeeded" }),
  ACTION_FAILED: ({ action_id, error: { code } }, event, seen) =>
    endAttempt(event, seen, { action_id, outcome: "failed", error_code: code }),
  ACTION_IN_DOUBT: ({ action_id }, event, seen) => endAttempt(event, seen, { action_id, outcome: "in_doubt" }),
  ACTION_SETTLED: ({ action_id, resolution }, event, seen) =>
    endAttempt(event, seen, { action_id, outcome: `settled_${resolution}` }),
  OUTCOME_DRAFTED: addOutcome,
  OUTCOME_FINALIZED: addOutcome,
  STEP_SUCCEEDED({ cost }, _event, seen) {
    seen.spent = addMoney(seen.spent, cost);
  },
  STEP_FAILED({ error, blocked }, event, seen) {
    const called = seen.links.some((link) => link.step_id === event.step_id && link.effect !== null);
    if (blocked || !called) refuse(event, seen, error);
  },
};

/** Adds a rule. Policy at stage gate judges the person who decides, not the call. */
function addRule(decided: EventPayloads["POLICY_DECIDED"], event: LedgerEvent, { rules }: Seen): void {
  const { stage, decision, reason, policies = [], lifts, policy_version = "1" } = decided;
  if (stage === "gate") return;
  rules.set(stepOf(event), {
    ...{ event_id: event.event_id, decision, policies, ...(lifts !== undefined && { lifts }) },
    ...{ reason, policy_version },
  });
}

function addGate({ gate }: { readonly gate: Gate }, _event: LedgerEvent, { gates }: Seen): void {
  gates.set(gate.gate_id, gate);
}

function addApproval(
  event: LedgerEvent,
  { approvals }: Seen,
  decided: GateDecided & Pick<ApprovalCause, "decision">,
): void {
  const { gate_id, decision, principal, payload_digest, outcome_id, outcome_version, edited, comment } = decided;
  const { carried_by = [] } = decided;
  // The end of a call in doubt is settled at a gate of its own, which approves no payload.
  if (gate_id !== gateIdOf(stepOf(event))) return;
  const { event_id, timestamp: at } = event;
  const bound = { payload_digest, outcome_id, outcome_version };
  approvals.set(stepOf(event), { event_id, decision, principal, carried_by, at, ...bound, edited, comment });
}

function addExpiry(
  { gate_id, action }: EventPayloads["GATE_EXPIRED"],
  event: LedgerEvent,
  { approvals, gates }: Seen,
): void {
  const gate = gates.get(gate_id);
  if (gate === undefined) return;
  approvals.set(stepOf(event), {
    event_id: event.event_id,
    decision: action === "allow" ? "approve" : "reject",
    principal: null,
    carried_by: [],
    at: event.timestamp,
    payload_digest: gate.payload_digest,
    outcome_id: gate.target?.outcome_id ?? null,
    outcome_version: gate.target?.version ?? null,
    edited: false,
    comment: null,
  });
}

function startAction(started: EventPayloads["ACTION_STARTED"], event: LedgerEvent, seen: Seen): void {
  const { action_id, key, operator_name, operator_version, attempt, payload_hash } = started;
  const link = seen.byAction.get(action_id) ?? beginLink(event, seen);
  seen.byAction.set(action_id, link);
  const { event_id } = event;
  link.budget = { ...link.budget, reserved: seen.reserved.get(action_id) ?? null, settled: null };
  link.attempts = [...link.attempts, { event_id, attempt, outcome: "running", error_code: null }];
  link.effect = {
    action_id,
    key,
    operator: `${operator_name}@${operator_version}`,
    payload_hash,
    started_event_id: link.effect?.started_event_id ?? event_id,
    ended_event_id: null,
    outcome: link.effect?.outcome ?? null,
  };
  if (link.approval !== null)
    link.approval = { ...link.approval, same_as_executed: link.approval.payload_digest === payload_hash };
}

/** Begins an entry with the facts gathered so far. */
function beginLink(event: LedgerEvent, seen: Seen): Link {
  const id = stepOf(event);
  const approval = seen.approvals.get(id);
  const link: Link = {
    step_id: event.step_id,
    intent: seen.intent,
    plan: seen.plan,
    rule: seen.rules.get(id) ?? null,
    budget: {
      spent_before: seen.spent,
      estimated_cost: seen.estimates.get(id) ?? 0,
      reserved: null,
      settled: null,
    },
    approval: approval === undefined ? null : { ...approval, same_as_executed: null },
    attempts: [],
    effect: null,
    refusal: null,
  };
  seen.links.push(link);
  return link;
}

function refuse(event: LedgerEvent, seen: Seen, { code, message }: KernelError): void {
  beginLink(event, seen).refusal = { event_id: event.event_id, code, message };
}

interface End extends Pick<AttemptCause, "outcome"> {
  readonly action_id: string;
  readonly error_code?: string | null;
}

function endAttempt(event: LedgerEvent, { byAction }: Seen, { action_id, outcome, error_code = null }: End): void {
  const link = byAction.get(action_id);
  const last = link?.attempts.at(-1);
  if (link === undefined || last === undefined) return;
  link.attempts = [...link.attempts.slice(0, -1), { ...last, outcome, error_code }];
  if (link.effect !== null) link.effect = { ...link.effect, ended_event_id: event.event_id };
}

function addOutcome(
  { outcome, action_id }: EventPayloads["OUTCOME_DRAFTED"],
  _event: LedgerEvent,
  { byAction }: Seen,
): void {
  const link = byAction.get(action_id ?? "");
  if (link?.effect == null) return;
  link.effect = { ...link.effect, outcome: { outcome_id: outcome.outcome_id, version: outcome.version } };
}
