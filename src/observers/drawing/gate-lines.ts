/**
 * The gates of a run as lines of its picture: who asked, who edited, who voted, who decided, when, and what is still
 * open.
 *
 * Every line is shown text (src/protocol/visible-text.ts). An expired gate was decided by nobody, which its line
 * states.
 */
import type { Gate, GateReason } from "../../contract/gate.ts";
import type { GateEdit } from "../../contract/gate-edit.ts";
import { type GateSpec, rolesOf, stagesOf } from "../../contract/gate-spec.ts";
import { isOpenGate } from "../../contract/gate-status.ts";
import type { GateVote, PrincipalRef } from "../../contract/gate-vote.ts";
import type { OnReject } from "../../contract/step-kinds.ts";
import { describeChange, describeComment, describeEditor } from "../../protocol/describe-edits.ts";
import { describeParts, describeStage, describeStages } from "../../protocol/describe-parts.ts";
import { doubtWords, tellSettled } from "../../protocol/doubt-words.ts";
import { tellExpiry } from "../../protocol/expiry-words.ts";
import { failureLines } from "../../protocol/failure-lines.ts";
import { namePrincipal } from "../../protocol/name-principal.ts";
import { tellSpan } from "../../protocol/tell-span.ts";
import { showLine } from "../../protocol/visible-text.ts";

/** Returns everything that is on record of a gate, in the order in which it happened. */
export const linesOfGate = (gate: Gate): readonly string[] => [
  showLine(`${gate.gate_id} ${statusOf(gate)}, opened at ${gate.opened_at}`),
  ...gate.reasons.map(lineOfReason),
  ...linesOfDoubt(gate),
  ...(gate.edits ?? []).flatMap(linesOfEdit),
  ...gate.delegations.map(({ from, to, expires_at }) =>
    showLine(`${namePrincipal(from)} lent a seat to ${namePrincipal(to)} until ${expires_at}`),
  ),
  ...gate.votes.map((vote) => lineOfVote(gate, vote)),
  ...linesOfQuorum(gate),
  ...linesOfDecision(gate),
  ...linesOfWaiting(gate),
];

const describeTakes = ({ approvals = 1, of }: NonNullable<GateSpec["quorum"]>): string =>
  of === undefined ? `${approvals} approvals` : `approvals: ${describeParts(of)}`;

/** Returns the lines of a gate that a plan declares and that is not open yet. */
export function linesOfSpec(
  { reason, roles, approvers, quorum, stages, expiry }: Partial<GateSpec>,
  { kind, on_reject = "end" }: { readonly kind: Gate["kind"]; readonly on_reject?: OnReject | undefined },
): readonly string[] {
  const people = approvers?.map(namePrincipal) ?? rolesOf({ roles, quorum });
  return [
    `asks a person${kind === "ask" ? "" : " first"}${reason === undefined ? "" : `: ${reason}`}`,
    ...(people === null ? [] : [`asked: ${people.join(", ")}`]),
    ...stagesOf({ stages }).map((stage, at) => `stage ${at + 1}: ${describeStage(stage)}`),
    ...(quorum === undefined ? [] : [`takes ${describeTakes(quorum)}`]),
    ...(expiry === undefined
      ? []
      : [`if nobody decides within ${tellSpan(expiry.after_ms)}: ${tellExpiry(expiry.action, expiry.role, kind)}`]),
    `if ${kind === "ask" ? "nobody answers" : "rejected"}: ${rejectWords[on_reject]}`,
  ].map(showLine);
}

const rejectWords: Readonly<Record<OnReject, string>> = {
  end: "the step does not run, and the workflow is cancelled once its other branches have ended",
  end_all: "the step does not run, and the workflow is cancelled at once",
  continue: "the step is left out, and the plan goes on without it",
  replan: "the planner is asked for another plan",
};

const statusOf = ({ kind, status }: Gate): string =>
  kind === "in_doubt" && isOpenGate({ status }) ? `${status}: what became of the call?` : status;

const lineOfReason = ({ source, rule, reason }: GateReason): string =>
  showLine(`asked by ${source} ${JSON.stringify(rule)}: ${reason}`);

function linesOfDoubt({ doubt }: Gate): readonly string[] {
  if (doubt === undefined) return [];
  const { called_at, error } = doubt;
  const reported = error === null ? ["gave no answer"] : failureLines(error).map((line) => `threw ${line}`);
  return [`called at ${called_at ?? "a time that is not on record"}`, ...reported].map(showLine);
}

/** A picture names the first changes; the gate itself shows all of them. */
const mostChanges = 5;

function linesOfEdit(edit: GateEdit): readonly string[] {
  const { changes } = edit;
  const left = changes.length - mostChanges;
  return [
    describeEditor(edit),
    ...changes.slice(0, mostChanges).map((change) => `changed ${describeChange(change)}`),
    ...(left > 0 ? [`changed ${left} more values`] : []),
    ...describeComment(edit),
  ];
}

function lineOfVote({ kind }: Gate, vote: GateVote): string {
  const { principal, role, on_behalf_of, part, advisory, at, comment } = vote;
  const answer = kind === "in_doubt" ? tellSettled(vote) : vote.decision;
  const seat = on_behalf_of === null ? "" : ` in the place of ${namePrincipal(on_behalf_of)}`;
  const lent = on_behalf_of === null || part === undefined ? "" : ` for ${part}`;
  const how = advisory ? "advised" : "voted";
  const text = `${namePrincipal(principal)} (${role})${seat}${lent} ${how}: ${answer}, at ${at}`;
  return showLine(`${text}${quoteAnswer(vote)}${quoteComment(comment)}`);
}

const quoteAnswer = ({ answer }: Pick<GateVote, "answer">): string =>
  answer === undefined ? "" : `, answer ${JSON.stringify(answer)}`;

const quoteComment = (comment: string | null): string => (comment === null ? "" : `, ${JSON.stringify(comment)}`);

/** Counts the votes that decide, as `tallyOf` of machines/quorum.ts does: an advisor's is none of them. */
function linesOfQuorum(gate: Gate): readonly string[] {
  const { quorum, votes, missing, stage: present } = gate;
  if (quorum === null) return [];
  const countOf = (word: GateVote["decision"]): number =>
    votes.filter(({ advisory, decision, stage }) => !advisory && decision === word && stage === present).length;
  const lack = missing?.reduce((sum, { approvals }) => sum + approvals, 0);
  const approvals = lack === undefined ? countOf("approve") : quorum.approvals - lack;
  return [
    ...describeStages(gate).map((text) => showLine(`stage ${text}`)),
    `approvals: ${approvals} of ${quorum.approvals}, rejections: ${countOf("reject")} of ${quorum.rejections}`,
    ...(missing === undefined ? [] : [showLine(`missing: ${describeParts(missing)}`)]),
  ];
}

const placeOf = (away: PrincipalRef | undefined): string =>
  away === undefined ? "" : ` in the place of ${namePrincipal(away)}`;

const doneWords = { approve: "approved", reject: "rejected" } as const;

function linesOfDecision(gate: Gate): readonly string[] {
  const { decision, kind } = gate;
  if (decision === null) return linesWithoutDecision(gate);
  const { principal, at, comment, resolution, carried_by, grant, on_behalf_of: away } = decision;
  const answer = kind === "in_doubt" ? doubtWords[resolution ?? "failed"] : doneWords[decision.decision];
  const who = principal === null ? "nobody" : `${namePrincipal(principal)} (${principal.role})${placeOf(away)}`;
  const others = carried_by.map(
    ({ principal: voter, on_behalf_of }) =>
      `${namePrincipal(voter)}${on_behalf_of === null ? "" : ` in the place of ${namePrincipal(on_behalf_of)}`}`,
  );
  const votes = others.length === 0 ? "" : `, with the votes of ${others.join(", ")}`;
  const edited = decision.edited ? " as edited" : "";
  const ahead = grant === undefined ? "" : `, ahead by ${grant.grant_id}`;
  return [
    showLine(`${answer}${edited} by ${who} at ${at}${ahead}${votes}${quoteAnswer(decision)}${quoteComment(comment)}`),
  ];
}

/** Describes a gate that ended without a decision: its time ran out, or the work around it ended. */
function linesWithoutDecision({ status, due_at, kind }: Gate): readonly string[] {
  const due = due_at === null ? "" : `, due at ${due_at}`;
  if (kind === "ask" && status === "approved")
    return [`answered by nobody: its time ran out, and the answer that it has for itself stands${due}`];
  if (kind === "ask" && status === "expired") return [`answered by nobody: its time ran out${due}`];
  if (status === "approved") return [`decided by nobody: its time ran out, which lets the call run${due}`];
  if (status === "expired") return [`decided by nobody: its time ran out, which denies the call${due}`];
  if (status === "voided") return ["decided by nobody: the work ended or changed first"];
  return status === "suspended" ? ["nobody decided in time: it waits for a person"] : [];
}

/** Returns whom an open gate asks, until when, and what each answer leads to. */
function linesOfWaiting(gate: Gate): readonly string[] {
  if (!isOpenGate(gate)) return [];
  const { approvers, roles, added_roles = [], due_at, expiry_action, escalate_to } = gate;
  const people = [...(approvers?.map(namePrincipal) ?? roles ?? []), ...added_roles];
  return [
    ...(people.length === 0 ? [] : [`waits for ${people.join(", ")}`]),
    ...(due_at === null || expiry_action === null
      ? []
      : [`due at ${due_at}: if nobody decides, ${tellExpiry(expiry_action, escalate_to, gate.kind)}`]),
    ...linesOfAnswers(gate),
  ].map(showLine);
}

/** Returns what each answer leads to. A reader without a seat is given none: it would say nothing of the run. */
function linesOfAnswers({ kind, consequences, seat }: Gate): readonly string[] {
  if (seat?.may === false) return [];
  return kind === "in_doubt"
    ? [`if it happened, or is tried again: ${consequences.approve}`, `if given up: ${consequences.reject}`]
    : [`if approved: ${consequences.approve}`, `if rejected: ${consequences.reject}`];
}
