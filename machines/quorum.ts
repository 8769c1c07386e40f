/**
 * The votes of a gate, counted: what stands, whether it decides, and what may still be said.
 *
 * Owns: the arithmetic of a quorum. Never: who may vote (T5 says), what a vote was given on (the gate record).
 * Q1  A person has one vote at a gate, and a seat is taken once, by its owner or by whoever it was lent to.
 * Q2  Advisory votes stand beside the others and are never counted.
 * Q3  Nothing closes a gate that its votes do not carry, and no vote or decision holds for another payload than the one
 *     the gate shows: such events are refused before they are appended, also where another process was faster.
 */
import type { EventDraft } from "../src/contract/event.ts";
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

/** Whether this person's seat is taken by a counted vote. */
export const isSeatTaken = ({ votes }: Pick<Gate, "votes">, owner: PrincipalRef): boolean =>
  votes.some((vote) => !vote.advisory && isSamePrincipal(vote.on_behalf_of ?? vote.principal, owner));

/** The vote that this person gave, or that was given in their place; null where there is none. */
export const standingVote = ({ votes }: Pick<Gate, "votes">, person: PrincipalRef): GateVote | null =>
  votes.find((vote) => isSamePrincipal(vote.principal, person)) ??
  votes.find((vote) => vote.on_behalf_of !== null && isSamePrincipal(vote.on_behalf_of, person)) ??
  null;

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

/** Whether what is said fits the votes and the payload of the gate as it stands. */
export function fitsGate(gate: Gate, draft: EventDraft): boolean {
  switch (draft.type) {
    case "GATE_VOTED": {
      const { principal, on_behalf_of, payload_digest } = draft.payload;
      const isFree =
        standingVote(gate, principal) === null && !(on_behalf_of !== null && isSeatTaken(gate, on_behalf_of));
      return isFree && payload_digest === gate.payload_digest;
    }
    case "GATE_VOTE_WITHDRAWN":
      return gate.votes.some((vote) => isSamePrincipal(vote.principal, draft.payload.principal));
    case "USER_APPROVED":
    case "USER_REJECTED": {
      const decision = draft.type === "USER_APPROVED" ? "approve" : "reject";
      if (draft.payload.payload_digest !== gate.payload_digest) return false;
      return gate.quorum === null || verdictOf(gate) === decision;
    }
    default:
      return true;
  }
}
