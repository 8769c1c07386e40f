/**
 * A person's decision, from the request to the ledger (seed 003 section 3.2; A-35, house section 3).
 *
 * J1  First decision wins; the same again gets the recorded answer; a contradicting one is refused (409).
 * J2  An edit makes a new version, is checked like any payload, and the gate is bound to it before it is approved.
 * J3  Nothing is answered before it is committed.
 * J4  Which gate a decision means: name-gate.ts. One that comes before its gate opens: keep-decision.ts.
 */

import { isSeatTaken, requestersOf, standingVote, tallyOf } from "../../../../machines/quorum.ts";
import type { AuthContext } from "../../../contract/auth-context.ts";
import { hasSameBasis } from "../../../contract/basis.ts";
import { digest } from "../../../contract/digest.ts";
import { raise } from "../../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../../contract/error-codes.ts";
import { draft, type GateDecided } from "../../../contract/event.ts";
import { type Gate, type GateResponse, isOpenGate, type ParsedGateRequest } from "../../../contract/gate.ts";
import type { Json, JsonObject } from "../../../contract/json.ts";
import { type Ballot, castVote, endIfRejected } from "./cast-vote.ts";
import { requireNamedBasis, requireSameBasis } from "./check-basis.ts";
import { requireRunnable } from "./check-runnable.ts";
import { prepareEdit, reviseForPolicy, showsEdit } from "./edit-gate.ts";
import { failStep } from "./end-step.ts";
import { type Judged, judgeDecision } from "./judge-decision.ts";
import { type Asked, keepDecision, requireNoSettlement } from "./keep-decision.ts";
import { requireRoom } from "./limit-gate.ts";
import { gateMeant, isOnEarlier, isOnNewest } from "./name-gate.ts";
import { isOutdated, oodaRef, type Run, showsNewest, stepOf } from "./run.ts";

const gateRef = oodaRef("decide_gate");

function refuse(code: ErrorCode, message: string, detail: JsonObject): never {
  return raise(kernelError(code, message, gateRef, { detail }));
}

/**
 * @throws KernelErrorException T5_GATE_UNNAMED, T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_AMBIGUOUS, T5_AUTHZ_FORBIDDEN, T5_POLICY_DENIED,
 *   T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID, T5_GATE_FULL, T5_GATE_NOT_RUNNABLE, T5_EDIT_WITHOUT_EFFECT.
 */
export function decideGate(run: Run, request: ParsedGateRequest, auth: AuthContext): GateResponse {
  const gateId = run.scopes.keep("gate", () => gateMeant(run.log.record, request));
  const standing = run.log.record.gates.get(gateId);
  if (standing === undefined) return keepDecision(run, gateId, { request, auth });
  const answered = answerFromRecord(run, standing, request);
  if (answered !== null) return answered;
  const first = run.scopes.keep("first", () => standing);
  const ready = requireRunnable(run, standing, request);
  if (isOutdated(run, standing)) return reviseForPolicy(run, standing);
  if (ready !== null && hasSameBasis(first, standing)) requireSameBasis(run, standing, ready);
  const judged = judge(run, first, { request, auth });
  requireUnchanged(run, { standing: first, still: standing }, judged);
  const edited = request.payload.edit === undefined ? null : prepareEdit(run, standing, request);
  if (judged.seat.advisory) requireRoom(run, gateId, adviceAt(standing));
  if (edited !== null) requireRoom(run, gateId, standing.spent_signatures);
  const gate = edited?.note(standing) ?? standing;
  const isRevised = edited !== null && (isForOthers(gate) || edited.isUnseen);
  if (!isRevised) apply(run, gate, { request, judged });
  return respond(run, gateId, isRevised ? "revised" : request.decision);
}

/** The answer to what was said to a gate: the decision where that closed it, and where the votes stand. */
export function respond(
  run: Run,
  gateId: string,
  word: "approve" | "reject" | "withdrawn" | "delegated" | "revised",
): GateResponse {
  const { workflow_id, correlation_id, gates } = run.log.record;
  const gate = gates.get(gateId) as Gate;
  const tally = gate.quorum === null && gate.votes.length === 0 ? {} : { tally: tallyOf(gate) };
  const decided = { approve: "resumed", reject: "rejected" } as const;
  const isWord = word === "approve" || word === "reject";
  const status = !isWord ? word : isOpenGate(gate) ? "voted" : decided[word];
  return { workflow_id, status, correlation_id, ...tally };
}

const adviceAt = ({ votes }: Gate): Gate["votes"] => votes.filter((vote) => vote.advisory);

/** What was said before is answered from the record; null for what is new. */
function answerFromRecord(run: Run, gate: Gate, request: ParsedGateRequest): GateResponse | null {
  if (isOpenGate(gate)) {
    const edited = answerEdit(run, gate, request);
    if (edited !== null) return edited;
    checkOpen(run, gate, request);
    return answerVote(run, gate, request);
  }
  const alike = gate.decision?.decision === request.decision && isSamePayload(gate, request);
  if (alike && gate.status !== "voided") return respond(run, gate.gate_id, request.decision);
  return refuse("T5_GATE_CONFLICT", `${gate.gate_id} is ${gate.status} already`, {
    gate_id: gate.gate_id,
    status: gate.status,
    decision: gate.decision?.decision ?? null,
  });
}

/** A vote that stands is answered; an edit voids it with all the others, and is new. */
function answerVote(run: Run, gate: Gate, { principal, decision, payload }: ParsedGateRequest): GateResponse | null {
  const isNew = payload.edit !== undefined && !showsEdit(gate, payload.edit);
  const vote = isNew ? null : standingVote(gate, principal, run.settings.same);
  if (vote === null) return null;
  if (vote.decision === decision) return respond(run, gate.gate_id, decision);
  return refuse("T5_GATE_CONFLICT", `this seat has voted to ${vote.decision} already; withdraw that vote first`, {
    gate_id: gate.gate_id,
    decision: vote.decision,
  });
}

/** What an edit made is still to be signed, or to be approved by somebody else than who made it. */
const isForOthers = ({ signed, separation }: Gate): boolean => signed || separation;

/** The edit that made what the gate shows is answered when it comes again: it names what it was made on. */
function answerEdit(run: Run, gate: Gate, request: ParsedGateRequest): GateResponse | null {
  const { edit, payload_digest } = request.payload;
  if (edit === undefined || !isOnEarlier(gate, payload_digest) || !showsEdit(gate, edit)) return null;
  if (isForOthers(gate)) return respond(run, gate.gate_id, "revised");
  const { same } = run.settings;
  const vote = standingVote(gate, request.principal, same);
  if (vote?.decision === request.decision) return respond(run, gate.gate_id, request.decision);
  const isTheirs = requestersOf(gate).some((one) => same(one, request.principal));
  return isTheirs ? respond(run, gate.gate_id, "revised") : null;
}

/** A gate as it was judged, and as it stands now. */
interface Looked {
  readonly standing: Gate;
  readonly still: Gate;
}

/** What was judged is what is decided: the same payload, asked of the same people, and a seat that is still free. */
function requireUnchanged(run: Run, { standing, still }: Looked, { seat }: Judged): void {
  const { gate_id } = still;
  const isSameShown = still.payload_digest === standing.payload_digest && hasSameBasis(still, standing);
  if (!isSameShown || still.target?.version !== standing.target?.version)
    refuse("T5_GATE_CONFLICT", `${gate_id} was opened again on a new version meanwhile; look again`, { gate_id });
  if (seat.on_behalf_of !== null && isSeatTaken(still, seat.on_behalf_of, run.settings.same))
    refuse("T5_GATE_CONFLICT", `this seat at ${gate_id} was taken meanwhile`, { gate_id });
  if (whoDecides(still) !== whoDecides(standing))
    refuse("T5_GATE_CONFLICT", `${gate_id} asks others meanwhile; look again`, { gate_id });
}

/** Whom a gate asks, and for whom, to be compared. */
export const whoDecides = ({ roles, approvers, delegations, requesters }: Gate): string =>
  JSON.stringify([roles, approvers, delegations, requesters]);

/** The same decision is one on the same payload: as it was shown, or with the very edit that was decided. */
function isSamePayload(gate: Gate, { payload }: ParsedGateRequest): boolean {
  const { edit, payload_digest } = payload;
  if (edit === undefined) return payload_digest === undefined || payload_digest === gate.payload_digest;
  return gate.decision?.edited === true && showsEdit(gate, edit);
}

function checkOpen(run: Run, gate: Gate, request: ParsedGateRequest): void {
  const { payload } = request;
  if (digest(gate.payload) !== gate.payload_digest)
    refuse("T5_GATE_CONFLICT", `${gate.gate_id} does not show the payload that it was opened with; verify the ledger`, {
      gate_id: gate.gate_id,
    });
  // A signature says itself what it was made on.
  if (!isOnNewest(gate, payload.payload_digest) && payload.signature === undefined) {
    refuse(
      "T5_GATE_CONFLICT",
      `${gate.gate_id} was revised, or shows another payload than the one decided on; look again`,
      {
        gate_id: gate.gate_id,
        payload_digest: gate.payload_digest,
      },
    );
  }
  if (gate.kind === "approval") requireNoSettlement(gate.gate_id, payload);
  requireNamedBasis(run, gate, request);
  if (payload.target !== undefined && gate.target !== null && payload.target.outcome_id !== gate.target.outcome_id) {
    refuse("T5_GATE_CONFLICT", `${gate.gate_id} is about another outcome`, {
      gate_id: gate.gate_id,
      outcome_id: gate.target.outcome_id,
    });
  }
  const unready = stepOf(run, gate.step_id).step.depends_on.some(
    (id) => run.log.record.steps.get(id)?.state !== "succeeded",
  );
  if (gate.kind === "approval" && (unready || !showsNewest(run, gate)))
    refuse("T5_GATE_CONFLICT", `what ${gate.gate_id} is about is being made again`, { gate_id: gate.gate_id });
}

/** @throws KernelErrorException what T5 raises; T5_POLICY_DENIED; T5_SIGNATURE_INVALID for a signed edit. */
function judge(run: Run, gate: Gate, { request, auth }: Asked): Judged {
  const { decision, principal, payload } = request;
  const { signature = null, edit } = payload;
  if (signature !== null && edit !== undefined)
    refuse("T5_SIGNATURE_INVALID", "an edit makes a new version; sign that one once it is shown", {
      gate_id: gate.gate_id,
    });
  const resolution = resolutionOf(gate, request);
  const by = { decision, principal, auth, resolution, signature, edits: edit !== undefined };
  const judged = judgeDecision(run, gate, by);
  if (judged.policy.decision !== "DENY") return judged;
  return refuse("T5_POLICY_DENIED", judged.policy.reason || "policy does not let this person decide", {
    gate_id: gate.gate_id,
    policies: judged.policy.policies,
  });
}

function apply(
  run: Run,
  gate: Gate,
  { request, judged }: { readonly request: ParsedGateRequest; readonly judged: Judged },
): void {
  const { decision, principal, payload } = request;
  const { apply_targets, comment = null } = payload;
  const resolution = resolutionOf(gate, request);
  const { seat, signature } = judged;
  const ballot: Ballot = {
    decision,
    principal,
    seat,
    signature,
    edited: payload.edit !== undefined,
    resolution,
    apply_targets,
    comment,
  };
  castVote(run, gate, ballot);
  if (gate.kind === "approval") endIfRejected(run, gate);
  else if (resolution !== null && !seat.advisory)
    settleDoubt(run, gate, { resolution, result: payload.result ?? null });
}

function resolutionOf(gate: Gate, { decision, payload }: ParsedGateRequest): GateDecided["resolution"] {
  if (gate.kind === "approval") return null;
  if (decision === "reject") return "failed";
  return (
    payload.resolution ??
    refuse("T5_GATE_CONFLICT", 'an in-doubt gate needs payload.resolution "done" or "retry"', { gate_id: gate.gate_id })
  );
}

/** What a person knows about a lost call becomes its end (house section 3). */
function settleDoubt(
  run: Run,
  gate: Gate,
  { resolution, result }: { readonly resolution: "done" | "retry" | "failed"; readonly result: Json },
): void {
  const step = stepOf(run, gate.step_id);
  if (step.action_id === null) return;
  run.log.note(
    draft(
      "ACTION_SETTLED",
      { action_id: step.action_id, resolution, result: resolution === "done" ? result : null },
      gate.step_id,
    ),
  );
  if (resolution === "failed")
    failStep(
      run,
      gate.step_id,
      kernelError("T4_DEPENDENCY_FAILED", "a person settled the lost call as failed", gateRef, {
        detail: { operator: gate.operator },
      }),
    );
}
