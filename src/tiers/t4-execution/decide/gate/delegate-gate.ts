/**
 * The withdrawal of a vote and the delegation of a seat.
 *
 * 1.  Both need an open gate; the votes of a closed gate stay.
 * 2.  The owner of a seat may withdraw the vote that was given in their place.
 */

import { isOfFilledStage, isSamePrincipal, standingVote } from "../../../../../machines/quorum.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { ErrorCode } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import {
  type Gate,
  type GateResponse,
  isOpenGate,
  type ParsedDelegationRequest,
  refuseUnnamed,
  type WithdrawalRequest,
} from "../../../../contract/gate.ts";
import { refOf } from "../../../../contract/gate-vote.ts";
import { refuseAt, requireRoom } from "../run/refuse-at-gate.ts";
import { oodaRef, type Run } from "../run/run.ts";
import { judgeDelegation } from "./judge-decision.ts";
import { respond, whoDecides } from "./judge-gate.ts";

const fn = "lend_seat";

const refuse = (code: ErrorCode, gateId: string, why: string): never =>
  refuseAt(gateId, `${gateId}: ${why}`, { code, fn });

/** Returns the open gate of this name. @throws KernelErrorException T5_GATE_NOT_FOUND, T5_GATE_CONFLICT. */
export function requireOpen(run: Run, named: string | undefined): Gate {
  const gateId = named ?? refuseUnnamed(oodaRef(fn));
  const gate = run.log.record.gates.get(gateId) ?? refuse("T5_GATE_NOT_FOUND", gateId, "no such gate is open");
  return isOpenGate(gate) ? gate : refuse("T5_GATE_CONFLICT", gateId, `it is ${gate.status} already`);
}

/**
 * Withdraws the principal's vote. @throws KernelErrorException T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_UNNAMED,
 * T5_GATE_FULL.
 */
export function withdrawVote(run: Run, { principal, gate_id }: WithdrawalRequest): GateResponse {
  const gate = requireOpen(run, gate_id);
  const vote =
    standingVote(gate, principal, run.settings.same) ??
    refuse("T5_GATE_CONFLICT", gate.gate_id, "there is no vote of yours to take back");
  if (isOfFilledStage(gate, vote))
    refuse("T5_GATE_CONFLICT", gate.gate_id, `stage ${vote.stage} is filled, and its votes stand`);
  if (vote.signature !== null) requireRoom(run, gate.gate_id, gate.spent_signatures);
  const withdrawn = { gate_id: gate.gate_id, principal: vote.principal };
  run.log.noteBy(refOf(principal), draft("GATE_VOTE_WITHDRAWN", withdrawn, gate.step_id));
  return respond(run, gate.gate_id, "withdrawn");
}

/**
 * Delegates the principal's seat to another until an instant.
 * @throws KernelErrorException T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_UNNAMED, T5_AUTHZ_FORBIDDEN,
 * T5_DELEGATION_REFUSED, T5_POLICY_DENIED, T5_GATE_FULL.
 */
export function delegateGate(run: Run, request: ParsedDelegationRequest, auth: AuthContext): GateResponse {
  const { principal, to, expires_at } = request;
  const gate = requireOpen(run, request.gate_id);
  const { gate_id, step_id } = gate;
  if (isLent(run, gate, request)) return respond(run, gate_id, "delegated");
  const asked = run.scopes.keep("asks", () => whoDecides(gate));
  const policy = judgeDelegation(run, gate, { principal, auth, to, expires_at });
  if (policy.decision === "DENY")
    refuse("T5_POLICY_DENIED", gate_id, policy.reason || "policy does not let this person lend their seat");
  if (whoDecides(gate) !== asked) refuse("T5_GATE_CONFLICT", gate_id, "it asks others meanwhile");
  requireRoom(run, gate_id, gate.delegations);
  const part = gate.quorum?.of === undefined ? {} : { part: auth.role };
  const lent = { gate_id, from: refOf(principal), to: refOf(to), expires_at, ...part };
  run.log.noteBy(refOf(principal), draft("GATE_DELEGATED", lent, step_id));
  return respond(run, gate_id, "delegated");
}

/** Returns whether the same delegation was made before and still holds. */
function isLent(run: Run, { delegations }: Gate, { principal, to, expires_at }: ParsedDelegationRequest): boolean {
  if (Date.parse(expires_at) <= run.now) return false;
  return delegations.some(
    (one) => isSamePrincipal(one.from, principal) && isSamePrincipal(one.to, to) && one.expires_at === expires_at,
  );
}
