/**
 * What came from outside, read back from the events it left: ends of calls and what they said, decisions, commands (C-37).
 *
 * Owns: the table "event type → the input that leaves it first". Never: judges whether the workflow comes to it by itself.
 */
import { isSamePrincipal } from "../../machines/quorum.ts";
import { type EventPayloads, type EventType, type LedgerEvent, payloadOf } from "../contract/event.ts";
import { DelegationRequest, GateRequest, type ParsedGateRequest } from "../contract/gate.ts";
import type { PrincipalRef } from "../contract/gate-vote.ts";
import type { Principal } from "../contract/intent.ts";
import type { Json } from "../contract/json.ts";
import type { CallEnd, Command, Input, Word } from "../tiers/t4-execution/decide/input.ts";
import { isUnderWay, type Run } from "../tiers/t4-execution/decide/run.ts";
import type { RecordedLog } from "./recorded-log.ts";

type Reading = (event: LedgerEvent, log: RecordedLog, run: Run) => Input | null;

/** The input that left this event first, by its type; null where the event is none. */
export const inputOf: Reading = (event, log, run) => inputs[event.event_type]?.(event, log, run) ?? null;

const inputs: { readonly [T in EventType]?: Reading } = {
  ACTION_SUCCEEDED: readEnd,
  ACTION_FAILED: readEnd,
  OUTPUT_SANITIZED: readScreened,
  OUTPUT_UNCHECKED: readScreened,
  BUDGET_SETTLED: readUnheard,
  STEP_STREAMED: readSaid,
  TOKEN_RECORDED: readSaid,
  ROUTE_DECIDED: readSaid,
  POLICY_DECIDED: (event, log, run) =>
    payloadOf(event, "POLICY_DECIDED").stage === "gate" ? readDecision(event, log) : readRepaired(event, log, run),
  GATE_DECISION_KEPT(event) {
    const { auth, payload_digest, apply_targets, ...kept } = payloadOf(event, "GATE_DECISION_KEPT");
    const request = requestOf(event, {
      ...(kept as Omit<Decided, "payload">),
      payload: { payload_digest, apply_targets },
    });
    return word({ kind: "decision", request, auth });
  },
  GATE_REVISED: readMoved,
  GATE_VOTE_WITHDRAWN(event, { record }) {
    const { gate_id } = payloadOf(event, "GATE_VOTE_WITHDRAWN");
    const principal = { ...event.actor, role: "" };
    const request = { tenant_id: event.tenant_id, principal, gate_id };
    return word({ kind: "withdrawal", request, auth: { ...record.auth, tenant_id: event.tenant_id } });
  },
  ACTION_IN_DOUBT: readCancel,
  STEP_SKIPPED: readCancel,
  WORKFLOW_CANCELLED: readCancel,
  WORKFLOW_RESTARTED: readRestart,
  WORKFLOW_RESUMED: readRestart,
};

const word = (said: Word): Input => ({ type: "decided", word: said, re: 0 });
const command = (wanted: Command): Input => ({ type: "commanded", command: wanted, re: 0 });

// --- calls ---

type End = EventPayloads["ACTION_SUCCEEDED"] | EventPayloads["ACTION_FAILED"];

function readEnd(event: LedgerEvent, log: RecordedLog, run: Run): Input | null {
  const ended = event.payload as unknown as End;
  const step_id = event.step_id ?? "";
  const awaited = run.calls.get(step_id);
  const isAwaited = awaited?.action_id === ended.action_id && awaited.attempt === ended.attempt;
  if (!isAwaited && !isUnderWay(run, keyOf(log, ended.action_id))) return null;
  const { attempt, action_id } = ended;
  return {
    type: "ended",
    step_id,
    action_id,
    attempt,
    run: log.record.steps.get(step_id)?.run ?? 1,
    end: endOf(ended, log, step_id),
  };
}

const keyOf = ({ record }: RecordedLog, actionId: string): string =>
  record.actions.get(actionId)?.record.idempotency_key ?? "";

function endOf(ended: End, log: RecordedLog, stepId: string): CallEnd {
  const { usage, cached } = ended;
  if (!("error" in ended)) {
    const common = { usage, cached, over: true, late: ended.late, ...screenedBefore(log, stepId) };
    return { status: "succeeded", result: ended.result, ...common };
  }
  const { error, pending } = ended;
  return { status: "failed", error, usage, pending, cached, late: false, over: isOver(log, stepId, ended) };
}

/** What screening found stands right before the end. */
function screenedBefore(
  log: RecordedLog,
  stepId: string,
): { readonly sanitized: string | null; readonly length: number } {
  const { next } = log;
  if (next?.step_id !== stepId) return { sanitized: null, length: 0 };
  if (next.event_type === "OUTPUT_SANITIZED")
    return { sanitized: payloadOf(next, "OUTPUT_SANITIZED").reason, length: 0 };
  if (next.event_type === "OUTPUT_UNCHECKED")
    return { sanitized: null, length: payloadOf(next, "OUTPUT_UNCHECKED").length };
  return { sanitized: null, length: 0 };
}

/** A call whose time ran out went on where something of it is still to come, or it was waited for again. */
function isOver(
  log: RecordedLog,
  stepId: string,
  { action_id, pending, error }: EventPayloads["ACTION_FAILED"],
): boolean {
  if (!pending || error.code !== "T4_TOOL_TIMEOUT") return true;
  const isIts = (payload: { readonly action_id: string; readonly cached: boolean }, event: LedgerEvent): boolean =>
    payload.action_id === action_id && event.sequence > (log.next?.sequence ?? 0);
  const again = log.find("ACTION_RETRY_SCHEDULED", stepId, (scheduled) => scheduled.action_id === action_id);
  return (
    again === null &&
    log.find("ACTION_SUCCEEDED", stepId, isIts) === null &&
    log.find("ACTION_FAILED", stepId, isIts) === null &&
    log.find("BUDGET_SETTLED", stepId, (settled) => settled.action_id === action_id) === null
  );
}

function readScreened(event: LedgerEvent, log: RecordedLog, run: Run): Input | null {
  const ended = log.find("ACTION_SUCCEEDED", event.step_id);
  return ended === null ? null : readEnd(ended, log, run);
}

/** An end that nobody had an ear for any more left nothing but what was settled of its reservation. */
function readUnheard(event: LedgerEvent, log: RecordedLog, run: Run): Input | null {
  const { action_id, amounts } = payloadOf(event, "BUDGET_SETTLED");
  const step_id = event.step_id ?? "";
  const id = [...run.handles.keys()].find((one) => one.startsWith(`${step_id}/${action_id}/`));
  if (id === undefined) return null;
  const usage = { tokens: { in: 0, out: amounts.tokens, total: amounts.tokens }, cost: { total: amounts.money } };
  const error = log.record.actions.get(action_id)?.record.error;
  const common = { usage, cached: false, over: true, late: true };
  const end: CallEnd =
    error == null
      ? { status: "succeeded", result: null, sanitized: null, length: 0, ...common }
      : { status: "failed", error, pending: false, ...common };
  const [round, attempt] = id.split("/").slice(-2).map(Number);
  return { type: "ended", step_id, action_id, attempt: attempt ?? 1, run: round ?? 1, end };
}

function readSaid(event: LedgerEvent, { record }: RecordedLog): Input | null {
  const step = record.steps.get(event.step_id ?? "");
  if (step === undefined) return null;
  const { event_type: type, step_id, payload } = event;
  const call = { step_id: step_id as string, action_id: step.action_id ?? "", attempt: step.attempt, run: step.run };
  return { type: "told", ...call, drafts: [{ type, step_id, payload }] as never, re: null };
}

/** While a step's call is under way, what is put to policy is that call, put right on its way. */
function readRepaired(event: LedgerEvent, log: RecordedLog, run: Run): Input | null {
  const { stage } = payloadOf(event, "POLICY_DECIDED");
  return stage === "action" && run.calls.has(event.step_id ?? "") ? readSaid(event, log) : null;
}

// --- people ---

interface Decided {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly gate_id: string;
  readonly payload: object;
}

const requestOf = ({ tenant_id }: LedgerEvent, { decision, principal, gate_id, payload }: Decided): ParsedGateRequest =>
  GateRequest.parse({ tenant_id, decision, principal, gate_id, payload });

/** A decision begins with T5's judgement of who decides; what was decided follows, unless it was refused. */
function readDecision(event: LedgerEvent, log: RecordedLog): Input | null {
  const { by, subject: gate_id, decision: judged } = payloadOf(event, "POLICY_DECIDED");
  if (by === undefined) return null;
  const { auth, decision, principal } = by;
  if (decision === "delegate") return readDelegation(event, log);
  const until = judged === "DENY" ? 0 : nextAttempt(event, log);
  const isTheirs = (
    said: { readonly gate_id: string; readonly principal: Principal | null },
    at: LedgerEvent,
  ): boolean => said.gate_id === gate_id && isBy(said.principal, principal) && at.sequence < until;
  const type = decision === "approve" ? "USER_APPROVED" : "USER_REJECTED";
  const closing = log.find(type, event.step_id, isTheirs);
  const voted = log.find("GATE_VOTED", event.step_id, (vote, at) => vote.decision === decision && isTheirs(vote, at));
  const decided = closing === null ? null : payloadOf(closing, type);
  const vote = voted === null ? null : payloadOf(voted, "GATE_VOTED");
  const edit = editOf(event, log, { closing, until: voted?.sequence ?? closing?.sequence ?? until });
  const signature = vote?.signature ?? decided?.signature;
  const comment = (decided ?? vote)?.comment;
  const asksWhat = log.record.gates.get(gate_id)?.kind === "in_doubt" && decision === "approve";
  // A word that was refused behind its judgement named some way to settle the call.
  const resolution = decided?.resolution ?? (asksWhat ? "retry" : null);
  const payload = {
    ...(edit === null ? {} : { edit }),
    ...(decided === null ? {} : { apply_targets: decided.apply_targets }),
    ...(comment == null ? {} : { comment }),
    ...(signature == null ? {} : { signature: signature.jws }),
    ...(resolution === "done" || resolution === "retry" ? { resolution } : {}),
    ...(resolution === "done" ? { result: settledAs(log, event.step_id) } : {}),
  };
  // What was judged was on what the gate showed then.
  const named = { ...payload, ...namedOf(log, gate_id) };
  return word({ kind: "decision", request: requestOf(event, { decision, principal, gate_id, payload: named }), auth });
}

/** What a decision names of the gate as it stands. */
function namedOf({ record }: RecordedLog, gateId: string): object {
  const { payload_digest, basis_digest } = record.gates.get(gateId) ?? {};
  return {
    ...(payload_digest !== undefined && { payload_digest }),
    ...(basis_digest !== undefined && { basis_digest }),
  };
}

/** The vote that found what a gate rests on changed left nothing of itself: whoever asks finds it. */
function readMoved(event: LedgerEvent, log: RecordedLog): Input | null {
  const { cause, gate } = payloadOf(event, "GATE_REVISED");
  if (cause !== "basis") return null;
  const { gate_id } = gate;
  const asked = {
    decision: "approve",
    principal: { ...event.actor, role: "" },
    gate_id,
    payload: namedOf(log, gate_id),
  };
  return word({ kind: "decision", request: requestOf(event, asked as Decided), auth: log.record.auth });
}

/** One id may stand for a user and for a service. */
const isBy = (one: PrincipalRef | null | undefined, other: PrincipalRef | undefined): boolean =>
  one != null && other !== undefined && isSamePrincipal(one, other);

/** Where the same person's next attempt at deciding this gate so begins. */
function nextAttempt(event: LedgerEvent, log: RecordedLog): number {
  const { by, subject } = payloadOf(event, "POLICY_DECIDED");
  const again = log.find("POLICY_DECIDED", event.step_id, (asked, later) => {
    const isTheirs = isBy(asked.by?.principal, by?.principal) && asked.by?.decision === by?.decision;
    return asked.stage === "gate" && asked.subject === subject && isTheirs && later.sequence > event.sequence;
  });
  return again?.sequence ?? Number.POSITIVE_INFINITY;
}

/** A seat that was lent; one that policy refused to have lent leaves its judgement only. */
function readDelegation(event: LedgerEvent, log: RecordedLog): Input | null {
  const { by, subject: gate_id } = payloadOf(event, "POLICY_DECIDED");
  if (by?.to === undefined) return null;
  const { principal, auth, to } = by;
  const lent = log.find(
    "GATE_DELEGATED",
    event.step_id,
    (loan) => loan.gate_id === gate_id && isBy(loan.from, principal) && isBy(loan.to, to),
  );
  const expires_at = lent === null ? "9999-12-31T00:00:00.000Z" : payloadOf(lent, "GATE_DELEGATED").expires_at;
  const request = DelegationRequest.parse({
    tenant_id: event.tenant_id,
    principal,
    gate_id,
    to: { ...to },
    expires_at,
  });
  return word({ kind: "delegation", request, auth });
}

/**
 * An edit as it was put to policy: the whole content or payload, which merges to the same as what the person sent; where
 * policy knew it already, as the gate shows it. Null when nothing was edited.
 */
function editOf(
  event: LedgerEvent,
  log: RecordedLog,
  { closing, until }: { readonly closing: LedgerEvent | null; readonly until: number },
): Json | null {
  if (closing !== null && !payloadOf(closing, "USER_APPROVED").edited) return null;
  const put = (stage: string): LedgerEvent | null =>
    log.find(
      "POLICY_DECIDED",
      event.step_id,
      (asked, later) => asked.stage === stage && asked.payload !== undefined && later.sequence < until,
    );
  const found = put("outcome") ?? put("action");
  if (found !== null) return payloadOf(found, "POLICY_DECIDED").payload ?? null;
  const revised = closing === null ? null : log.find("GATE_REVISED", event.step_id, (_gate, at) => at.sequence < until);
  if (revised === null) return null;
  const drafted = log.find("OUTCOME_DRAFTED", event.step_id, (_made, at) => at.sequence < revised.sequence);
  return drafted === null
    ? payloadOf(revised, "GATE_REVISED").gate.payload
    : payloadOf(drafted, "OUTCOME_DRAFTED").outcome.content;
}

/** What a person knew of a lost call stands in the event that settled it. */
function settledAs(log: RecordedLog, stepId: string | null): Json {
  const settled = log.find("ACTION_SETTLED", stepId);
  return settled === null ? null : payloadOf(settled, "ACTION_SETTLED").result;
}

// --- commands ---

/** A person's cancellation: first what it left open is named, then the end. */
function readCancel(event: LedgerEvent, log: RecordedLog): Input | null {
  const end = log.events
    .slice(log.position)
    .find(({ event_type: type }) => type !== "ACTION_IN_DOUBT" && type !== "STEP_SKIPPED");
  if (end?.event_type !== "WORKFLOW_CANCELLED" || end.timestamp !== event.timestamp) return null;
  const { reason, principal } = payloadOf(end, "WORKFLOW_CANCELLED");
  return principal === null ? null : command({ kind: "cancel", reason, principal, auth: log.record.auth });
}

/** A restart of what failed, or a regeneration of what waits or failed. */
function readRestart(event: LedgerEvent, log: RecordedLog): Input | null {
  const restarted = event.event_type === "WORKFLOW_RESTARTED" ? payloadOf(event, "WORKFLOW_RESTARTED") : null;
  const resumed = event.event_type === "WORKFLOW_RESUMED" ? payloadOf(event, "WORKFLOW_RESUMED") : null;
  const { mode = "regenerate", principal = resumed?.principal ?? null, feedback } = restarted ?? {};
  const planned = log.find("PLAN_CREATED", null);
  const plan = planned === null ? null : payloadOf(planned, "PLAN_CREATED");
  if (restarted === null && (plan?.cause !== "regenerate" || !isBareResume(event))) return null;
  const step_ids = mode === "regenerate" ? plan?.named : undefined;
  const auth = log.record.auth;
  return command({ kind: "retry", mode, step_ids, feedback: feedback ?? undefined, principal, auth });
}

const isBareResume = (event: LedgerEvent): boolean => {
  const { gate_id, step_id } = payloadOf(event, "WORKFLOW_RESUMED");
  return gate_id === null && step_id === null;
};
