/**
 * What an input carried, read back from the events it left: ends of calls and what they said, decisions, commands (C-37).
 *
 * Owns: where each of it lies. Never: judges whether the workflow comes to it by itself; the record says which inputs came.
 */
import { isSamePrincipal } from "../../machines/quorum.ts";
import type { Usage } from "../contract/action.ts";
import { digest } from "../contract/digest.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type EventPayloads, type EventType, type LedgerEvent, payloadOf } from "../contract/event.ts";
import { DelegationRequest, GateRequest, type ParsedGateRequest } from "../contract/gate.ts";
import type { PrincipalRef } from "../contract/gate-vote.ts";
import type { Principal } from "../contract/intent.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { redact } from "../contract/redact.ts";
import type { CallEnd, CallOf, Command, Input, Word } from "../tiers/t4-execution/decide/run/input.ts";
import { findAmong, type RecordedLog } from "./recorded-log.ts";
import { answersAfter, type RecordedInput } from "./recorded-rows.ts";
import { unknownEdit, unknownSignature, unknownText } from "./unknown-words.ts";

/** Who waits for no answer. */
const noOne = -1;

/** The input as it came. One of which the record holds nothing was refused, or led to what comes by itself. */
export function readInput(recorded: RecordedInput, log: RecordedLog): Input {
  const { in: type, re = noOne } = recorded.told;
  switch (type) {
    case "begin":
      return { type, facts: payloadOf(log.events[0] as LedgerEvent, "INTENT_RECEIVED"), re };
    case "ended":
      return readEnd(recorded, log) ?? { type: "woken" };
    case "told":
      return readReported(recorded, log) ?? { type: "woken" };
    case "decided":
      return { type, word: readWord(recorded, log), re };
    case "commanded":
      return { type, command: readCommand(recorded, log), re };
    case "due":
      return { type };
    default:
      return { type: "woken" };
  }
}

const eventsOf = ({ from, until }: RecordedInput, log: RecordedLog): readonly LedgerEvent[] =>
  log.events.slice(from, until);

/** What a command left, by itself and where its questions were answered later. */
function leftBy(recorded: RecordedInput, log: RecordedLog): readonly LedgerEvent[] {
  const { re } = recorded.told;
  const own = eventsOf(recorded, log);
  if (re === undefined) return own;
  const later = answersAfter(log.rows, recorded, (question) => question.startsWith(`command:${re} `));
  return [...own, ...later.flatMap((answered) => eventsOf(answered, log))];
}

// --- calls ---

const ends: ReadonlySet<EventType> = new Set(["ACTION_SUCCEEDED", "ACTION_FAILED"]);

function readEnd(recorded: RecordedInput, log: RecordedLog): Input | null {
  const { of, over = true, run = 1 } = recorded.told;
  if (of !== undefined) return readUnheard(recorded, log);
  const left = eventsOf(recorded, log);
  const event = left.find(({ event_type: type }) => ends.has(type));
  if (event === undefined) return null;
  const { attempt, action_id } = event.payload as unknown as EventPayloads["ACTION_FAILED"];
  const end = { ...endOf(event, left), over };
  return { type: "ended", step_id: event.step_id ?? "", action_id, attempt, run, end };
}

/** What screening found stands before the end. */
function endOf(event: LedgerEvent, left: readonly LedgerEvent[]): CallEnd {
  if (event.event_type === "ACTION_FAILED") {
    const { error, usage, pending, cached } = payloadOf(event, "ACTION_FAILED");
    return { status: "failed", error, usage, pending, cached, late: false, over: true };
  }
  const { result, usage, cached, late } = payloadOf(event, "ACTION_SUCCEEDED");
  const before = left.slice(0, left.indexOf(event));
  const sanitized = before.find((one) => one.event_type === "OUTPUT_SANITIZED");
  const unchecked = before.find((one) => one.event_type === "OUTPUT_UNCHECKED");
  return {
    status: "succeeded",
    ...{ result, usage, cached, late, over: true },
    sanitized: sanitized === undefined ? null : payloadOf(sanitized, "OUTPUT_SANITIZED").reason,
    length: unchecked === undefined ? 0 : payloadOf(unchecked, "OUTPUT_UNCHECKED").length,
  };
}

/** `step/action/run/attempt` */
function callOf(id: string): CallOf {
  const parts = id.split("/");
  const [run = 1, attempt = 1] = parts.slice(-2).map(Number);
  return { step_id: parts.slice(0, -3).join("/"), action_id: parts.at(-3) ?? "", run, attempt };
}

/** An end that nobody had an ear for any more left nothing but what was settled of its reservation. */
function readUnheard(recorded: RecordedInput, log: RecordedLog): Input {
  const { of = "", ok = false, over = true } = recorded.told;
  const call = callOf(of);
  const settled = eventsOf(recorded, log).find(({ event_type: type }) => type === "BUDGET_SETTLED");
  const usage: Usage = settled === undefined ? {} : usageOf(payloadOf(settled, "BUDGET_SETTLED").amounts);
  const error =
    log.record.actions.get(call.action_id)?.record.error ??
    kernelError("T4_TOOL_EXECUTION_FAILED", "nobody heard how it failed", moduleRef(0, "kernel", "replay"));
  const common = { usage, cached: false, late: true, over };
  const end: CallEnd = ok
    ? { status: "succeeded", result: null, sanitized: null, length: 0, ...common }
    : { status: "failed", error, pending: settled === undefined, ...common };
  return { type: "ended", ...call, end };
}

const usageOf = ({ tokens, money }: EventPayloads["BUDGET_SETTLED"]["amounts"]): Usage => ({
  tokens: { in: 0, out: tokens, total: tokens },
  cost: { total: money },
});

function readReported(recorded: RecordedInput, log: RecordedLog): Input | null {
  const reported = eventsOf(recorded, log).slice(0, recorded.told.said ?? 1);
  const [first] = reported;
  const step = log.record.steps.get(first?.step_id ?? "");
  if (step === undefined) return null;
  const call = { step_id: step.step.step_id, action_id: step.action_id ?? "", attempt: step.attempt, run: step.run };
  const drafts = reported.map(({ event_type: type, step_id, payload }) => ({ type, step_id, payload })) as never;
  return { type: "told", ...call, drafts, re: noOne };
}

// --- people ---

/** Where a word is read: the record before it, whether it came with an edit, and what it left from this event on. */
interface Reading {
  readonly log: RecordedLog;
  readonly edits: boolean;
  readonly left: readonly LedgerEvent[];
}

const words: { readonly [T in EventType]?: (event: LedgerEvent, reading: Reading) => Word | null } = {
  POLICY_DECIDED: (event, reading) =>
    payloadOf(event, "POLICY_DECIDED").stage === "gate" ? readDecision(event, reading) : null,
  GATE_DECISION_KEPT(event) {
    const { auth, payload_digest, apply_targets, comment, ...kept } = payloadOf(event, "GATE_DECISION_KEPT");
    const request = requestOf(event, {
      ...(kept as Omit<Decided, "payload">),
      payload: { payload_digest, apply_targets, ...(comment !== undefined && { comment }) },
    });
    return { kind: "decision", request, auth };
  },
  GATE_REVISED: readMoved,
  GATE_VOTE_WITHDRAWN(event, { log: { record } }) {
    const { gate_id } = payloadOf(event, "GATE_VOTE_WITHDRAWN");
    const principal = { ...event.actor, role: "" };
    const request = { tenant_id: event.tenant_id, principal, gate_id };
    return { kind: "withdrawal", request, auth: { ...record.auth, tenant_id: event.tenant_id } };
  },
};

/** The first of what a word left tells it; one that left nothing was refused. What shows a gate anew ends a word: one that asks on left another. */
function readWord(recorded: RecordedInput, log: RecordedLog): Word {
  const { edit: edits = false, asks = [], re } = recorded.told;
  const asksOn = asks.some((question) => question.startsWith(`command:${re} `));
  const isOthers = ({ event_type: type, sequence }: LedgerEvent): boolean =>
    asksOn && type === "GATE_REVISED" && sequence <= recorded.until;
  const left = leftBy(recorded, log).filter((event) => !isOthers(event));
  for (const [at, event] of left.entries()) {
    const word = words[event.event_type]?.(event, { log, edits, left: left.slice(at) }) ?? null;
    if (word !== null) return word;
  }
  const { auth, tenant_id } = log.record;
  return { kind: "withdrawal", request: { tenant_id, principal: nobody, gate_id: "" }, auth };
}

const nobody: Principal = { type: "user", id: "", role: "" };

/** Whether it stands for a word of which nothing is on record. */
export const isUnknown = ({ request: { principal } }: Word): boolean => principal === nobody;

interface Decided {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly gate_id: string;
  readonly payload: object;
  readonly idempotency_key?: string | undefined;
}

const requestOf = ({ tenant_id }: LedgerEvent, decided: Decided): ParsedGateRequest => {
  const { decision, principal, gate_id, payload, idempotency_key } = decided;
  return GateRequest.parse({ tenant_id, decision, principal, gate_id, payload, idempotency_key });
};

/** A decision begins with T5's judgement of who decides; what was decided follows, unless it was refused. */
function readDecision(event: LedgerEvent, reading: Reading): Word | null {
  const { log, edits, left } = reading;
  const { step_id: stepId } = event;
  const { by, subject: gate_id } = payloadOf(event, "POLICY_DECIDED");
  if (by === undefined) return null;
  const { auth, decision, principal } = by;
  if (decision === "delegate") return readDelegation(event, left);
  const isTheirs = (ballot: { readonly gate_id: string; readonly principal: Principal | null }): boolean =>
    ballot.gate_id === gate_id && isBy(ballot.principal, principal);
  const type = decision === "approve" ? "USER_APPROVED" : "USER_REJECTED";
  const closing = findAmong(left, { type, stepId, fits: isTheirs });
  const isVote = (vote: EventPayloads["GATE_VOTED"]): boolean => vote.decision === decision && isTheirs(vote);
  const voted = findAmong(left, { type: "GATE_VOTED", stepId, fits: isVote });
  const decided = closing === null ? null : payloadOf(closing, type);
  const vote = voted === null ? null : payloadOf(voted, "GATE_VOTED");
  const until = voted?.sequence ?? closing?.sequence ?? Number.POSITIVE_INFINITY;
  const isPlain = closing !== null && !payloadOf(closing, "USER_APPROVED").edited;
  const edit = isPlain
    ? null
    : (editOf(event, left, until) ?? judgedBefore(event, left, log) ?? (edits ? unknownEdit : null));
  // What was refused behind its judgement was signed where the gate asks for it.
  const isLost = (decided ?? vote) === null && edit === null && log.record.gates.get(gate_id)?.signed === true;
  const signature = isLost ? unknownSignature : (vote?.signature ?? decided?.signature)?.jws;
  const revised = findAmong(left, { type: "GATE_REVISED", stepId, fits: ({ cause }) => cause === "edit" });
  const comment = (decided ?? vote ?? revised?.payload)?.comment;
  const asksWhat = log.record.gates.get(gate_id)?.kind === "in_doubt" && decision === "approve";
  // A word that was refused behind its judgement named some way to settle the call: one that could be taken then.
  const settles = log.record.cancelling === null ? "retry" : "done";
  const resolution = decided?.resolution ?? vote?.resolution ?? (asksWhat ? settles : null);
  const payload = {
    ...(edit === null ? {} : { edit }),
    apply_targets: (vote ?? decided)?.apply_targets,
    ...(comment == null ? {} : { comment }),
    ...(signature == null ? {} : { signature }),
    ...(resolution === "done" || resolution === "retry" ? { resolution } : {}),
    ...(resolution === "done" ? { result: vote?.result ?? settledAs(left, stepId) } : {}),
  };
  // What was judged was on what the gate showed then; a signature says that by itself.
  const { payload_digest, ...basis } = namedOf(log, gate_id, decision);
  const named = { ...payload, ...basis, ...(signature == null && payload_digest !== undefined && { payload_digest }) };
  const { idempotency_key } = vote ?? decided ?? revised?.payload ?? {};
  const request = requestOf(event, { decision, principal, gate_id, payload: named, idempotency_key });
  return { kind: "decision", request, auth };
}

type Named = Pick<ParsedGateRequest["payload"], "payload_digest" | "basis_digest">;

/** What a decision names of the gate as it stands. A rejection that was judged though the basis had changed named none. */
function namedOf({ record }: RecordedLog, gateId: string, decision: Decided["decision"]): Named {
  const { payload_digest, basis_digest } = record.gates.get(gateId) ?? {};
  return {
    ...(payload_digest !== undefined && { payload_digest }),
    ...(basis_digest !== undefined && decision === "approve" && { basis_digest }),
  };
}

/** The vote that found what a gate rests on changed left nothing of itself: whoever asks finds it. */
function readMoved(event: LedgerEvent, { log }: Reading): Word | null {
  const { cause, gate } = payloadOf(event, "GATE_REVISED");
  if (cause !== "basis") return null;
  const { gate_id } = gate;
  const asked = {
    decision: "approve",
    principal: { ...event.actor, role: "system" },
    gate_id,
    payload: namedOf(log, gate_id, "approve"),
  };
  return { kind: "decision", request: requestOf(event, asked as Decided), auth: log.record.auth };
}

/** One id may stand for a user and for a service. */
const isBy = (one: PrincipalRef | null | undefined, other: PrincipalRef | undefined): boolean =>
  one != null && other !== undefined && isSamePrincipal(one, other);

/** A seat that was lent; one that policy refused to have lent leaves its judgement only. */
function readDelegation(event: LedgerEvent, left: readonly LedgerEvent[]): Word | null {
  const { by, subject: gate_id } = payloadOf(event, "POLICY_DECIDED");
  if (by?.to === undefined) return null;
  const { principal, auth, to } = by;
  const isLoan = (loan: EventPayloads["GATE_DELEGATED"]): boolean =>
    loan.gate_id === gate_id && isBy(loan.from, principal) && isBy(loan.to, to);
  const lent = findAmong(left, { type: "GATE_DELEGATED", stepId: event.step_id, fits: isLoan });
  const expires_at = lent?.payload.expires_at ?? "9999-12-31T00:00:00.000Z";
  const request = DelegationRequest.parse({
    tenant_id: event.tenant_id,
    principal,
    gate_id,
    to: { ...to },
    expires_at,
  });
  return { kind: "delegation", request, auth };
}

/**
 * An edit as it was put to policy: the whole content or payload, which merges to the same as what the person sent; where
 * policy knew it already, or had any of it masked, as the gate shows it. Null where none is on record. Of one that
 * was refused something else than the mask stands for what was masked: with that it may be what the gate shows.
 */
function editOf({ step_id: stepId }: LedgerEvent, left: readonly LedgerEvent[], until: number): Json | null {
  const before = left.filter(({ sequence }) => sequence < until);
  const put = (stage: string) =>
    findAmong(before, { type: "POLICY_DECIDED", stepId, fits: (asked) => asked.stage === stage });
  const judged = put("outcome") ?? put("action");
  const { payload: kept, payload_hash, transform = null, redactions = [] } = judged?.payload ?? {};
  const revised = findAmong(before, { type: "GATE_REVISED", stepId, fits: ({ cause }) => cause === "edit" });
  if (kept !== undefined)
    return revised !== null || digest(kept) === payload_hash ? kept : redact(kept, redactions, unknownText);
  // What policy replaced and masked is kept as that alone.
  if (revised === null) return transform === null ? null : redact(transform, redactions, unknownText);
  const made = before.filter(({ sequence }) => sequence < revised.sequence);
  const drafted = findAmong(made, { type: "OUTCOME_DRAFTED", stepId });
  return drafted === null ? revised.payload.gate.payload : drafted.payload.outcome.content;
}

/** An edit that was refused, and that policy knew already or kept nothing of, is told by what it was put to stage gate as. */
function judgedBefore({ step_id: stepId }: LedgerEvent, left: readonly LedgerEvent[], log: RecordedLog): Json | null {
  const [, own] = left.filter((one) => one.step_id === stepId && one.payload["stage"] === "gate");
  const shownBy = ({ payload, transform }: EventPayloads["POLICY_DECIDED"]): Json | null => payload ?? transform;
  const fits = (judged: EventPayloads["POLICY_DECIDED"]): boolean =>
    own !== undefined && digest(shownBy(judged)) === own.payload["payload_hash"];
  const judged = findAmong(log.events, { type: "POLICY_DECIDED", stepId, fits });
  return judged === null ? null : shownBy(judged.payload);
}

/** What a person knew of a lost call stands in the event that settled it. */
function settledAs(left: readonly LedgerEvent[], stepId: string | null): Json {
  const settled = findAmong(left, { type: "ACTION_SETTLED", stepId });
  return settled === null ? null : payloadOf(settled, "ACTION_SETTLED").result;
}

// --- commands ---

function readCommand(recorded: RecordedInput, log: RecordedLog): Command {
  const { of, objective = "" } = recorded.told;
  if (of === "sleep" || of === "activate") return { kind: of };
  if (of === "pivot") return { kind: of, objective };
  const left = leftBy(recorded, log);
  return (of === "cancel" ? readCancel(left, log) : readRestart(left, log)) ?? refused(log);
}

/** One that left nothing is refused again: of another tenant there is no such workflow. */
const refused = ({ record: { auth, tenant_id } }: RecordedLog): Command => ({
  kind: "cancel",
  reason: "",
  principal: nobody,
  auth: { ...auth, tenant_id: `not ${tenant_id}` },
});

function readCancel(left: readonly LedgerEvent[], { record: { auth } }: RecordedLog): Command | null {
  const event = left.find(({ event_type: type }) => type === "WORKFLOW_CANCELLING" || type === "WORKFLOW_CANCELLED");
  if (event === undefined) return null;
  const { reason, principal } = payloadOf(event, "WORKFLOW_CANCELLED");
  return { kind: "cancel", reason, principal: principal ?? nobody, auth };
}

/** A restart of what failed, or a regeneration of what waits or failed. */
function readRestart(left: readonly LedgerEvent[], { record: { auth } }: RecordedLog): Command | null {
  const find = (wanted: EventType): LedgerEvent | undefined => left.find(({ event_type: type }) => type === wanted);
  const [restarted, resumed, planned] = [find("WORKFLOW_RESTARTED"), find("WORKFLOW_RESUMED"), find("PLAN_CREATED")];
  if (restarted !== undefined && restarted.payload["mode"] !== "regenerate") {
    const { principal, feedback } = payloadOf(restarted, "WORKFLOW_RESTARTED");
    return {
      kind: "retry",
      mode: "resume_failed_steps",
      step_ids: undefined,
      principal,
      feedback: feedback ?? undefined,
      auth,
    };
  }
  if (planned === undefined || (restarted ?? resumed) === undefined) return null;
  const { principal = null, feedback } =
    restarted === undefined
      ? payloadOf(resumed as LedgerEvent, "WORKFLOW_RESUMED")
      : payloadOf(restarted, "WORKFLOW_RESTARTED");
  const { named } = payloadOf(planned, "PLAN_CREATED");
  return { kind: "retry", mode: "regenerate", step_ids: named, principal, feedback: feedback ?? undefined, auth };
}
