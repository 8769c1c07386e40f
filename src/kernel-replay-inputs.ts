/**
 * What came from outside, read back from the events it left: decisions, cancellations, restarts (C-37).
 *
 * Owns: the table "event type → how its input is given again". Never: judges whether an event is an input: an event that
 * the kernel comes to by itself has come before anybody looks here.
 */

import { isSamePrincipal } from "../machines/quorum.ts";
import type { AuthContext } from "./contract/auth-context.ts";
import { type EventType, type LedgerEvent, payloadOf } from "./contract/event.ts";
import { DelegationRequest, GateRequest, type ParsedGateRequest } from "./contract/gate.ts";
import type { PrincipalRef } from "./contract/gate-vote.ts";
import type { Principal } from "./contract/intent.ts";
import type { Json } from "./contract/json.ts";
import type { RecordedSource } from "./runtime/recorded-source.ts";
import { admitPayload } from "./tiers/t4-execution/admit-payload.ts";
import { askBasisAgain } from "./tiers/t4-execution/check-basis.ts";
import { judgeDecision } from "./tiers/t4-execution/judge-decision.ts";
import { decideGate } from "./tiers/t4-execution/judge-gate.ts";
import { delegateGate, withdrawVote } from "./tiers/t4-execution/lend-seat.ts";
import { checkPayload, prepareStep } from "./tiers/t4-execution/prepare-step.ts";
import { restartWorkflow } from "./tiers/t4-execution/restart-workflow.ts";
import type { WorkflowRun } from "./tiers/t4-execution/workflow-run.ts";

/** Gives the input again, on the workflow's run. */
export type Input = (run: WorkflowRun) => Promise<unknown>;

type Reading = (event: LedgerEvent, record: RecordedSource) => Input | null;

/** The input that left this event first, by its type; null where the event is none. */
export function inputOf(event: LedgerEvent, record: RecordedSource): Input | null {
  return inputs[event.event_type]?.(event, record) ?? null;
}

const inputs: { readonly [T in EventType]?: Reading } = {
  POLICY_DECIDED: (event, record) =>
    payloadOf(event, "POLICY_DECIDED").stage === "gate" ? readDecision(event, record) : readRepair(event),
  GATE_DECISION_KEPT: (event) => {
    const { auth, decision, principal, gate_id, payload_digest, apply_targets } = payloadOf(
      event,
      "GATE_DECISION_KEPT",
    );
    const request = requestOf(event, { decision, principal, gate_id, payload: { payload_digest, apply_targets } });
    return (run) => decideGate(run, request, auth);
  },
  GATE_REVISED(event) {
    const { cause, gate } = payloadOf(event, "GATE_REVISED");
    return cause === "basis" ? (run) => askBasisAgain(run, gate.gate_id) : null;
  },
  GATE_VOTE_WITHDRAWN(event) {
    const { gate_id } = payloadOf(event, "GATE_VOTE_WITHDRAWN");
    const principal = { ...event.actor, role: "" };
    return (run) => withdrawVote(run, { tenant_id: event.tenant_id, principal, gate_id });
  },
  ACTION_IN_DOUBT: readCancel,
  STEP_SKIPPED: readCancel,
  WORKFLOW_CANCELLED: readCancel,
  WORKFLOW_RESTARTED: readRestart,
  WORKFLOW_RESUMED: readRestart,
};

interface Decided {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly gate_id: string;
  readonly payload: object;
}

const requestOf = ({ tenant_id }: LedgerEvent, decided: Decided): ParsedGateRequest =>
  GateRequest.parse({ tenant_id, ...decided });

/** A decision begins with T5's judgement of who decides; what was decided follows, unless it was refused. */
function readDecision(event: LedgerEvent, record: RecordedSource): Input | null {
  const { by, subject: gate_id, decision: judged } = payloadOf(event, "POLICY_DECIDED");
  if (by === undefined) return null;
  const { auth, decision, principal } = by;
  if (decision === "delegate") return readDelegation(event, record, { ...by, gate_id });
  const closing = judged === "DENY" ? null : closingOf(event, record, { decision, principal, gate_id });
  const voted = judged === "DENY" ? null : voteOf(event, record, { decision, principal, gate_id });
  const edit = editOf(event, record, { closing, voted });
  if (closing === null && voted === null && edit === null)
    return (run) => judgeAgain(run, gate_id, { decision, principal, auth });
  const decided = closing === null ? null : payloadOf(closing, "USER_APPROVED");
  const vote = voted === null ? null : payloadOf(voted, "GATE_VOTED");
  const said = decided ?? vote;
  const signature = vote?.signature ?? decided?.signature;
  const payload = {
    ...(edit === null ? {} : { edit }),
    ...(decided === null ? {} : { apply_targets: decided.apply_targets }),
    ...(said?.comment == null ? {} : { comment: said.comment }),
    ...(signature == null ? {} : { signature: signature.jws }),
    ...(decided?.resolution === "done" || decided?.resolution === "retry" ? { resolution: decided.resolution } : {}),
    ...settledAs(record, closing),
  };
  return (run) =>
    decideGate(run, requestOf(event, { decision, principal, gate_id, payload: onShown(run, gate_id, payload) }), auth);
}

/** What was judged was on what the gate showed then, and on what that rested on. */
function onShown({ log }: WorkflowRun, gateId: string, payload: object): object {
  const gate = log.record.gates.get(gateId);
  if (gate === undefined) return payload;
  const { payload_digest, basis_digest } = gate;
  return { ...payload, payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
}

/** An attempt to decide that was refused, or came after another's, leaves its judgement only. */
async function judgeAgain(
  run: WorkflowRun,
  gateId: string,
  by: { readonly decision: "approve" | "reject"; readonly principal: Principal; readonly auth: AuthContext },
): Promise<void> {
  const gate = run.log.record.gates.get(gateId);
  if (gate === undefined) return;
  await judgeDecision(run, gate, by);
  await run.log.commit();
}

/** One id may stand for a user and for a service. */
const isBy = (one: PrincipalRef | null | undefined, other: PrincipalRef | undefined): boolean =>
  one != null && other !== undefined && isSamePrincipal(one, other);

/** Where the same person's next attempt at deciding this gate so begins. */
function nextAttempt(event: LedgerEvent, record: RecordedSource): number {
  const { by, subject } = payloadOf(event, "POLICY_DECIDED");
  const again = record.peek("POLICY_DECIDED", event.step_id, (later) => {
    const asked = payloadOf(later, "POLICY_DECIDED");
    const isTheirs = isBy(asked.by?.principal, by?.principal) && asked.by?.decision === by?.decision;
    return asked.stage === "gate" && asked.subject === subject && isTheirs && later.sequence > event.sequence;
  });
  return again?.sequence ?? Number.POSITIVE_INFINITY;
}

/** The vote that the judgement led to, where the gate takes several. */
function voteOf(
  event: LedgerEvent,
  record: RecordedSource,
  { decision, principal, gate_id }: Omit<Decided, "payload">,
): LedgerEvent | null {
  const until = nextAttempt(event, record);
  return record.peek("GATE_VOTED", event.step_id, (later) => {
    const vote = payloadOf(later, "GATE_VOTED");
    const isTheirs = vote.gate_id === gate_id && isBy(vote.principal, principal) && vote.decision === decision;
    return isTheirs && later.sequence < until;
  });
}

interface Lending {
  readonly gate_id: string;
  readonly principal: Principal;
  readonly auth: AuthContext;
  readonly to?: PrincipalRef;
}

/** A seat that was lent; one that policy refused to have lent leaves its judgement only. */
function readDelegation(event: LedgerEvent, record: RecordedSource, lending: Lending): Input | null {
  const { gate_id, principal, auth, to } = lending;
  if (to === undefined) return null;
  const lent = record.peek("GATE_DELEGATED", event.step_id, (later) => {
    const { from, ...loan } = payloadOf(later, "GATE_DELEGATED");
    return loan.gate_id === gate_id && isBy(from, principal) && isBy(loan.to, to);
  });
  const until = lent === null ? "9999-12-31T00:00:00.000Z" : payloadOf(lent, "GATE_DELEGATED").expires_at;
  const request = { tenant_id: event.tenant_id, principal, gate_id, to: { ...to }, expires_at: until };
  return (run) => delegateGate(run, DelegationRequest.parse(request), auth);
}

function closingOf(
  event: LedgerEvent,
  record: RecordedSource,
  { decision, principal, gate_id }: Omit<Decided, "payload">,
): LedgerEvent | null {
  const type = decision === "approve" ? "USER_APPROVED" : "USER_REJECTED";
  const until = nextAttempt(event, record);
  return record.peek(type, event.step_id, (later) => {
    const decided = payloadOf(later, type);
    return decided.gate_id === gate_id && isBy(decided.principal, principal) && later.sequence < until;
  });
}

/** What a judgement led to: the decision, and the vote where the gate takes several. */
interface Said {
  readonly closing: LedgerEvent | null;
  readonly voted: LedgerEvent | null;
}

/**
 * An edit as it was put to policy: the whole content or payload, which merges to the same as what the person sent; where
 * policy knew it already, as the gate shows it. Null when nothing was edited.
 */
function editOf(event: LedgerEvent, record: RecordedSource, { closing, voted }: Said): Json | null {
  if (closing !== null && !payloadOf(closing, "USER_APPROVED").edited) return null;
  const until = voted?.sequence ?? closing?.sequence ?? nextAttempt(event, record);
  const isPut = (stage: string) => (later: LedgerEvent) => {
    const asked = payloadOf(later, "POLICY_DECIDED");
    return asked.stage === stage && asked.payload !== undefined && later.sequence < until;
  };
  const put =
    record.peek("POLICY_DECIDED", event.step_id, isPut("outcome")) ??
    record.peek("POLICY_DECIDED", event.step_id, isPut("action"));
  if (put !== null) return payloadOf(put, "POLICY_DECIDED").payload ?? null;
  const isBefore = ({ sequence }: LedgerEvent): boolean => sequence < until;
  const revised = closing === null ? null : record.peek("GATE_REVISED", event.step_id, isBefore);
  if (revised === null) return null;
  const drafted = record.peek("OUTCOME_DRAFTED", event.step_id, ({ sequence }) => sequence < revised.sequence);
  return drafted === null
    ? payloadOf(revised, "GATE_REVISED").gate.payload
    : payloadOf(drafted, "OUTCOME_DRAFTED").outcome.content;
}

/** What a person knew of a lost call stands in the event that settled it. */
function settledAs(record: RecordedSource, closing: LedgerEvent | null): object {
  if (closing === null || payloadOf(closing, "USER_APPROVED").resolution !== "done") return {};
  const settled = record.peek("ACTION_SETTLED", closing.step_id);
  return settled === null ? {} : { result: payloadOf(settled, "ACTION_SETTLED").result };
}

/** A tool's call that was put right on its way was put to policy again. */
function readRepair(event: LedgerEvent): Input | null {
  const { stage, payload } = payloadOf(event, "POLICY_DECIDED");
  if (stage !== "action" || payload === undefined) return null;
  return async (run) => {
    const prepared = await prepareStep(run, event.step_id as string);
    const input = await checkPayload(run, prepared.operator, payload);
    await admitPayload(run, { ...prepared, payload, input }, { keep: true });
  };
}

/** A person's cancellation: first what it left open is named, then the end. */
function readCancel(event: LedgerEvent, record: RecordedSource): Input | null {
  const end = record.find((e) => !["ACTION_IN_DOUBT", "STEP_SKIPPED"].includes(e.event_type));
  if (end?.event_type !== "WORKFLOW_CANCELLED" || end.timestamp !== event.timestamp) return null;
  const { reason, principal } = payloadOf(end, "WORKFLOW_CANCELLED");
  return principal === null ? null : (run) => run.cancel(reason, principal);
}

/** A restart of what failed, or a regeneration of what waits or failed. */
function readRestart(event: LedgerEvent, record: RecordedSource): Input | null {
  const restarted = event.event_type === "WORKFLOW_RESTARTED" ? payloadOf(event, "WORKFLOW_RESTARTED") : null;
  const resumed = event.event_type === "WORKFLOW_RESUMED" ? payloadOf(event, "WORKFLOW_RESUMED") : null;
  const { mode = "regenerate", principal = resumed?.principal ?? null, feedback } = restarted ?? {};
  const planned = record.peek("PLAN_CREATED", null);
  const plan = planned === null ? null : payloadOf(planned, "PLAN_CREATED");
  if (restarted === null && (plan?.cause !== "regenerate" || !isBareResume(event))) return null;
  const step_ids = mode === "regenerate" ? plan?.named : undefined;
  return async (run) => {
    restartWorkflow(run, { mode, step_ids, principal, feedback: feedback ?? undefined });
    await run.log.commit();
  };
}

const isBareResume = (event: LedgerEvent): boolean => {
  const { gate_id, step_id } = payloadOf(event, "WORKFLOW_RESUMED");
  return gate_id === null && step_id === null;
};
