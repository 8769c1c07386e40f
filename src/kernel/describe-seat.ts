/**
 * Tells whether the reader of a gate may decide on it, by T5's own rule, and whether they may note something there, so
 * that a page shows no button that would be refused.
 *
 * Never: decides. A decision is judged when it is made; votes and policy may have changed by then.
 */

import { isPartFilled, isSamePrincipal, type Same, standingVote } from "../../machines/quorum.ts";
import { type AuthContext, type Caller, commandScopes, mayUse, reachOf, tenantOf } from "../contract/auth-context.ts";
import { KernelErrorException } from "../contract/error.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import type { GateSeat, PrincipalRef } from "../contract/gate-vote.ts";
import { instantText } from "../contract/instant.ts";
import type { Seat } from "../contract/messages/t5.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { findStandIns } from "../tiers/t5-ego/find-stand-ins.ts";
import { seatVoter } from "../tiers/t5-ego/seat-voter.ts";
import { type AwayParts, awayFinder, withAway } from "./describe-away.ts";

export interface SeatParts extends AwayParts {
  readonly store: Pick<LedgerStore, "standIns" | "standInsFor">;
  readonly runtime: Runtime;
  /** Returns who the caller is here; null for the embedding host itself. */
  readonly authorize: (caller: Caller | undefined, needs: string) => Promise<AuthContext | null>;
}

/**
 * Returns the seat of one caller at any gate. @throws KernelErrorException T5_AUTHZ_FORBIDDEN for a gate without a seat
 * for them.
 */
type FindSeat = (gate: Gate) => Seat;

/** Finds a caller's seats. @throws KernelErrorException T5_AUTHZ_FORBIDDEN for a caller who may decide nothing. */
async function seatFinder(parts: SeatParts, caller: Caller): Promise<FindSeat> {
  const { authorize, runtime, same, store } = parts;
  const auth = (await authorize(caller, commandScopes.gate)) as AuthContext;
  const who = { principal: caller.principal, now: instantText(runtime.clock.now()) };
  const standIns = await findStandIns(auth.tenant_id, who, { known: parts.standIns, store });
  const voter = { ...who, auth, standIns };
  return (gate) => seatVoter(gate, voter, same);
}

/** Returns a function that adds to a gate the caller's seat there, and who is away. */
export async function gateReader(parts: SeatParts, caller: Caller): Promise<<G extends Gate>(gate: G) => G> {
  const seat = await seatDescriber(parts, caller);
  const tenant = tenantOf(caller);
  const away = tenant === undefined ? null : await awayFinder(parts, tenant);
  return (gate) => withSeat(away === null ? gate : withAway(gate, away), seat(gate));
}

const withSeat = <G extends Gate>(gate: G, seat: GateSeat | null): G => ({ ...gate, seat });

/** Returns a function that describes the caller's seat at a gate, or the reason why they have none. */
export async function seatDescriber(parts: SeatParts, caller: Caller): Promise<(gate: Gate) => GateSeat | null> {
  const find = await seatFinder(parts, caller).catch((thrown: unknown) => () => raiseAgain(thrown));
  const describe = describerOf(find, { caller, same: parts.same });
  const mayNote = await noteFinder(parts, caller);
  return (gate) => {
    const seat = describe(gate);
    return seat === null || mayNote(gate) ? seat : { ...seat, may_note: false };
  };
}

/**
 * Returns a function that finds the gates at which the caller may note something. What the rest of the work uses is
 * looked at when they do.
 */
async function noteFinder({ authorize, same }: SeatParts, caller: Caller): Promise<(gate: Gate) => boolean> {
  const auth = await authorize(caller, commandScopes.note).catch((thrown: unknown) => {
    if (thrown instanceof KernelErrorException) return null;
    throw thrown;
  });
  if (auth === null) return () => false;
  const isOwn = reachOf(auth.scopes, commandScopes.note) === "own";
  return ({ operator, effect, requesters = [] }) =>
    mayUse(auth, "operator", operator) &&
    mayUse(auth, "effect", effect) &&
    (!isOwn || requesters.some((one) => isSameHere(same, one, caller.principal)));
}

/** Returns whether two principals are one person; if that cannot be decided, they are not. */
function isSameHere(same: Same, a: PrincipalRef, b: PrincipalRef): boolean {
  try {
    return same(a, b);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return false;
    throw thrown;
  }
}

/**
 * Returns a function that finds the gates that wait for the caller. @throws KernelErrorException T5_AUTHZ_FORBIDDEN for
 * a caller who may decide nothing.
 */
export async function waitingFinder(parts: SeatParts, caller: Caller): Promise<(gate: Gate) => boolean> {
  const describe = describerOf(await seatFinder(parts, caller), { caller, same: parts.same });
  return (gate) => waitsFor(describe(gate));
}

/** Returns a function that finds the gates at which the caller has voted, or at which their seat is taken by a vote. */
export const votedFinder =
  ({ same }: SeatParts, caller: Caller) =>
  (gate: Gate): boolean =>
    tellVote(gate, caller, same).voted !== undefined;

/** Returns a function that finds the gates that the caller looks after. */
export const assignedFinder =
  ({ principal }: Caller) =>
  ({ conversation }: Gate): boolean => {
    const assigned = conversation?.assigned_to ?? null;
    return assigned !== null && isSamePrincipal(assigned, principal);
  };

/** Returns a function that finds the gates that the caller does not want to see yet. */
export function snoozedFinder({ runtime }: SeatParts, { principal }: Caller): (gate: Gate) => boolean {
  const now = runtime.clock.now();
  return ({ conversation }) =>
    (conversation?.snoozed ?? []).some(({ by, until }) => Date.parse(until) > now && isSamePrincipal(by, principal));
}

interface Reader {
  readonly caller: Caller;
  readonly same: Same;
}

const describerOf =
  (find: FindSeat, { caller, same }: Reader) =>
  (gate: Gate): GateSeat | null =>
    isOpenGate(gate) ? { ...orWhyNot(() => tell(gate, find(gate), caller)), ...tellVote(gate, caller, same) } : null;

/**
 * Returns whether a gate waits for the reader: they have a seat at it, not as an adviser, that seat has no standing
 * vote, and its part of the quorum lacks approvals.
 */
const waitsFor = (seat: GateSeat | null): boolean =>
  seat?.may === true && seat.advisory === undefined && seat.voted === undefined && seat.spare === undefined;

function tell(gate: Gate, { advisory, on_behalf_of, part, stage, stand_in }: Seat, { principal }: Caller): GateSeat {
  const isSpare = part !== undefined && isPartFilled(gate, part);
  return {
    may: true,
    reason: advisory
      ? `${principal.role} advises: the vote is kept and not counted`
      : isSpare
        ? `the approvals of ${part} are given: another adds nothing, and a rejection counts`
        : null,
    for: on_behalf_of,
    ...(stand_in !== undefined && { stand_in }),
    ...(advisory && { advisory }),
    ...(part !== undefined && { part }),
    ...(stage !== undefined && { stage }),
    ...(isSpare && { spare: true as const }),
  };
}

/**
 * Describes the caller's vote. If it cannot be decided who is the same person, it is left out; a decision is then
 * refused.
 */
function tellVote(gate: Gate, { principal }: Caller, same: Same): Pick<GateSeat, "voted"> {
  try {
    const vote = standingVote(gate, principal, same);
    return vote === null ? {} : { voted: vote.decision };
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return {};
    throw thrown;
  }
}

function orWhyNot(find: () => GateSeat): GateSeat {
  try {
    return find();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return { may: false, reason: thrown.error.message, for: null };
    throw thrown;
  }
}

function raiseAgain(thrown: unknown): never {
  throw thrown;
}
