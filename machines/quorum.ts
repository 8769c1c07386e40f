/**
 * The votes of a gate, counted: what stands, whether it decides, and what may still be said.
 *
 * Owns: the arithmetic of a quorum. Never: who may vote (T5 says), what a vote was given on (the gate record).
 * Q1  A person has one vote at a gate, and a seat is taken once, by its owner or by whoever it was lent to; an approver
 *     named without a type is one seat, whichever types go by that name.
 * Q2  Advisory votes stand beside the others and are never counted.
 * Q3  Nothing closes a gate that its votes do not carry, no vote or decision holds for another payload, outcome version or
 *     policy than the gate's, and no signature serves twice: such events are refused before they are appended, also where
 *     another process was faster.
 */
import type { EventDraft, GateVoted } from "../src/contract/event.ts";
import type { Gate } from "../src/contract/gate.ts";
import type { GateTally, GateVote, PrincipalRef } from "../src/contract/gate-vote.ts";

/** The same person, whatever their role; a name without a type is whoever has the id. */
export const isSamePrincipal = (a: Partial<PrincipalRef>, b: Partial<PrincipalRef>): boolean =>
  String(a.id) === String(b.id) && (a.type === undefined || b.type === undefined || a.type === b.type);

/** Named approvers who may decide on this person's request; null where they are not named. */
export function seatsOf(
  {
    approvers,
    separation,
  }: { readonly approvers?: Gate["approvers"] | undefined; readonly separation?: boolean | undefined },
  requester: PrincipalRef,
): NonNullable<Gate["approvers"]> | null {
  if (approvers === undefined || approvers === null) return null;
  return separation === true ? approvers.filter((one) => !isSamePrincipal(one, requester)) : approvers;
}

type Seats = Pick<Gate, "votes" | "approvers">;

/** The seat that this person would take: the approver by whom the gate means them, else one of their own. */
const seatOf = ({ approvers }: Seats, person: PrincipalRef): Partial<PrincipalRef> =>
  approvers?.find((one) => isSamePrincipal(one, person)) ?? person;

/** The counted vote that takes this person's seat, given by them or in their place. */
const voteOnSeat = (gate: Seats, owner: PrincipalRef): GateVote | undefined =>
  gate.votes.find(
    (vote) => !vote.advisory && isSamePrincipal(seatOf(gate, vote.on_behalf_of ?? vote.principal), seatOf(gate, owner)),
  );

/** Whether this person's seat is taken by a counted vote. */
export const isSeatTaken = (gate: Seats, owner: PrincipalRef): boolean => voteOnSeat(gate, owner) !== undefined;

/** The vote that this person gave, or that was given in their place; null where there is none. */
export const standingVote = (gate: Seats, person: PrincipalRef): GateVote | null =>
  gate.votes.find((vote) => isSamePrincipal(vote.principal, person)) ?? voteOnSeat(gate, person) ?? null;

export const countedVotes = ({ votes }: Pick<Gate, "votes">, decision: GateVote["decision"]): readonly GateVote[] =>
  votes.filter((vote) => !vote.advisory && vote.decision === decision);

export const tallyOf = (gate: Pick<Gate, "votes" | "quorum">): GateTally => ({
  approvals: countedVotes(gate, "approve").length,
  rejections: countedVotes(gate, "reject").length,
  needed: gate.quorum,
});

/** What the votes decide; null while they decide nothing, and at a gate without a quorum. */
export function verdictOf(gate: Pick<Gate, "votes" | "quorum">): GateVote["decision"] | null {
  if (gate.quorum === null) return null;
  const { approvals, rejections } = tallyOf(gate);
  if (rejections >= gate.quorum.rejections) return "reject";
  return approvals >= gate.quorum.approvals ? "approve" : null;
}

/** What a signature stands on: its header and claims. The rest of a JWS can be written in more than one way. */
export const signedPart = (jws: string): string => jws.slice(0, jws.lastIndexOf("."));

/** Whether this gate has seen a signature before, taken back or voided as it may be. */
export const isSpent = ({ spent_signatures }: Pick<Gate, "spent_signatures">, jws: string): boolean =>
  spent_signatures.includes(signedPart(jws));

/** Whether what is said fits the votes of the gate as it stands, and what it shows. */
export function fitsGate(gate: Gate, draft: EventDraft): boolean {
  switch (draft.type) {
    case "GATE_VOTED": {
      const { principal, on_behalf_of, signature } = draft.payload;
      const isFree =
        standingVote(gate, principal) === null && !(on_behalf_of !== null && isSeatTaken(gate, on_behalf_of));
      return isFree && isBoundTo(gate, draft.payload) && !(signature !== null && isSpent(gate, signature.jws));
    }
    case "GATE_VOTE_WITHDRAWN":
      return gate.votes.some((vote) => isSamePrincipal(vote.principal, draft.payload.principal));
    case "USER_APPROVED":
    case "USER_REJECTED": {
      const decision = draft.type === "USER_APPROVED" ? "approve" : "reject";
      return isBoundTo(gate, draft.payload) && (gate.quorum === null || verdictOf(gate) === decision);
    }
    default:
      return true;
  }
}

type Binding = Pick<GateVoted, "payload_digest" | "policy_version" | "outcome_id" | "outcome_version" | "basis_digest">;

/** Whether this was said on what the gate now shows (INV-2 of the gate record). */
const isBoundTo = ({ target, ...gate }: Gate, said: Binding): boolean =>
  said.payload_digest === gate.payload_digest &&
  said.policy_version === gate.policy_version &&
  said.basis_digest === gate.basis_digest &&
  said.outcome_id === (target?.outcome_id ?? null) &&
  said.outcome_version === (target?.version ?? null);
