/**
 * Who sits at a gate: whether somebody's vote counts, whose seat it takes, or that it is advice.
 *
 * V1  A seat is one's own (role, name, or a role that an escalation added; no requester's where the gate separates the two, under whatever name) or was lent by
 *     one who has it, and has not run out.
 * V2  A person takes one seat: their own where they have one.
 * V3  An adviser's role never counts, whatever else the gate says of it.
 */

import { isSamePrincipal, isSeatTaken, requestersOf, type Same } from "../../../machines/quorum.ts";
import type { AuthContext } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type Gate, rolesAsked } from "../../contract/gate.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const seatRef = moduleRef(5, "ego", "seat_voter");

export interface Seat {
  readonly advisory: boolean;
  /** Whose seat it is, where it is not the voter's own. */
  readonly on_behalf_of: PrincipalRef | null;
}

export interface Voter {
  readonly principal: PrincipalRef;
  readonly auth: AuthContext;
  /** ISO instant. */
  readonly now: string;
}

/** @throws KernelErrorException T5_AUTHZ_FORBIDDEN. */
export function seatVoter(gate: Gate, voter: Voter, same: Same): Seat {
  const why = whyNoSeat(gate, voter, same);
  if (why === null) return { advisory: false, on_behalf_of: null };
  if (gate.advisors.includes(voter.auth.role)) return { advisory: true, on_behalf_of: null };
  const lent = isRequester(gate, voter.principal, same)
    ? []
    : gate.delegations.filter(({ to }) => isSamePrincipal(to, voter.principal));
  // Who lent a seat may have asked for what is shown since, by an edit.
  const valid = lent.find(
    ({ from, expires_at }) =>
      Date.parse(expires_at) > Date.parse(voter.now) &&
      !isSeatTaken(gate, from, same) &&
      !isRequester(gate, from, same),
  );
  if (valid !== undefined) return { advisory: false, on_behalf_of: valid.from };
  return forbid(gate, lent.length === 0 ? why : "the seat that was lent has run out or is taken");
}

/** Why this person has no seat of their own; null where they have. */
export function whyNoSeat(gate: Gate, { principal, auth: { role } }: Voter, same: Same): string | null {
  if (isRequester(gate, principal, same)) return "who asked for the work may not decide on it";
  if (gate.advisors.includes(role)) return `${role} advises and does not decide`;
  if (gate.added_roles?.includes(role) === true) return null;
  if (gate.roles !== null && !gate.roles.includes(role))
    return `it is for ${rolesAsked(gate)?.join(" or ")}, not for ${role}`;
  if (gate.approvers !== null && !gate.approvers.some((one) => isSamePrincipal(one, principal)))
    return `${principal.type} ${principal.id} is none of its approvers`;
  return null;
}

export const isRequester = (gate: Gate, person: PrincipalRef, same: Same): boolean =>
  gate.separation && requestersOf(gate).some((one) => same(one, person));

export const forbid = ({ gate_id }: Gate, why: string): never =>
  raise(kernelError("T5_AUTHZ_FORBIDDEN", `${gate_id}: ${why}`, seatRef, { detail: { gate_id } }));
