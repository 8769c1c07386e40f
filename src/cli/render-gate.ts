/**
 * A gate as a person decides on it: who asked and why, what would run, what changes, what each answer does.
 * Owns: the layout and the colours of a unified diff. Never: leaves out a line without saying so.
 */
import type { Gate, GateReason } from "../contract/gate.ts";
import type { GateVote } from "../contract/gate-vote.ts";
import { cleanText, clipLines, indent, tellTime } from "./render-text.ts";
import type { Paint, Style, Terminal } from "./terminal.ts";

type Look = Pick<Terminal, "paint" | "now">;

/** `maxLines` bounds preview and changes each; a cut one ends with how many lines are left and `rest`. */
export interface GateView {
  readonly maxLines?: number;
  readonly rest?: string;
}

export function renderGate(gate: Gate, { paint, now }: Look, view: GateView = {}): string {
  const head = `${paint("bold", cleanText(gate.title))}  ${paint("cyan", gate.gate_id)}  ${gate.status}, opened ${tellTime(gate.opened_at, now())}`;
  const parts = [head, indent(renderFacts(gate, now()))];
  parts.push(paint("bold", "Preview"), indent(clip(cleanText(gate.preview), view)));
  if (gate.diff !== null)
    parts.push(paint("bold", "Changes"), indent(renderDiff(clip(cleanText(gate.diff), view), paint)));
  parts.push(paint("bold", "Answers"), indent(renderAnswers(gate)));
  return parts.join("\n");
}

function renderFacts(gate: Gate, now: number): string {
  const lines = gate.reasons.map((reason) => `asked by  ${tellReason(reason)}`);
  lines.push(`runs      ${gate.operator}, effect ${gate.effect}`);
  lines.push(`risk      ${gate.risk_level}, estimated cost ${gate.estimated_cost}`);
  if (gate.target !== null)
    lines.push(`target    ${gate.target.type} ${gate.target.outcome_id} version ${gate.target.version}`);
  if (gate.roles !== null) lines.push(`may say   ${gate.roles.join(", ")}`);
  lines.push(...renderVotes(gate));
  if (gate.due_at !== null) lines.push(`due       ${tellTime(gate.due_at, now)}, then ${gate.expiry_action}`);
  lines.push(`digest    ${gate.payload_digest}`);
  for (const { name, digest } of gate.basis ?? []) lines.push(`rests on  ${name}, ${digest}`);
  if (gate.basis_digest !== undefined) lines.push(`basis     ${gate.basis_digest}`);
  return cleanText(lines.join("\n"));
}

const nameOf = ({ type, id }: { readonly type?: string | undefined; readonly id: string | number }): string =>
  type === undefined ? String(id) : `${type} ${id}`;

/** Who decides, how many it takes, and who has said what. */
function renderVotes({
  approvers,
  quorum,
  requester,
  separation,
  signed,
  delegations,
  votes,
}: Gate): readonly string[] {
  const lines: string[] = [];
  if (approvers !== null) lines.push(`approvers ${approvers.map(nameOf).join(", ")}`);
  if (quorum !== null) lines.push(`takes     ${quorum.approvals} to approve, ${quorum.rejections} to reject`);
  if (separation && requester !== null) lines.push(`not by    ${nameOf(requester)}, who asked for it`);
  if (signed) lines.push("signed    every vote that counts");
  for (const { from, to, expires_at } of delegations)
    lines.push(`lent      ${nameOf(from)} to ${nameOf(to)} until ${expires_at}`);
  for (const vote of votes) lines.push(`voted     ${tellVote(vote)}`);
  return lines;
}

function tellVote({ principal, decision, on_behalf_of, advisory, signature, comment }: GateVote): string {
  const more = [
    ...(on_behalf_of === null ? [] : [`in the place of ${nameOf(on_behalf_of)}`]),
    ...(advisory ? ["advice"] : []),
    ...(signature === null ? [] : ["signed"]),
    ...(comment === null ? [] : [JSON.stringify(comment)]),
  ];
  return [`${nameOf(principal)} to ${decision}`, ...more].join(", ");
}

export const tellReason = ({ source, rule, reason }: GateReason): string => `${source} "${rule}": ${reason}`;

function renderAnswers({ consequences: { approve, edit, reject } }: Gate): string {
  return cleanText(`approve   ${approve}\nedit      ${edit}\nreject    ${reject}`);
}

function clip(text: string, { maxLines = Number.POSITIVE_INFINITY, rest = "" }: GateView): string {
  const clipped = clipLines(text.trimEnd(), maxLines);
  return clipped.left === 0 ? clipped.text : `${clipped.text}\n… ${clipped.left} more lines${rest && `: ${rest}`}`;
}

/** A unified diff, added lines green, removed ones red. */
export const renderDiff = (diff: string, paint: Paint): string =>
  diff
    .split("\n")
    .map((line) => {
      const style = styleOf(line);
      return style === null ? line : paint(style, line);
    })
    .join("\n");

function styleOf(line: string): Style | null {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return "bold";
  if (line.startsWith("@@")) return "cyan";
  if (line.startsWith("+")) return "green";
  return line.startsWith("-") ? "red" : null;
}
