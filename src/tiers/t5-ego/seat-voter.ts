/**
 * Finds a voter's seat at a gate: whether the vote counts, whose seat it takes, or that it is advice.
 *
 * 1.  A seat is one's own (by role, by name, or by a role that an escalation added; never a requester's at a gate with
 *     separation of duties, under whatever name) or was delegated by its owner, and has not expired.
 * 2.  A person takes one seat: their own if they have one.
 * 3.  A role that is restricted to other operators, effects or capabilities may not act at the gate.
 * 4.  At a gate whose quorum has parts, a vote counts for the part of the role in which the seat's owner was seated.
 * 5.  At a gate with stages, a vote counts in the present stage, and only the people of that stage have a seat.
 * 6.  An adviser's vote never counts, whatever else the gate declares.
 * 7.  A person without a seat of their own, and without one that was lent to them, takes the seat of somebody for whom
 *     they stand in now, as a delegation at the gate could hand it over: the author of the order has a seat of their
 *     own, which has not voted and is not lent at the gate itself.
 */

import { isSamePrincipal, isSeatTaken, requestersOf, type Same } from "../../../machines/quorum.ts";
import { type AuthContext, mayUse, reachOf } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type Gate, rolesAsked } from "../../contract/gate.ts";
import { type PrincipalRef, refOf } from "../../contract/gate-vote.ts";
import type { Seat } from "../../contract/messages/t5.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { holdsAt, type StandIn } from "../../contract/stand-in.ts";

const seatRef = moduleRef(5, "ego", "seat_voter");

export interface Voter {
  readonly principal: PrincipalRef;
  readonly auth: AuthContext;
  /** ISO instant. */
  readonly now: string;
  /** The package that the work belongs to, if it is known. */
  readonly capability?: string;
  /** The orders by which they stand in for others. */
  readonly standIns?: readonly StandIn[];
}

/** Finds the seat. @throws KernelErrorException T5_AUTHZ_FORBIDDEN. */
export function seatVoter(gate: Gate, voter: Voter, same: Same): Seat {
  requireReach(gate, voter, same);
  const why = whyNoSeat(gate, voter, same);
  if (why === null) return { advisory: false, on_behalf_of: null, ...partOf(gate, voter.auth.role), ...stageOf(gate) };
  if (gate.advisors.includes(voter.auth.role)) return { advisory: true, on_behalf_of: null };
  const maySit = !isRequester(gate, voter.principal, same) && whyNotOfType(gate, voter.principal) === null;
  const lent = !maySit ? [] : gate.delegations.filter(({ to }) => isSamePrincipal(to, voter.principal));
  // The delegator of a seat may have become a requester since, by an edit.
  const valid = lent.find(
    ({ from, expires_at }) =>
      Date.parse(expires_at) > Date.parse(voter.now) &&
      !isSeatTaken(gate, from, same) &&
      !isRequester(gate, from, same),
  );
  if (valid !== undefined)
    return { advisory: false, on_behalf_of: valid.from, ...partOf(gate, valid.part), ...stageOf(gate) };
  const refused: string[] = [];
  if (maySit)
    for (const order of voter.standIns ?? []) {
      const otherwise = whyNotHandedOver(gate, order, voter, same);
      if (otherwise === null) return seatOfAway(gate, order);
      refused.push(`; they stand in for ${order.by.type} ${order.by.id}, and ${otherwise}`);
    }
  return forbid(
    gate,
    `${lent.length === 0 ? why : "the seat that was lent has run out or is taken"}${refused[0] ?? ""}`,
  );
}

const seatOfAway = (gate: Gate, { by, stand_in_id }: StandIn): Seat => ({
  ...{ advisory: false, on_behalf_of: refOf(by), stand_in: stand_in_id },
  ...partOf(gate, by.role),
  ...stageOf(gate),
});

/**
 * Returns why an order hands over no seat at the gate; null if it does. The reach of the deputy's own role is looked at
 * when they decide.
 */
export function whyNotHandedOver(
  gate: Gate,
  order: StandIn,
  { now, capability }: Pick<Voter, "now" | "capability">,
  same: Same,
): string | null {
  const { by, to, auth } = order;
  const at = Date.parse(now);
  if (!gate.delegation) return "nobody may lend their seat at it";
  if (!holdsAt(order, at)) return `the order holds from ${order.from} until ${order.until}`;
  if (isRequester(gate, to, same)) return "who asked for the work may not decide on it, for others neither";
  const otherwise = whyNotOfType(gate, to);
  if (otherwise !== null) return otherwise;
  const author = { principal: by, auth, now, ...(capability !== undefined && { capability }) };
  const seatless = whyNoReach(gate, author, same) ?? whyNoSeat(gate, author, same);
  if (seatless !== null) return `these have no seat: ${seatless}`;
  if (gate.delegations.some(({ from, expires_at }) => isSamePrincipal(from, by) && Date.parse(expires_at) > at))
    return "these have lent their seat at the gate itself";
  return isSeatTaken(gate, by, same) ? "their seat has voted" : null;
}

/** Returns the part of the quorum that a seat of this role votes for; none at a gate without parts. */
export const partOf = ({ quorum }: Gate, role: string | undefined): { readonly part?: string } =>
  quorum?.of === undefined || role === undefined ? {} : { part: role };

/** Returns the stage in which a vote counts now; none at a gate without stages. */
const stageOf = ({ stage }: Gate): { readonly stage?: number } => (stage === undefined ? {} : { stage });

/**
 * Checks that a person's role names the operator, effect and capability of the gate, and whose calls in doubt they may
 * settle. @throws KernelErrorException T5_AUTHZ_FORBIDDEN.
 */
export function requireReach(gate: Gate, voter: Voter, same: Same): void {
  const why = whyNoReach(gate, voter, same);
  if (why !== null) forbid(gate, why);
}

/** Returns why a person's role does not reach the gate; null if it does. */
function whyNoReach(gate: Gate, { principal, auth, capability }: Voter, same: Same): string | null {
  const names = [["operator", gate.operator] as const, ["effect", gate.effect] as const];
  const used = capability === undefined ? names : [...names, ["capability", capability] as const];
  for (const [kind, name] of used)
    if (!mayUse(auth, kind, name)) return `role ${auth.role} may not decide about ${kind} ${name}`;
  if (gate.kind !== "in_doubt") return null;
  const reach = reachOf(auth.scopes, "gate:settle");
  if (reach === null) return `role ${auth.role} may not say what became of a call (gate:settle)`;
  if (reach === "own" && !requestersOf(gate).some((one) => same(one, principal)))
    return `role ${auth.role} says what became of calls of its own work alone (gate:settle:own)`;
  return null;
}

/** Returns why this person has no seat of their own; null where they have. */
export function whyNoSeat(gate: Gate, { principal, auth: { role } }: Voter, same: Same): string | null {
  if (isRequester(gate, principal, same)) return whyNotOfRequester(gate, principal, same);
  if (gate.advisors.includes(role)) return `${role} advises and does not decide`;
  const otherwise = whyNotOfType(gate, principal);
  if (otherwise !== null) return otherwise;
  if (gate.added_roles?.includes(role) === true) return null;
  if (gate.roles !== null && !gate.roles.includes(role))
    return `${whatAsks(gate)} is for ${rolesAsked(gate)?.join(" or ")}, not for ${role}`;
  if (gate.approvers !== null && !gate.approvers.some((one) => isSamePrincipal(one, principal)))
    return `${principal.type} ${principal.id} is none of its approvers`;
  return null;
}

const whatAsks = ({ stage, stages = [] }: Gate): string =>
  stage === undefined ? "it" : `stage ${stage} of ${stages.length}`;

/** Returns the refusal of a requester. A submitter is refused as such, also if they edited the payload. */
function whyNotOfRequester({ edits = [], requester }: Gate, person: PrincipalRef, same: Same): string {
  const isEditor = edits.some(({ by }) => same(by, person)) && (requester === null || !same(requester, person));
  return isEditor ? "who edited what it shows may not decide on it" : "who asked for the work may not decide on it";
}

/** Returns why a principal of this type may not decide at the gate, in any seat; null if they may. */
export const whyNotOfType = ({ principal_types: types }: Gate, { type, id }: PrincipalRef): string | null =>
  types === undefined || types.includes(type)
    ? null
    : `it is for principals of type ${types.join(" or ")}, not for ${type} ${id}`;

export const isRequester = (gate: Gate, person: PrincipalRef, same: Same): boolean =>
  gate.separation && requestersOf(gate).some((one) => same(one, person));

export const forbid = ({ gate_id }: Gate, why: string): never =>
  raise(kernelError("T5_AUTHZ_FORBIDDEN", `${gate_id}: ${why}`, seatRef, { detail: { gate_id } }));
