/**
 * The question that a recorded policy decision answered, reconstructed from the ledger.
 *
 * Owns: where each part of the question is found. Never: guesses; a payload counts only if it has the digest on record.
 * 1.  A part that the ledger lacks (older ledgers hold less) is named, instead of a question.
 * 2.  The record is folded up to the decision and not beyond; later events are used only for their payloads.
 */
import { digest } from "../contract/digest.ts";
import type { EventPayloads, LedgerEvent } from "../contract/event.ts";
import { type Gate, gateIdOf } from "../contract/gate.ts";
import { deepFreeze, type Json } from "../contract/json.ts";
import type { Operator } from "../contract/operator.ts";
import type { Plan, PlanStep } from "../contract/plan.ts";
import type { PolicyQuestion, PolicySubject } from "../contract/policy.ts";
import {
  actionSubject,
  approvalsOn,
  gateSubject,
  outcomeSubject,
  type PlannedStep,
  planSubject,
  withParent,
} from "../contract/policy-subject.ts";
import { readWith } from "../contract/schema-reading.ts";
import { toStepResult } from "../contract/step.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { resolveParams } from "../tiers/t4-execution/decide/payload/resolve-templates.ts";
import { outputsOf, spentFor } from "../tiers/t4-execution/decide/run/run.ts";

type Decided = EventPayloads["POLICY_DECIDED"];

/** A recorded decision in its place. */
export interface PastDecision {
  /** Everything before it, folded. */
  readonly record: WorkflowRecord;
  readonly event: LedgerEvent;
  readonly decided: Decided;
  /** All events of its workflow. */
  readonly events: readonly LedgerEvent[];
  /** Its place among them. */
  readonly index: number;
  /** Returns the operator as it is registered today, for facts that the ledger lacks; null if it is not. */
  readonly operatorToday: (step: PlanStep) => Operator | null;
}

/** Returns the question, frozen as it was then, or the reason why it cannot be reconstructed, as a sentence. */
export function pastQuestion(past: PastDecision): PolicyQuestion | string {
  const { record, event, decided } = past;
  const subject = describers[decided.stage]?.(past) ?? `there is no policy stage ${String(decided.stage)}`;
  if (typeof subject === "string") return subject;
  return deepFreeze({
    stage: decided.stage,
    subject: decided.stage === "gate" ? subject : withParent(subject, record.parent),
    auth: decided.stage === "gate" ? (deciderOf(past)?.auth ?? record.auth) : record.auth,
    intent: record.intent,
    context: record.bundle,
    now: decided.asked_at ?? event.timestamp,
    spent: decided.stage === "action" ? spentFor(record, event.step_id ?? "") : record.spent,
  });
}

const describers: Readonly<Record<Decided["stage"], (past: PastDecision) => PolicySubject | string>> = {
  plan(past) {
    const { decided } = past;
    const kept = decided.payload as { readonly steps: readonly PlannedStep[] } | undefined;
    const steps = kept?.steps ?? laterOf(past, "PLAN_CREATED", ({ plan }) => isOf(plan, decided))?.plan.steps;
    if (steps === undefined) return "the plan that was judged is not in the ledger";
    const subject = planSubject(decided.subject, steps);
    return digest(subject.payload) === decided.payload_hash ? subject : "the plan on record is not the one judged";
  },
  action(past) {
    const step = stepOf(past);
    if (step === null) return "the step that was judged is not in the ledger";
    const effect = step.effect ?? gateOf(past)?.effect ?? past.operatorToday(step)?.metadata.effect;
    if (effect === undefined)
      return `the ledger does not say what ${step.operator} may do outside, and it is not registered here`;
    const payload = findPayload(past, actionPayloads(past, step));
    if (payload === undefined) return missingPayload(past);
    const gate = past.record.gates.get(gateIdOf(step.step_id));
    return actionSubject(step, effect, payload, approvalsOn(gate, past.decided.payload_hash));
  },
  outcome(past) {
    const step = stepOf(past);
    if (step === null) return "the step that was judged is not in the ledger";
    const content = findPayload(past, outcomeContents(past));
    return content === undefined ? missingPayload(past) : outcomeSubject(step, past.decided.subject, content);
  },
  gate(past) {
    const by = deciderOf(past);
    if (by === null) return "the ledger does not say who decided";
    const gate = gateOf(past);
    return gate === null ? "the gate as it was judged is not in the ledger" : gateSubject(gate, by);
  },
};

const missingPayload = ({ decided: { decision, redactions } }: PastDecision): string =>
  decision === "DENY" || redactions.length > 0
    ? "the payload that was judged is not kept, because policy denied or masked it"
    : "the payload that was judged is not in the ledger";

const isOf = (plan: Plan, { subject }: Decided): boolean => plan.plan_id === subject;

const stepOf = ({ record, event }: PastDecision): PlanStep | null =>
  record.steps.get(event.step_id ?? "")?.step ?? null;

/** Returns the first payload that has the digest on record. */
function findPayload({ decided }: PastDecision, payloads: Iterable<Json | undefined>): Json | undefined {
  const fits = (payload: Json | undefined): boolean =>
    payload !== undefined && digest(payload) === decided.payload_hash;
  if (fits(decided.payload)) return decided.payload;
  for (const payload of payloads) if (fits(payload)) return payload;
  return undefined;
}

function* actionPayloads(past: PastDecision, step: PlanStep): Generator<Json | undefined> {
  const { record } = past;
  const params = resolveParams(step, outputsOf(record, step)).value;
  yield params;
  yield record.steps.get(step.step_id)?.input;
  yield gateOf(past)?.payload;
  yield laterOf(past, "ACTION_STARTED", (_started, event) => event.step_id === step.step_id)?.input;
  const operator = past.operatorToday(step);
  const reading = operator === null ? null : readWith(operator.input, params);
  if (reading?.ok === true) yield reading.value;
}

/** Yields the output of the step's call; after a person's edit, the version that it became. */
function* outcomeContents(past: PastDecision): Generator<Json | undefined> {
  const { events, index, event } = past;
  const ofStep = (e: LedgerEvent): boolean => e.step_id === event.step_id;
  const ended = events
    .slice(0, index)
    .findLast((e) => ofStep(e) && (e.event_type === "ACTION_SUCCEEDED" || e.event_type === "ACTION_SETTLED"));
  if (ended !== undefined) yield toStepResult(ended.payload["result"] as Json).data;
  yield laterOf(past, "OUTCOME_DRAFTED", (_drafted, e) => ofStep(e))?.outcome.content;
}

/**
 * Returns the gate as it was, or as it is opened or revised next: a decision that was kept is judged before its gate
 * opens.
 */
function gateOf(past: PastDecision): Gate | null {
  const { record, decided, event } = past;
  const id = decided.stage === "gate" ? decided.subject : gateIdOf(event.step_id ?? "");
  const fits = (gate: Gate | undefined): boolean =>
    gate?.gate_id === id && digest(gate.payload) === decided.payload_hash;
  const standing = record.gates.get(id);
  if (standing !== undefined && fits(standing)) return standing;
  const opened = laterOf(past, "GATE_OPENED", ({ gate }) => fits(gate));
  const next = opened ?? laterOf(past, "GATE_REVISED", ({ gate }) => fits(gate));
  return next?.gate ?? null;
}

/** Returns the person who decided; older ledgers name them only for decisions that were kept. */
function deciderOf({ decided, record }: PastDecision): NonNullable<Decided["by"]> | null {
  if (decided.by !== undefined) return decided.by;
  const kept = record.kept.get(decided.subject)?.[0];
  const principal = kept?.decided.principal ?? null;
  return kept === undefined || principal === null ? null : { decision: kept.decision, principal, auth: kept.auth };
}

/** Returns the payload of the first later event of a type that fits. */
function laterOf<T extends keyof EventPayloads>(
  { events, index }: PastDecision,
  type: T,
  fits: (payload: EventPayloads[T], event: LedgerEvent) => boolean,
): EventPayloads[T] | undefined {
  for (let i = index + 1; i < events.length; i += 1) {
    const event = events[i] as LedgerEvent;
    const payload = event.payload as unknown as EventPayloads[T];
    if (event.event_type === type && fits(payload, event)) return payload;
  }
  return undefined;
}
