/**
 * The votes of a gate, counted: the standing votes, whether they decide, and which further votes are possible.
 *
 * Owns: the arithmetic of a quorum. Never: who may vote (T5 decides), the payload of a vote (the gate record).
 * 1.  A person has one vote at a gate, and a seat is taken once, by its owner or its delegate; an approver named
 *     without a type is one seat, whichever types have that name.
 * 2.  Advisory votes stand beside the others and are never counted.
 * 3.  The host decides which names are one person (`Same`); the record holds only the voters from whom a vote was found
 *     to be different.
 * 4.  Nothing closes a gate that its votes do not carry, no vote or decision holds for another payload, outcome version
 *     or policy than the gate's, and no signature serves twice: such events are refused before they are appended, also
 *     if another process was faster.
 * 5.  Votes that approve agree on where the outcome is to be applied, and on the answer to a question: nobody's vote is
 *     carried elsewhere by another's.
 * 6.  With parts, a vote counts for that of the role in which it was given, and approvals of a part beyond those that
 *     it takes add nothing. A role that an escalation asks is no part: its approvals count for whichever part lacks
 *     some. The count does not depend on the order of the votes.
 * 7.  With stages, a vote counts in the stage in which it was given. A stage is filled once, by people who have no vote
 *     in an earlier one, and the votes of a filled stage stand; the last stage decides.
 */
import type { EventDraft, GateVoted } from "../src/contract/event.ts";
import type { Gate } from "../src/contract/gate.ts";
import type { QuorumPart } from "../src/contract/gate-quorum.ts";
import type { GateTally, GateVote, PrincipalRef } from "../src/contract/gate-vote.ts";

/** Returns whether two references name the same person, whatever their role; a reference without a type matches any. */
export const isSamePrincipal = (a: Partial<PrincipalRef>, b: Partial<PrincipalRef>): boolean =>
  String(a.id) === String(b.id) && (a.type === undefined || b.type === undefined || a.type === b.type);

/** Returns whether two names are one person's: `isSamePrincipal`, or more if a host knows more. */
export type Same = (a: Partial<PrincipalRef>, b: Partial<PrincipalRef>) => boolean;

interface Spec {
  readonly approvers?: Gate["approvers"] | undefined;
  readonly separation?: boolean | undefined;
}

/**
 * Returns the named approvers who may decide on these persons' request, each person once; null if approvers are not
 * named.
 */
export function seatsOf(
  { approvers, separation }: Spec,
  requesters: readonly PrincipalRef[],
  same: Same = isSamePrincipal,
): NonNullable<Gate["approvers"]> | null {
  if (approvers === undefined || approvers === null) return null;
  const people = approvers.filter((one, at) => !approvers.slice(0, at).some((other) => same(one, other)));
  return separation === true ? people.filter((one) => !requesters.some((other) => same(one, other))) : people;
}

/** Returns all requesters of what a gate shows; gates of older ledgers have one. */
export const requestersOf = ({
  requesters,
  requester,
}: Pick<Gate, "requesters" | "requester">): readonly PrincipalRef[] =>
  requesters ?? (requester === null ? [] : [requester]);

type Seats = Pick<Gate, "votes" | "approvers">;

/** Returns the seat that this person would take: the approver by which the gate names them, else one of their own. */
const seatOf = ({ approvers }: Seats, person: PrincipalRef): Partial<PrincipalRef> =>
  approvers?.find((one) => isSamePrincipal(one, person)) ?? person;

/** Returns the counted vote that takes this person's seat, given by them or in their place. */
const voteOnSeat = (gate: Seats, owner: PrincipalRef, same: Same): GateVote | undefined =>
  gate.votes.find((vote) => {
    const voter = vote.on_behalf_of ?? vote.principal;
    return !vote.advisory && (isSamePrincipal(seatOf(gate, voter), seatOf(gate, owner)) || same(voter, owner));
  });

/** Returns whether this person's seat is taken by a counted vote. */
export const isSeatTaken = (gate: Seats, owner: PrincipalRef, same: Same = isSamePrincipal): boolean =>
  voteOnSeat(gate, owner, same) !== undefined;

/** Returns the vote that this person gave, or that was given in their place; null if there is none. */
export const standingVote = (gate: Seats, person: PrincipalRef, same: Same = isSamePrincipal): GateVote | null =>
  gate.votes.find((vote) => same(vote.principal, person)) ?? voteOnSeat(gate, person, same) ?? null;

const votersOf = ({ votes }: Pick<Gate, "votes">): readonly PrincipalRef[] =>
  votes.flatMap(({ advisory, principal, on_behalf_of }) =>
    advisory ? [] : [principal, ...(on_behalf_of ? [on_behalf_of] : [])],
  );

/** Returns the voters so far, for a vote to name those that its voter was found to be different from. */
export const apartFrom = (gate: Pick<Gate, "votes">): readonly PrincipalRef[] =>
  votersOf(gate).map(({ type, id }) => ({ type, id }));

/** Returns whether a vote was compared with all that stand now, also those of another process. */
const isHeldAgainstAll = (gate: Gate, apart: readonly PrincipalRef[]): boolean =>
  votersOf(gate).every((voter) => apart.some((one) => isSamePrincipal(one, voter)));

export const countedVotes = ({ votes }: Pick<Gate, "votes">, decision: GateVote["decision"]): readonly GateVote[] =>
  votes.filter((vote) => !vote.advisory && vote.decision === decision);

type Content = Pick<GateVoted, "apply_targets" | "answer">;

/** Returns the places where a vote would have the outcome applied. */
const targetsOf = ({ apply_targets = [] }: Content): readonly string[] => apply_targets;

/** Answers have the members of their form in its order: equal ones are equal as text. */
const hasSameContent = (one: Content, other: Content): boolean =>
  JSON.stringify([targetsOf(one), one.answer ?? null]) === JSON.stringify([targetsOf(other), other.answer ?? null]);

/** Returns whether a vote has the targets of those that approve, and gives their answer. */
export const agreesWithVotes = (
  gate: Pick<Gate, "votes">,
  vote: Pick<GateVoted, "decision" | "apply_targets" | "answer">,
): boolean => vote.decision === "reject" || countedVotes(gate, "approve").every((other) => hasSameContent(other, vote));

type Votes = Pick<Gate, "votes" | "quorum" | "stage">;

/** Returns the counted votes of the present stage; all of them at a gate without stages. */
const votesOfStage = (gate: Pick<Gate, "votes" | "stage">, decision: GateVote["decision"]): readonly GateVote[] =>
  countedVotes(gate, decision).filter(({ stage }) => stage === gate.stage);

/** Returns the approvals that a gate still lacks, by the role that gives them; none at a gate without parts. */
export function missingParts(gate: Votes): readonly QuorumPart[] {
  const parts = gate.quorum?.of ?? [];
  const given = votesOfStage(gate, "approve");
  let free = given.filter(({ part }) => !parts.some(({ role }) => role === part)).length;
  return parts.flatMap(({ role, approvals }) => {
    const lacks = Math.max(0, approvals - given.filter(({ part }) => part === role).length);
    const filled = Math.min(free, lacks);
    free -= filled;
    return lacks === filled ? [] : [{ role, approvals: lacks - filled }];
  });
}

/** Returns the number of approvals that count at a gate. */
function countApprovals(gate: Votes): number {
  const { quorum } = gate;
  if (quorum?.of === undefined) return votesOfStage(gate, "approve").length;
  return quorum.approvals - missingParts(gate).reduce((sum, { approvals }) => sum + approvals, 0);
}

/** Returns whether another approval for this part would add nothing. */
export function isPartFilled(gate: Votes, part: string): boolean {
  const isPart = gate.quorum?.of?.some(({ role }) => role === part) === true;
  return isPart && !missingParts(gate).some(({ role }) => role === part);
}

export const tallyOf = (gate: Votes): GateTally => ({
  approvals: countApprovals(gate),
  rejections: votesOfStage(gate, "reject").length,
  needed: gate.quorum,
  ...(gate.quorum?.of === undefined ? {} : { missing: missingParts(gate) }),
  ...(gate.stage === undefined ? {} : { stage: gate.stage }),
});

/** Returns whether a gate asks another stage once its present one is filled. */
const hasNextStage = ({ stages = [], stage = 1 }: Pick<Gate, "stages" | "stage">): boolean => stage < stages.length;

/** Returns the decision of the votes; null while there is none, and at a gate without a quorum. */
export function verdictOf(gate: Votes & Pick<Gate, "stages">): GateVote["decision"] | null {
  if (gate.quorum === null) return null;
  const { approvals, rejections } = tallyOf(gate);
  if (rejections >= gate.quorum.rejections) return "reject";
  return approvals >= gate.quorum.approvals && !hasNextStage(gate) ? "approve" : null;
}

/** Returns whether the votes fill a stage that another one follows. */
export const isStageFilled = (gate: Votes & Pick<Gate, "stages">): boolean =>
  gate.quorum !== null && hasNextStage(gate) && tallyOf(gate).approvals >= gate.quorum.approvals;

/** Returns whether a vote belongs to a stage that is filled, so that it stands. */
export const isOfFilledStage = ({ stage = 1 }: Pick<Gate, "stage">, vote: GateVote): boolean =>
  vote.stage !== undefined && vote.stage < stage;

/** Returns the signed part of a JWS: its header and claims. The rest of a JWS can be written in more than one way. */
export const signedPart = (jws: string): string => jws.slice(0, jws.lastIndexOf("."));

/** Returns whether this gate has recorded a signature before, even if it was withdrawn or voided. */
export const isSpent = ({ spent_signatures }: Pick<Gate, "spent_signatures">, jws: string): boolean =>
  spent_signatures.includes(signedPart(jws));

const isUsed = (gate: Gate, signature: GateVoted["signature"] | undefined): boolean =>
  signature != null && isSpent(gate, signature.jws);

/** Returns whether a decision or vote fits the standing votes of the gate, and what it shows. */
export function fitsGate(gate: Gate, draft: EventDraft): boolean {
  switch (draft.type) {
    case "GATE_VOTED": {
      const { principal, on_behalf_of, signature, advisory, apart_from } = draft.payload;
      if (!advisory && apart_from !== undefined && !isHeldAgainstAll(gate, apart_from)) return false;
      const isFree =
        standingVote(gate, principal) === null && !(on_behalf_of !== null && isSeatTaken(gate, on_behalf_of));
      const agrees = advisory || (agreesWithVotes(gate, draft.payload) && draft.payload.stage === gate.stage);
      return isFree && agrees && isBoundTo(gate, draft.payload) && !isUsed(gate, signature);
    }
    case "GATE_VOTE_WITHDRAWN":
      return gate.votes.some(
        (vote) => isSamePrincipal(vote.principal, draft.payload.principal) && !isOfFilledStage(gate, vote),
      );
    case "GATE_STAGE_FILLED":
      return draft.payload.stage === gate.stage && isStageFilled(gate);
    case "USER_APPROVED":
    case "USER_REJECTED": {
      const decision = draft.type === "USER_APPROVED" ? "approve" : "reject";
      const isCarried = gate.quorum === null || verdictOf(gate) === decision;
      return isCarried && isBoundTo(gate, draft.payload) && !isUsed(gate, draft.payload.signature);
    }
    default:
      return true;
  }
}

type Binding = Pick<GateVoted, "payload_digest" | "policy_version" | "outcome_id" | "outcome_version" | "basis_digest">;

/** Returns whether this was given on what the gate now shows (INV-2 of the gate record). */
const isBoundTo = ({ target, ...gate }: Gate, binding: Binding): boolean =>
  binding.payload_digest === gate.payload_digest &&
  binding.policy_version === gate.policy_version &&
  binding.basis_digest === gate.basis_digest &&
  binding.outcome_id === (target?.outcome_id ?? null) &&
  binding.outcome_version === (target?.version ?? null);
