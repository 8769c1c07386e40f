/**
 * A gate as a person decides on it: who asked and why, what would run, what changes, what each answer does.
 * Owns: the layout and the colours of a unified diff. Never: leaves out a line, or a field of what would run, without
 *       saying so; lets a text from outside begin a line of the layout.
 */
import type { Gate, GateReason } from "../../contract/gate.ts";
import type { GateVote } from "../../contract/gate-vote.ts";
import type { Json } from "../../contract/json.ts";
import { isSpent } from "../../contract/spent-call.ts";
import { describeEdits, listExcluded } from "../../protocol/describe-edits.ts";
import { doubtWords } from "../../protocol/doubt-words.ts";
import { failureLines } from "../../protocol/failure-lines.ts";
import { listHiddenFields } from "../../protocol/hidden-fields.ts";
import { namePrincipal } from "../../protocol/name-principal.ts";
import { showLine, showText } from "../../protocol/visible-text.ts";
import { clipLines, describeTime, hangLines, indent } from "./render-text.ts";
import type { Paint, Style, Terminal } from "./terminal.ts";

type Look = Pick<Terminal, "paint" | "now">;

/** `maxLines` bounds preview and changes each; a cut one ends with how many lines are left and `rest`. */
export interface GateView {
  readonly maxLines?: number;
  readonly rest?: string;
}

/** A part of what a gate shows: shown text, of which some lines have a style. */
export interface Section {
  readonly title: string;
  readonly text: string;
  readonly styleOf?: (line: string) => Style | null;
}

/** What a person reads after the head, in the order in which they read it. What the diff shows whole is not shown twice. */
export function gateSections(gate: Gate, { now }: Pick<Look, "now">): readonly Section[] {
  const hidden = renderHidden(gate);
  const shown = gate.diff === null ? "not" : compareShown(gate.diff, gate.preview);
  const preview = { title: "Preview", text: showText(gate.preview) };
  return [
    ...editSections(gate),
    ...(shown === "in the changes" ? [] : [preview]),
    ...(hidden === "" ? [] : [{ title: "Not in the preview", text: hidden }]),
    ...(gate.diff === null ? [] : [describeChanges(gate.diff, shown)]),
    { title: "Answers", text: renderAnswers(gate) },
    { title: "Details", text: renderFacts(gate, now()) },
  ];
}

/** What a colleague changed comes before all that they changed. */
function editSections(gate: Gate): readonly Section[] {
  const lines = describeEdits(gate);
  if (lines.length === 0) return [];
  const named = gate.planned_title === undefined ? [] : [`The plan named it: ${showLine(gate.planned_title)}`];
  return [{ title: "Edited", text: [...lines, ...named].join("\n") }];
}

export function renderGate(gate: Gate, { paint, now }: Look, view: GateView = {}): string {
  const head = `${paint("bold", showLine(gate.title))}  ${paint("cyan", showLine(gate.gate_id))}  ${gate.status}, opened ${describeTime(gate.opened_at, now())}`;
  const edits = editSections(gate);
  const whole = ["Details", "Edited"];
  const sections = gateSections(gate, { now }).filter(({ title }) => !whole.includes(title));
  const cut = sections.map((section) =>
    section.title === "Answers" ? section : { ...section, text: clip(section.text, view) },
  );
  const first = edits.length === 0 ? [] : [renderSections(edits, paint)];
  return [head, ...first, indent(renderFacts(gate, now())), renderSections(cut, paint)].join("\n");
}

export const renderSections = (sections: readonly Section[], paint: Paint): string =>
  sections
    .flatMap(({ title, text, styleOf }) => [
      paint("bold", title),
      indent(styleOf === undefined ? text : paintLines(text, styleOf, paint)),
    ])
    .join("\n");

type Shown = "not" | "in the changes" | "as a new file";

/** Whether the lines that a diff keeps and adds are the preview, all of it. */
function compareShown(diff: string, preview: string): Shown {
  const lines = diff.split("\n");
  const after = lines
    .slice(2)
    .filter((line) => /^[ +]/.test(line))
    .map((line) => line.slice(1));
  if (after.join("\n") !== preview.replace(/\n$/, "")) return "not";
  return lines[0]?.startsWith("--- /dev/null") ? "as a new file" : "in the changes";
}

function describeChanges(diff: string, shown: Shown): Section {
  if (shown !== "as a new file") return { title: "Changes", text: showDiff(diff) || "none", styleOf: styleOfDiff };
  const [from = "", to = ""] = showDiff(diff).split("\n");
  return { title: "Changes", text: `${from}\n${to}\na new file: all of the preview`, styleOf: styleOfDiff };
}

function renderFacts(gate: Gate, now: number): string {
  const lines = gate.reasons.map((reason) => `asked by  ${describeReason(reason)}`);
  lines.push(`${gate.kind === "in_doubt" ? "called" : "runs  "}    ${gate.operator}, effect ${gate.effect}`);
  lines.push(...renderDoubt(gate));
  lines.push(`risk      ${gate.risk_level}, estimated cost ${gate.estimated_cost}`);
  if (gate.target !== null)
    lines.push(`target    ${gate.target.type} ${gate.target.outcome_id} version ${gate.target.version}`);
  if (gate.roles !== null) lines.push(`may say   ${gate.roles.join(", ")}`);
  if (gate.added_roles !== undefined && gate.added_roles.length > 0)
    lines.push(`also      ${gate.added_roles.join(", ")}, since it was escalated`);
  if (gate.principal_types !== undefined) lines.push(`only      ${gate.principal_types.join(", ")}`);
  lines.push(...renderVotes(gate));
  if (gate.due_at !== null) lines.push(`due       ${describeTime(gate.due_at, now)}, then ${gate.expiry_action}`);
  lines.push(`digest    ${gate.payload_digest}`);
  for (const { name, digest } of gate.basis ?? []) lines.push(`rests on  ${name}, ${digest}`);
  if (gate.basis_digest !== undefined) lines.push(`basis     ${gate.basis_digest}`);
  return lines.map((line) => hangLines(line, margin)).join("\n");
}

/** What is on record of a call in doubt. */
function renderDoubt({ doubt }: Gate): readonly string[] {
  if (doubt === undefined) return [];
  const { called_at, error } = doubt;
  const hasAnswered = isSpent(error);
  const threw = error === null ? ["no answer: the process that called ended before one came"] : failureLines(error);
  return [
    `at        ${called_at ?? "a time that is not on record"}`,
    ...threw.map((line, i) => `${i === 0 ? (hasAnswered ? "refused   " : "threw     ") : " ".repeat(margin)}${line}`),
    `unknown   ${hasAnswered ? "nothing: it answered, so it has taken effect" : "whether it has taken effect"}`,
  ];
}

/** The width of the names of facts. */
const margin = 10;
const longestValue = 2000;

/** The fields that run and that the preview does not say, a line each; empty where it says all. */
export const renderHidden = ({ payload, preview }: Pick<Gate, "payload" | "preview">): string =>
  listHiddenFields(payload, preview)
    .map(({ path, value }) => `${showLine(path).padEnd(margin - 1)} ${renderValue(value)}`)
    .join("\n");

function renderValue(value: Json): string {
  const text = JSON.stringify(value);
  const left = text.length - longestValue;
  return left <= 0 ? showLine(text) : `${showLine(text.slice(0, longestValue))}… ${left} more characters`;
}

/** Who decides, how many it takes, and who has said what. */
function renderVotes(gate: Gate): readonly string[] {
  const { approvers, quorum, signed, delegations, votes } = gate;
  const lines: string[] = [];
  if (approvers !== null) lines.push(`approvers ${approvers.map(namePrincipal).join(", ")}`);
  if (quorum !== null) lines.push(`takes     ${quorum.approvals} to approve, ${quorum.rejections} to reject`);
  for (const { people, why } of listExcluded(gate))
    lines.push(`not by    ${people.map(namePrincipal).join(", ")}, ${why}`);
  if (signed) lines.push("signed    every vote that counts");
  for (const { from, to, expires_at } of delegations)
    lines.push(`lent      ${namePrincipal(from)} to ${namePrincipal(to)} until ${expires_at}`);
  for (const vote of votes) lines.push(`voted     ${describeVote(vote)}`);
  return lines;
}

function describeVote(vote: GateVote): string {
  const { principal, decision, on_behalf_of, advisory, signature, comment, apply_targets, resolution, result } = vote;
  const more = [
    ...(result === undefined ? [] : [`result ${JSON.stringify(result)}`]),
    ...(apply_targets === undefined ? [] : [`applied to ${JSON.stringify(apply_targets)}`]),
    ...(on_behalf_of === null ? [] : [`in the place of ${namePrincipal(on_behalf_of)}`]),
    ...(advisory ? ["advice"] : []),
    ...(signature === null ? [] : ["signed"]),
    ...(comment === null ? [] : [JSON.stringify(comment)]),
  ];
  const answer = resolution === undefined ? `to ${decision}` : `“${doubtWords[resolution]}”`;
  return [`${namePrincipal(principal)} ${answer}`, ...more].join(", ");
}

export const describeReason = ({ source, rule, reason }: GateReason): string => `${source} "${rule}": ${reason}`;

function renderAnswers({ consequences: { approve, edit, reject }, editable }: Gate): string {
  const edits = editable === null ? "Nothing of it may be edited." : edit;
  const lines = [`approve   ${approve}`, `edit      ${edits}`, `reject    ${reject}`];
  return lines.map((line) => hangLines(line, margin)).join("\n");
}

function clip(text: string, { maxLines = Number.POSITIVE_INFINITY, rest = "" }: GateView): string {
  const clipped = clipLines(text, maxLines);
  return clipped.left === 0 ? clipped.text : `${clipped.text}\n… ${clipped.left} more lines${rest && `: ${rest}`}`;
}

/** A unified diff as it can be seen; its signs are its own. */
export const showDiff = (diff: string): string => diff.replace(/\n$/, "").split("\n").map(showDiffLine).join("\n");

const paintLines = (text: string, styleOf: (line: string) => Style | null, paint: Paint): string =>
  text
    .split("\n")
    .map((line) => {
      const style = styleOf(line);
      return style === null ? line : paint(style, line);
    })
    .join("\n");

/** The sign at the beginning is the diff's own; before an empty line it is a space that says nothing. */
const showDiffLine = (line: string): string =>
  /^[ +-]/.test(line) ? line.slice(0, 1) + showLine(line.slice(1)) : showLine(line);

export function styleOfDiff(line: string): Style | null {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return "bold";
  if (line.startsWith("@@")) return "cyan";
  if (line.startsWith("+")) return "green";
  return line.startsWith("-") ? "red" : null;
}
