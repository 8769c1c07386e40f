/**
 * A gate as text, described once. The command line, MCP, the notifiers and the console render these sections, each in
 * its own layout, so that a new field of a gate is one more fact here.
 *
 * Owns: the facts about a gate, their names and their order. Never: lays out, colours or cuts a text. Texts from
 * outside are unchanged here: a renderer shows them by `showLine` or `quoteText`.
 */
import type { Gate, GateReason } from "../contract/gate.ts";
import type { GateQuorum } from "../contract/gate-quorum.ts";
import { confirmWord } from "../contract/gate-status.ts";
import type { GateVote } from "../contract/gate-vote.ts";
import { describeChange, describeComment, describeEditor, describeEdits, listExcluded } from "./describe-edits.ts";
import { describeParts, describeStages } from "./describe-parts.ts";
import { doubtWords } from "./doubt-words.ts";
import { tellExpiry } from "./expiry-words.ts";
import { failureLines, hasAnswered } from "./failure-lines.ts";
import { describeShown, fieldsOf, formOfGate } from "./form-fields.ts";
import { tellStanding } from "./gate-standing.ts";
import { namePrincipal } from "./name-principal.ts";
import { namedTargets } from "./named-targets.ts";
import { defaultFacts, tellFact } from "./present-facts.ts";
import { showLine } from "./visible-text.ts";

/** One fact about a gate. */
export interface GateFact {
  /**
   * At most 9 characters, except for facts of edits and of the call. Those of the call are named by its package or its
   * payload: a renderer shows a name as it shows a text.
   */
  readonly name: string;
  readonly text: string;
  /** An instant (ISO 8601) before the text; a renderer may show the time until then. */
  readonly at?: string;
}

export type GateSectionId =
  | "edits"
  | "standing"
  | "facts"
  | "why"
  | "what"
  | "doubt"
  | "cost"
  | "who"
  | "votes"
  | "conversation"
  | "due"
  | "decision"
  | "preview"
  | "changes"
  | "payload"
  | "effects"
  | "bound";

export interface GateSection {
  readonly id: GateSectionId;
  readonly title: string;
  readonly facts: readonly GateFact[];
  /** A text of many lines; null for a section that has facts alone. */
  readonly text: string | null;
}

/** Returns the sections about a gate, in the order in which a person reads them. Empty sections are left out. */
export function describeGate(gate: Gate): readonly GateSection[] {
  const sections: readonly GateSection[] = [
    { id: "edits", title: "Edited", facts: editFacts(gate), text: editText(gate) },
    factSection("standing", "State", [fact("state", tellStanding(gate))]),
    factSection("facts", "Facts", presentedFacts(gate)),
    factSection("why", "Why a person is asked", [...gate.reasons.map(reasonFact), ...denialFacts(gate)]),
    factSection("what", whatTitle[gate.kind], whatFacts(gate)),
    factSection("doubt", "What is known of the call", doubtFacts(gate)),
    factSection("cost", "Risk and cost", [fact("risk", `${gate.risk_level}, estimated cost ${gate.estimated_cost}`)]),
    factSection("who", "Who decides", whoFacts(gate)),
    factSection("votes", "Votes", voteFacts(gate)),
    factSection("conversation", "Conversation", conversationFacts(gate)),
    factSection("due", "Until when", dueFacts(gate)),
    factSection("decision", "Decision", decisionFacts(gate)),
    textSection("preview", "Preview", gate.preview),
    textSection("changes", "Changes", gate.diff ?? ""),
    textSection("payload", payloadTitle[gate.kind], JSON.stringify(gate.payload, null, 2)),
    factSection("effects", "Answers", effectFacts(gate)),
    factSection("bound", "What an answer is bound to", boundFacts(gate)),
  ];
  return sections.filter((one) => one.facts.length > 0 || one.text !== null);
}

const whatTitle = { approval: "What runs", in_doubt: "What runs", ask: "What is asked" } as const;

/** The titles of the payload, by the kind of its gate. */
export const payloadTitle = {
  approval: "Would run",
  in_doubt: "Was sent",
  ask: "Question, form and what is shown",
} as const;

/** Returns the facts of all sections but these. */
export const factsWithout = (sections: readonly GateSection[], ...ids: readonly GateSectionId[]): readonly GateFact[] =>
  sections.filter(({ id }) => !ids.includes(id)).flatMap(({ facts }) => facts);

/** Returns a fact with its instant as text. */
export const factText = ({ at, text }: GateFact): string => (at === undefined ? text : `${at}, ${text}`);

export const describeReason = ({ source, rule, reason }: GateReason): string =>
  `${source} "${rule}"${reason && `: ${reason}`}`;

const fact = (name: string, text: string): GateFact => ({ name, text });
const factSection = (id: GateSectionId, title: string, facts: readonly GateFact[]): GateSection => ({
  ...{ id, title, facts },
  text: null,
});
const textSection = (id: GateSectionId, title: string, text: string): GateSection => ({
  ...{ id, title, facts: [] },
  text: text === "" ? null : text,
});
const reasonFact = (reason: GateReason): GateFact => fact("asked by", describeReason(reason));

/** Returns what the gate says of the call for people, under labels of the operator's own. */
const presentedFacts = (gate: Gate): readonly GateFact[] => [
  ...each("summary", gate.summary === undefined ? [] : [gate.summary]),
  ...(gate.facts ?? defaultFacts(gate, null)).map((one) => fact(one.label, tellFact(one))),
];

/** Returns the denial of policy, which says why approvals are refused. */
const denialFacts = ({ denied }: Gate): readonly GateFact[] =>
  denied === undefined
    ? []
    : [{ name: "denied", at: denied.at, text: describeReason({ source: "policy", ...denied }) }];

/** Returns a fact under this name for each text. */
const each = (name: string, texts: readonly string[]): readonly GateFact[] => texts.map((text) => fact(name, text));
const listed = (names: readonly string[]): readonly string[] => (names.length === 0 ? [] : [names.join(", ")]);

/** Returns the planned name of an edited gate, if it is another than its title. */
const otherName = ({ edits = [], title, planned_title = title }: Gate): readonly string[] =>
  edits.length === 0 || planned_title === title ? [] : [planned_title];

function editFacts(gate: Gate): readonly GateFact[] {
  const { edits = [] } = gate;
  const changes = edits.flatMap((edit) => [
    fact("edited", describeEditor(edit)),
    ...each("from, to", edit.changes.map(describeChange)),
    ...each("edited", describeComment(edit)),
  ]);
  return [...changes, ...each("planned as", otherName(gate))];
}

function editText(gate: Gate): string | null {
  const lines = describeEdits(gate);
  if (lines.length === 0) return null;
  const named = otherName(gate).map((name) => `The plan named it: ${showLine(name)}`);
  return [...lines, ...named].join("\n");
}

function whatFacts(gate: Gate): readonly GateFact[] {
  const { kind, operator, effect, target } = gate;
  const within = each(
    "within",
    (gate.path ?? []).map(({ step_id, workflow_id }) => `step ${step_id} of ${workflow_id}`),
  );
  const form = formOfGate(gate);
  if (form !== null) {
    const fields = fieldsOf(form);
    const reported = fields.map((field) => `${field.name}: ${describeShown(field)}`);
    return [
      fact("asks", `for an answer with ${fields.map(({ name }) => name).join(", ")}`),
      ...each("field", reported),
      ...within,
    ];
  }
  const final = target === null ? [] : [`${target.type} version ${target.version}, ${target.outcome_id}`];
  return [
    fact(kind === "in_doubt" ? "called" : "runs", `${operator}, effect ${effect}`),
    ...each("target", final),
    ...within,
  ];
}

/** Returns the recorded facts of a call in doubt. */
function doubtFacts({ doubt }: Gate): readonly GateFact[] {
  if (doubt === undefined) return [];
  const { called_at, error } = doubt;
  const lines = error === null ? ["no answer: the process that called ended before one came"] : failureLines(error);
  return [
    fact("at", called_at ?? "a time that is not on record"),
    fact(hasAnswered(error) ? "refused" : "threw", lines.join("\n")),
    fact(
      "unknown",
      hasAnswered(error) ? "nothing: it answered, so it has taken effect" : "whether it has taken effect",
    ),
  ];
}

function whoFacts(gate: Gate): readonly GateFact[] {
  const { roles, approvers, advisors, quorum, signed, delegations } = gate;
  const { added_roles = [], principal_types = [] } = gate;
  const added = added_roles.length === 0 ? [] : [`${added_roles.join(", ")}, since it was escalated`];
  const takes = quorum === null ? [] : [describeQuorum(quorum)];
  const missing = gate.missing === undefined ? [] : [describeParts(gate.missing)];
  const excluded = listExcluded(gate).map(({ people, why }) => `${people.map(namePrincipal).join(", ")}, ${why}`);
  const lent = delegations.map(
    ({ from, to, expires_at }) => `${namePrincipal(from)} to ${namePrincipal(to)} until ${expires_at}`,
  );
  return [
    ...each("decides", roles === null && approvers === null ? ["anybody who may approve"] : listed(roles ?? [])),
    ...each("also", added),
    ...each("only", listed(principal_types)),
    ...each("approvers", listed((approvers ?? []).map(namePrincipal))),
    ...each("advise", listed(advisors)),
    ...each("stage", describeStages(gate)),
    ...each("takes", takes),
    ...each("missing", missing),
    ...each("not by", excluded),
    ...each("confirm", gate.confirm === undefined ? [] : [confirmWords[gate.confirm]]),
    ...each("signed", signed ? ["every vote that counts"] : []),
    ...each("lent", lent),
    ...each("away", (gate.away ?? []).map(describeAway)),
  ];
}

const describeAway = ({ who, to, until, reason }: NonNullable<Gate["away"]>[number]): string =>
  `${namePrincipal(who)} until ${until}, ${namePrincipal(to)} stands in: ${reason}`;

const confirmWords = {
  type: `an approval takes the typed word “${confirmWord}”`,
  second_step: "an approval takes a second step",
} as const;

const describeQuorum = ({ approvals, rejections, of }: GateQuorum): string =>
  `${approvals} to approve${of === undefined ? "" : ` (${describeParts(of)})`}, ${rejections} to reject`;

function voteFacts({ votes }: Gate): readonly GateFact[] {
  const named = Object.values(namedTargets(votes)).map((targets) => JSON.stringify(targets));
  return [...each("voted", votes.map(describeVote)), ...each("applied", named)];
}

function describeVote(vote: GateVote): string {
  const {
    principal,
    decision,
    on_behalf_of,
    part,
    stage,
    advisory,
    signature,
    comment,
    apply_targets,
    resolution,
    result,
    answer: given,
  } = vote;
  const by = vote.stand_in === undefined ? "" : ` by ${vote.stand_in}`;
  const more = [
    ...(result === undefined ? [] : [`result ${JSON.stringify(result)}`]),
    ...(given === undefined ? [] : [`answer ${JSON.stringify(given)}`]),
    ...(apply_targets === undefined ? [] : [`applied to ${JSON.stringify(apply_targets)}`]),
    ...(on_behalf_of === null ? [] : [`in the place of ${namePrincipal(on_behalf_of)}${by}`]),
    ...(part === undefined ? [] : [`for ${part}`]),
    ...(stage === undefined ? [] : [`in stage ${stage}`]),
    ...(advisory ? ["advice"] : []),
    ...(signature === null ? [] : ["signed"]),
    ...(comment === null ? [] : [JSON.stringify(comment)]),
  ];
  const answer = resolution === undefined ? `to ${decision}` : `“${doubtWords[resolution]}”`;
  return [`${namePrincipal(principal)} ${answer}`, ...more].join(", ");
}

function conversationFacts({ conversation }: Gate): readonly GateFact[] {
  if (conversation === undefined) return [];
  const { comments, assigned_to, snoozed, watchers } = conversation;
  const notes = comments.map(({ at, by, text, mentions, asks }) => {
    const to = mentions.length === 0 ? "" : ` (to ${mentions.map(namePrincipal).join(", ")})`;
    return { name: asks === true ? "asked" : "said", at, text: `${namePrincipal(by)}${to}: ${text}` };
  });
  return [
    ...each("looked after by", assigned_to === null ? [] : [namePrincipal(assigned_to)]),
    ...notes,
    ...each(
      "hidden",
      snoozed.map(({ by, until }) => `from ${namePrincipal(by)} until ${until}`),
    ),
    ...each("watched by", listed(watchers.map(namePrincipal))),
  ];
}

function dueFacts({ due_at, expiry_action, escalate_to, kind }: Gate): readonly GateFact[] {
  if (due_at === null) return [];
  const then = expiry_action === null ? "nothing happens" : tellExpiry(expiry_action, escalate_to, kind);
  return [{ name: "due", at: due_at, text: `if nobody decides, ${then}` }];
}

function decisionFacts({ decision }: Gate): readonly GateFact[] {
  if (decision === null) return [];
  const { principal, at, comment, edited, resolution, grant, on_behalf_of: away } = decision;
  const who = principal === null ? "nobody, by its time" : namePrincipal(principal);
  const answer = resolution === null ? decision.decision : `“${doubtWords[resolution]}”`;
  const decided = `${answer} by ${who} at ${at}${edited ? ", edited" : ""}`;
  const given = decision.answer === undefined ? [] : [JSON.stringify(decision.answer)];
  const ahead = grant === undefined ? [] : [`${grant.grant_id}, given at ${grant.given_at}`];
  return [
    fact("decided", decided),
    ...each("by grant", ahead),
    ...each("for", away === undefined ? [] : [`${namePrincipal(away)}, by ${decision.stand_in}`]),
    ...each("answer", given),
    ...each("comment", comment === null ? [] : [comment]),
  ];
}

function effectFacts({ consequences: { approve, edit, reject }, editable, kind }: Gate): readonly GateFact[] {
  if (kind === "ask") return [fact("approve", approve), fact("reject", reject)];
  const edits = editable === null ? "Nothing of it may be edited." : edit;
  return [fact("approve", approve), fact("edit", edits), fact("reject", reject)];
}

const boundFacts = ({ payload_digest, basis = [], basis_digest }: Gate): readonly GateFact[] => [
  fact("digest", payload_digest),
  ...each(
    "rests on",
    basis.map(({ name, digest }) => `${name}, ${digest}`),
  ),
  ...each("basis", basis_digest === undefined ? [] : [basis_digest]),
];
