/**
 * A person's decision, from the request to the ledger.
 *
 * 1.  The first decision wins; repeating it gets the recorded answer; a different one is refused (409).
 * 2.  An edit makes a new version, is checked like any payload, and the gate is bound to it before it is approved.
 * 3.  Nothing is answered before it is committed.
 * 4.  name-gate.ts finds the gate of a decision; keep-decision.ts keeps one that comes before its gate opens.
 */

import {
  agreesWithVotes,
  isSeatTaken,
  isSpent,
  requestersOf,
  standingVote,
  tallyOf,
} from "../../../../../machines/quorum.ts";
import { saysSame } from "../../../../contract/approval-claims.ts";
import { hasSameBasis } from "../../../../contract/basis.ts";
import { digest } from "../../../../contract/digest.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft, type GateDecided } from "../../../../contract/event.ts";
import { fieldErrorsOf } from "../../../../contract/field-error.ts";
import { type Gate, type GateResponse, isOpenGate, type ParsedGateRequest } from "../../../../contract/gate.ts";
import type { JudgedDecision } from "../../../../contract/messages/t5.ts";
import { unmetOf } from "../../../../contract/workflow.ts";
import { judgementOfNow } from "../call/admit-payload.ts";
import { findKnownOperator } from "../payload/prepare-step.ts";
import { failStep } from "../run/end-step.ts";
import type { DecisionCommand } from "../run/input.ts";
import { toHost } from "../run/intention.ts";
import { refuseAt, requireRoom } from "../run/refuse-at-gate.ts";
import { ask, gateNow, isOutdated, oodaRef, type Run, showsNewest, stepOf } from "../run/run.ts";
import { castVote, endIfRejected } from "./cast-vote.ts";
import { requireNamedBasis, requireSameBasis, requireSameJudgement } from "./check-basis.ts";
import { isPlainRejection, isRegistered, requireRunnable } from "./check-runnable.ts";
import { goesOnByItself, prepareEdit, reviseForPolicy, showsEdit } from "./edit-gate.ts";
import { approvalsAt, judgeDecision, type Question } from "./judge-decision.ts";
import { type GivenDecision, keepDecision, requireNoSettlement } from "./keep-decision.ts";
import { gateMet, gateReachedBefore, isOnEarlier, isOnNewest } from "./name-gate.ts";
import { readAnswerAt } from "./read-answer.ts";

/**
 * Decides a gate, or keeps a decision for a gate that is not open yet.
 * @throws KernelErrorException T5_GATE_UNNAMED, T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_AMBIGUOUS,
 * T5_AUTHZ_FORBIDDEN, T5_POLICY_DENIED, T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID, T5_GATE_FULL,
 * T5_GATE_NOT_RUNNABLE, T5_EDIT_WITHOUT_EFFECT, T5_RESULT_INVALID, T5_ANSWER_INVALID.
 */
export function decideGate(run: Run, command: DecisionCommand): GateResponse {
  const { request: asked, auth } = command;
  const gateId = run.scopes.keep("gate", () => gateMet(run.log.record, command));
  const standing = run.log.record.gates.get(gateId);
  if (standing === undefined) return keepDecision(run, gateId, { request: asked, auth });
  const request = readAnswerAt(standing, parseResult(run, standing, asked));
  const answered = answerFromRecord(run, standing, request);
  if (answered !== null) return answered;
  const first = run.scopes.keep("first", () => standing);
  const ready = requireRunnable(run, standing, request);
  // A rejection runs nothing, so it is taken under every policy, and by a process that could not run the call. Once the
  // time of a gate is over whose expiry lets its step continue, the present policy judges the gate first.
  const isTimely = !goesOnByItself(standing, run.now);
  if (!(isPlainRejection(request) && isTimely) && isOutdated(run, standing) && isRegistered(run))
    return reviseForPolicy(run, standing);
  if (ready !== null && hasSameBasis(first, standing)) requireSameBasis(run, standing, ready);
  const ofNow = ready === null ? null : judgementOfNow(run, ready, 0);
  const shown = approvalsAt(first) === approvalsAt(standing) ? first : standing;
  const judged = judge(run, shown, { request, auth, call: ofNow === null ? ready : null });
  requireUnchanged(run, { standing: first, still: standing }, judged);
  const decision = judged.call ?? ofNow;
  if (ready !== null && decision !== null && !judged.seat.advisory)
    requireSameJudgement(run, standing, { prepared: ready, decision });
  const edited = request.payload.edit === undefined ? null : prepareEdit(run, standing, request);
  if (!judged.seat.advisory && edited === null) requireAgreement(standing, request);
  if (judged.seat.advisory) requireRoom(run, gateId, adviceAt(standing));
  if (edited !== null) requireRoom(run, gateId, standing.spent_signatures);
  const isRevised = edited !== null && (isForOthers(standing) || edited.isUnseen);
  if (edited !== null && !isRevised) judge(run, edited.shown, { request, auth, key: "judge:edited" });
  const gate = edited?.note(standing, { decides: !isRevised }) ?? standing;
  if (!isRevised) apply(run, gate, { request, judged });
  return respond(run, gateId, isRevised ? "revised" : request.decision);
}

/**
 * Parses the result that a person states of a lost call by the operator's output schema, like a result of the operator.
 * If the operator is not registered, the result is kept unchanged.
 * @throws KernelErrorException T5_RESULT_INVALID.
 */
function parseResult(run: Run, gate: Gate, request: ParsedGateRequest): ParsedGateRequest {
  const { resolution, result } = request.payload;
  const operator = findKnownOperator(run, stepOf(run, gate.step_id).step);
  if (gate.kind !== "in_doubt" || resolution !== "done" || result === undefined || operator === null) return request;
  const { name, version } = operator.metadata;
  const reading = ask(run, "parse_result", toHost("parse_result", { name, version, result }));
  if (reading.ok) return { ...request, payload: { ...request.payload, result: reading.value } };
  const errors = reading.error === null ? [] : fieldErrorsOf(reading.error, ["payload", "result"]);
  const message = `the result that is stated of ${name} does not pass its output schema: ${reading.problem}`;
  return refuseAt(gate.gate_id, message, { code: "T5_RESULT_INVALID", detail: { operator: name, errors } });
}

/** Requires an approval that agrees with the standing ones. @throws KernelErrorException T5_GATE_CONFLICT. */
function requireAgreement(gate: Gate, request: ParsedGateRequest): void {
  if (agreesWithVotes(gate, { ...request, ...request.payload })) return;
  const { gate_id, kind } = gate;
  const message =
    kind === "ask"
      ? `the votes at ${gate_id} give another answer; all that approve give the same one, so agree on it, or withdraw`
      : `the votes at ${gate_id} would have it applied elsewhere; name their apply_targets`;
  refuseAt(gate_id, message);
}

/** Returns the answer to a command at a gate: the decision if it closed the gate, and the present votes. */
export function respond(
  run: Run,
  gateId: string,
  command: "approve" | "reject" | "withdrawn" | "delegated" | "noted" | "revised",
): GateResponse {
  const { workflow_id, correlation_id } = run.log.record;
  const gate = gateNow(run, gateId);
  const tally = gate.quorum === null && gate.votes.length === 0 ? {} : { tally: tallyOf(gate) };
  const decided = { approve: "resumed", reject: "rejected" } as const;
  const isDecision = command === "approve" || command === "reject";
  const status = !isDecision ? command : isOpenGate(gate) ? "voted" : decided[command];
  return { workflow_id, status, correlation_id, ...tally };
}

const adviceAt = ({ votes }: Gate): Gate["votes"] => votes.filter((vote) => vote.advisory);

/** Answers a repeated decision from the record; returns null for a new one. */
function answerFromRecord(run: Run, gate: Gate, request: ParsedGateRequest): GateResponse | null {
  requireTarget(gate, request.payload);
  if (isOpenGate(gate)) {
    const edited = answerEdit(run, gate, request);
    if (edited !== null) return edited;
    checkOpen(run, gate, request);
    const voted = answerVote(run, gate, request);
    if (voted === null) requireNewKey(run, gate, request);
    return voted;
  }
  const { gate_id, status, decision } = gate;
  const alike =
    decision?.decision === request.decision && isSamePayload(run, gate, request) && saysSame(decision, request);
  if (alike && status !== "voided") return respond(run, gate_id, request.decision);
  const detail = { status, decision: decision?.decision ?? null };
  return refuseAt(gate_id, `${gate_id} is ${status} already`, { detail });
}

/** Refuses an idempotency key whose vote was withdrawn or voided: the same request does not give the vote again. */
function requireNewKey({ log: { record } }: Run, { gate_id }: Gate, request: ParsedGateRequest): void {
  if (gateReachedBefore(record, request) === null) return;
  refuseAt(gate_id, "the decision under this idempotency key does not stand any more; give a new one a key of its own");
}

/**
 * Answers a decision that repeats the person's own standing vote, and refuses one for a seat that has voted otherwise
 * or by another person. A vote with another edit is new, since an edit voids all votes.
 */
function answerVote(run: Run, gate: Gate, { principal, decision, payload }: ParsedGateRequest): GateResponse | null {
  const isNew = payload.edit !== undefined && !showsEdit(run, gate, payload.edit);
  const vote = isNew ? null : standingVote(gate, principal, run.settings.same);
  if (vote === null) return null;
  const isOwn = run.settings.same(vote.principal, principal);
  if (isOwn && vote.decision === decision && saysSame(vote, { payload })) return respond(run, gate.gate_id, decision);
  const { type, id } = vote.principal;
  const otherwise = !isOwn ? `by ${type} ${id}` : vote.decision === decision ? "but otherwise" : "already";
  const message = `this seat has voted to ${vote.decision} ${otherwise}; withdraw that vote first`;
  return refuseAt(gate.gate_id, message, { detail: { decision: vote.decision } });
}

/**
 * Returns whether an edit decides nothing: its version has to be signed, approved by another person than its editor, or
 * shown to the first stage.
 */
const isForOthers = ({ signed, separation, stages }: Gate): boolean => signed || separation || stages !== undefined;

/** Answers a repeated edit that made what the gate shows; the request names the version that it was made on. */
function answerEdit(run: Run, gate: Gate, request: ParsedGateRequest): GateResponse | null {
  const { edit, payload_digest } = request.payload;
  if (edit === undefined || !isOnEarlier(gate, payload_digest) || !showsEdit(run, gate, edit)) return null;
  if (isForOthers(gate)) return respond(run, gate.gate_id, "revised");
  const { same } = run.settings;
  const vote = standingVote(gate, request.principal, same);
  if (vote?.decision === request.decision && same(vote.principal, request.principal))
    return respond(run, gate.gate_id, request.decision);
  const isTheirs = requestersOf(gate).some((one) => same(one, request.principal));
  return isTheirs ? respond(run, gate.gate_id, "revised") : null;
}

/** A gate as it was judged, and in its present state. */
interface Looked {
  readonly standing: Gate;
  readonly still: Gate;
}

/**
 * Requires that the gate is still as it was judged: the same payload under the same policy, the same people asked, and
 * the seat still free. @throws KernelErrorException T5_GATE_CONFLICT.
 */
function requireUnchanged(run: Run, { standing, still }: Looked, { seat }: JudgedDecision): void {
  const { gate_id } = still;
  const isSameShown = still.payload_digest === standing.payload_digest && hasSameBasis(still, standing);
  const isBound =
    still.target?.version === standing.target?.version && still.policy_version === standing.policy_version;
  if (!isSameShown || !isBound) refuseAt(gate_id, `${gate_id} was opened again on a new version meanwhile; look again`);
  if (seat.on_behalf_of !== null && isSeatTaken(still, seat.on_behalf_of, run.settings.same))
    refuseAt(gate_id, `this seat at ${gate_id} was taken meanwhile`);
  if (whoDecides(still) !== whoDecides(standing)) refuseAt(gate_id, `${gate_id} asks others meanwhile; look again`);
}

/** Returns the people that a gate asks, with its remaining escalations, as a text for comparison. */
export const whoDecides = (gate: Gate): string => {
  const { roles, approvers, added_roles = [], ladder, delegations, requesters, stage } = gate;
  return JSON.stringify([roles, approvers, added_roles, ladder.length, delegations, requesters, stage]);
};

/** Returns whether a decision concerns the decided payload: as it was shown, or with the same edit. */
function isSamePayload(run: Run, gate: Gate, { payload }: ParsedGateRequest): boolean {
  const { edit, payload_digest } = payload;
  if (edit === undefined) return payload_digest === undefined || payload_digest === gate.payload_digest;
  return gate.decision?.edited === true && showsEdit(run, gate, edit);
}

function checkOpen(run: Run, gate: Gate, request: ParsedGateRequest): void {
  const { payload } = request;
  const { gate_id, payload_digest } = gate;
  if (digest(gate.payload) !== payload_digest)
    refuseAt(gate_id, `${gate_id} does not show the payload that it was opened with; verify the ledger`);
  // If no digest is named, a signature itself states the payload that it covers.
  const named = payload.payload_digest ?? (payload.signature === undefined ? undefined : payload_digest);
  if (!isOnNewest(gate, named)) {
    const message = `${gate_id} was revised, or shows another payload than the one decided on; look again`;
    refuseAt(gate_id, message, { detail: { payload_digest } });
  }
  if (gate.kind !== "in_doubt") requireNoSettlement(gate_id, payload);
  if (payload.resolution === "retry" && run.log.record.state === "cancelling")
    refuseAt(gate_id, 'the workflow was cancelled and calls nothing again; say "done", or reject if nothing was done');
  requireNamedBasis(run, gate, request);
  const isReady = unmetOf(run.log.record, stepOf(run, gate.step_id).step) === undefined;
  if (gate.kind !== "in_doubt" && !(isReady && showsNewest(run, gate)))
    refuseAt(gate_id, `what ${gate_id} is about is being made again`);
}

/**
 * Requires that an outcome named by a decision is the one that the gate applies. @throws KernelErrorException
 * T5_GATE_CONFLICT.
 */
function requireTarget({ gate_id, target }: Gate, { target: named }: ParsedGateRequest["payload"]): void {
  if (named === undefined) return;
  if (target === null) return refuseAt(gate_id, `${gate_id} is about no outcome; leave payload.target out`);
  const { type, outcome_id } = target;
  if (named.type !== type || named.outcome_id !== outcome_id)
    refuseAt(gate_id, `${gate_id} is about another outcome`, { detail: { type, outcome_id } });
}

/**
 * Judges a decision. @throws KernelErrorException as T5 does; T5_POLICY_DENIED; T5_SIGNATURE_INVALID for a signed edit.
 */
function judge(run: Run, gate: Gate, { request, auth, ...question }: GivenDecision & Question): JudgedDecision {
  const { signature = null, edit } = request.payload;
  if (signature !== null && edit !== undefined)
    refuseAt(gate.gate_id, "an edit makes a new version; sign that one once it is shown", {
      code: "T5_SIGNATURE_INVALID",
    });
  const judged = judgeDecision(
    run,
    gate,
    { ...commandOf(gate, request), auth, signature, edits: edit !== undefined },
    question,
  );
  const { decision: verdict, reason, policies } = judged.policy;
  if (verdict !== "DENY") return judged;
  const denied = { code: "T5_POLICY_DENIED", detail: { policies } } as const;
  return refuseAt(gate.gate_id, reason || "policy does not let this person decide", denied);
}

function apply(
  run: Run,
  gate: Gate,
  { request, judged }: { readonly request: ParsedGateRequest; readonly judged: JudgedDecision },
): void {
  const { comment = null, edit } = request.payload;
  const { seat, signature } = judged;
  const command = commandOf(gate, request);
  const { idempotency_key } = request;
  if (request.payload.signature !== undefined) requireUnused(gate, judged);
  castVote(run, gate, { ...command, seat, signature, comment, edited: edit !== undefined, idempotency_key });
  if (gate.kind !== "in_doubt") endIfRejected(run, gate);
  else if (!seat.advisory) settleDoubt(run, gate, command);
}

/**
 * Requires that the signature was not used since it was judged, by the same request sent twice. A row has no signature
 * that none of its votes holds: a replay meets none here, and comes to the same refusal.
 * @throws KernelErrorException T5_GATE_CONFLICT.
 */
function requireUnused(gate: Gate, { seat, signature }: JudgedDecision): void {
  if (!seat.advisory && (signature === null || isSpent(gate, signature.jws)))
    refuseAt(gate.gate_id, `this signature was used at ${gate.gate_id} meanwhile; sign anew`);
}

/** Returns the members of a decision that change its effect. */
function commandOf(gate: Gate, request: ParsedGateRequest) {
  const { decision, principal, payload } = request;
  const { result = null, answer, apply_targets } = payload;
  return { decision, principal, resolution: resolutionOf(gate, request), result, answer, apply_targets };
}

function resolutionOf({ kind, gate_id }: Gate, { decision, payload }: ParsedGateRequest): GateDecided["resolution"] {
  if (kind !== "in_doubt") return null;
  const { resolution, result } = payload;
  if (result !== undefined && resolution !== "done") refuseAt(gate_id, 'only payload.resolution "done" has a result');
  if (decision === "approve")
    return resolution ?? refuseAt(gate_id, 'an in-doubt gate needs payload.resolution "done" or "retry"');
  return resolution === undefined ? "failed" : refuseAt(gate_id, "a rejection says itself that the call failed");
}

/** Records a person's statement about a lost call as the end of the call. */
function settleDoubt(
  run: Run,
  gate: Gate,
  { resolution, result }: Pick<ReturnType<typeof commandOf>, "resolution" | "result">,
): void {
  const { step_id, operator } = gate;
  const { action_id } = stepOf(run, step_id);
  if (action_id === null || resolution === null) return;
  const settled = { action_id, resolution, result: resolution === "done" ? result : null };
  run.log.note(draft("ACTION_SETTLED", settled, step_id));
  if (resolution !== "failed") return;
  const message = "a person settled the lost call as failed";
  failStep(
    run,
    step_id,
    kernelError("T4_DEPENDENCY_FAILED", message, oodaRef("decide_gate"), { detail: { operator } }),
  );
}
