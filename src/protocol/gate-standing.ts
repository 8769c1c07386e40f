/**
 * The standing of a gate in a sentence: the votes that are given, by whom and when, and whom it still waits for; of a
 * decided gate, its end. All faces show it first.
 */
import type { Gate } from "../contract/gate.ts";
import type { Approver } from "../contract/gate-spec.ts";
import { isOpenGate } from "../contract/gate-status.ts";
import type { GateVote } from "../contract/gate-vote.ts";
import { listExcluded } from "./describe-edits.ts";
import { describeParts } from "./describe-parts.ts";
import { doubtWords } from "./doubt-words.ts";
import { namePrincipal } from "./name-principal.ts";

/** Writes an instant (ISO 8601) as text. */
type TellTime = (iso: string) => string;

/** Returns the standing of a gate as one or two sentences. @param time writes the instants; as ISO text by default */
export function tellStanding(gate: Gate, time: TellTime = (iso) => iso): string {
  if (!isOpenGate(gate)) return `${tellEnd(gate, time)}.`;
  const votes = [...given(gate, "approve", time), ...given(gate, "reject", time)].join("; ");
  const asked = tellAsked(gate);
  return votes === "" ? `${asked}.` : `${votes}. ${asked}.`;
}

const counted = ({ votes, stage }: Gate, decision: GateVote["decision"]): readonly GateVote[] =>
  votes.filter((vote) => !vote.advisory && vote.decision === decision && vote.stage === stage);

/** Returns the number of approvals that count: those of a part that has enough add nothing. */
export const countApprovals = (gate: Gate): number =>
  gate.missing === undefined
    ? counted(gate, "approve").length
    : (gate.quorum?.approvals ?? 1) - gate.missing.reduce((sum, { approvals }) => sum + approvals, 0);

const nouns = { approve: ["approved", "approvals"], reject: ["rejected", "rejections"] } as const;

/** Describes the votes of one kind, as in `1 of 2 approvals: user dana at 10:14`; nothing if there are none. */
function given(gate: Gate, decision: GateVote["decision"], time: TellTime): readonly string[] {
  const votes = counted(gate, decision);
  if (votes.length === 0) return [];
  const [verb, noun] = nouns[decision];
  const voters = votes.map((vote) => `${nameVoter(vote)} ${verb} at ${time(vote.at)}`);
  const count = decision === "approve" ? countApprovals(gate) : votes.length;
  return [`${count} of ${gate.quorum?.[noun] ?? 1} ${noun}: ${voters.join(", ")}`];
}

const nameVoter = ({ principal, on_behalf_of }: GateVote): string =>
  `${namePrincipal(principal)}${on_behalf_of === null ? "" : ` in the place of ${namePrincipal(on_behalf_of)}`}`;

function tellAsked(gate: Gate): string {
  const { stages = [], stage = 1, status, kind } = gate;
  const place = stages.length > 1 ? `Stage ${stage} of ${stages.length}: it waits` : "It waits";
  const late = status === "suspended" ? "Its time is over, and it waits on" : place;
  return `${late} for ${kind === "in_doubt" ? "an answer" : tellMissing(gate)} ${tellWho(gate)}`.trim();
}

/** Describes the approvals that are still to come. */
function tellMissing(gate: Gate): string {
  if (gate.missing !== undefined) return describeParts(gate.missing);
  const left = Math.max(1, (gate.quorum?.approvals ?? 1) - countApprovals(gate));
  const noun = gate.kind === "ask" ? "answer" : gate.quorum === null ? "decision" : "approval";
  const more = counted(gate, "approve").length > 0 ? "more " : "";
  const count = left > 1 || more !== "" ? left : /^[aeiou]/.test(noun) ? "an" : "a";
  return `${count} ${more}${noun}${left === 1 ? "" : "s"}`;
}

/**
 * Describes whom the gate asks, without those who have voted or may not decide; "" if the missing parts say it.
 */
function tellWho(gate: Gate): string {
  const { roles, approvers, added_roles = [], missing, votes } = gate;
  if (missing !== undefined) return "";
  const voters = votes.map(({ principal, on_behalf_of }) => on_behalf_of ?? principal);
  const out = [...voters, ...listExcluded(gate).flatMap(({ people }) => people)];
  const isOut = ({ id, type }: Approver): boolean =>
    out.some((one) => String(one.id) === String(id) && (type === undefined || one.type === type));
  const people = (approvers ?? []).filter((one) => !isOut(one)).map(namePrincipal);
  const asked = [...people, ...(roles ?? []), ...added_roles];
  return asked.length === 0 ? "by anybody who may approve" : `by ${listOr(asked)}`;
}

const mostNamed = 6;

function listOr(names: readonly string[]): string {
  const shown = names.slice(0, mostNamed);
  const left = names.length - shown.length;
  const all = left === 0 ? shown : [...shown, `${left} others`];
  return all.length === 1 ? (all[0] as string) : `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
}

function tellEnd({ status, decision, expiry_action, due_at, kind }: Gate, time: TellTime): string {
  if (status === "declared") return "It is not open yet";
  if (status === "voided") return "It is no longer needed";
  if (decision === null) {
    const when = due_at === null ? "" : ` at ${time(due_at)}`;
    const then = status === "approved" ? `went on by itself (${expiry_action ?? "allow"})` : "ended";
    return `Nobody decided: its time was over${when}, and it ${then}`;
  }
  const { principal, at, carried_by, resolution } = decision;
  const word = resolution === null || kind !== "in_doubt" ? wordOf(decision.decision, kind) : doubtWords[resolution];
  const place = decision.on_behalf_of === undefined ? "" : ` in the place of ${namePrincipal(decision.on_behalf_of)}`;
  const who = principal === null ? "" : ` by ${namePrincipal(principal)}${place}`;
  const others = carried_by.filter((one) => principal === null || String(one.principal.id) !== String(principal.id));
  const votes = others.length === 0 ? "" : `, with ${others.map((one) => namePrincipal(one.principal)).join(", ")}`;
  return `${word}${who} at ${time(at)}${votes}${decision.edited ? ", with changes" : ""}`;
}

const wordOf = (decision: GateVote["decision"], kind: Gate["kind"]): string =>
  decision === "reject" ? "Rejected" : kind === "ask" ? "Answered" : "Approved";
