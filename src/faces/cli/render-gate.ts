/**
 * Renders a gate for the person who decides on it: the requester and reason, the call, the changes, and the consequence
 * of each answer.
 * Owns: the layout and the colours of a unified diff. Never: leaves out a line or a field of the call without saying
 * so; lets a text from outside begin a line of the layout.
 */
import type { Gate } from "../../contract/gate.ts";
import type { Json } from "../../contract/json.ts";
import { describeGate, factsWithout, type GateFact } from "../../protocol/describe-gate.ts";
import { listedPayload } from "../../protocol/form-fields.ts";
import { listHiddenFields } from "../../protocol/hidden-fields.ts";
import { showLine, showText } from "../../protocol/visible-text.ts";
import { clipLines, describeTime, hangLines, indent } from "./render-text.ts";
import type { Paint, Style, Terminal } from "./terminal.ts";

type Look = Pick<Terminal, "paint" | "now">;

/**
 * Limits of the rendering. `maxLines` bounds the preview and the changes separately; a cut section ends with the number
 * of lines left and `rest`.
 */
export interface GateView {
  readonly maxLines?: number;
  readonly rest?: string;
}

/** A section of a gate: its text, safe to display, of which some lines have a style. */
export interface Section {
  readonly title: string;
  readonly text: string;
  readonly styleOf?: (line: string) => Style | null;
}

/**
 * Returns the sections after the head, in their reading order. A preview that the diff shows completely is left out.
 */
export function gateSections(gate: Gate, { now }: Pick<Look, "now">): readonly Section[] {
  const hidden = renderHidden(gate);
  const shown = gate.diff === null ? "not" : compareShown(gate.diff, gate.preview);
  const preview = { title: "Preview", text: showText(gate.preview) };
  return [
    ...editSections(gate),
    ...factSections(gate),
    ...(shown === "in the changes" ? [] : [preview]),
    ...(hidden === "" ? [] : [{ title: "Fields of the payload", text: hidden }]),
    ...(gate.diff === null ? [] : [describeChanges(gate.diff, shown)]),
    ...describeGate(gate).flatMap(({ id, title, facts }) =>
      id === "effects" ? [{ title, text: renderNames(facts, now()) }] : [],
    ),
    { title: "Details", text: renderFacts(gate, now()) },
  ];
}

/** Returns the sections with a colleague's edits, which stand before the changes of the call. */
const editSections = (gate: Gate): readonly Section[] =>
  describeGate(gate).flatMap(({ id, title, text }) =>
    id === "edits" && text !== null ? [{ title, text: showText(text) }] : [],
  );

/** Returns the section with the facts that people decide by, with their labels in a column. */
const factSections = (gate: Gate): readonly Section[] =>
  describeGate(gate).flatMap(({ id, title, facts }) =>
    id === "facts" ? [{ title, text: renderColumn(facts.map(({ name, text }) => [name, text])) }] : [],
  );

function renderColumn(rows: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.min(28, Math.max(...rows.map(([name]) => showLine(name).length))) + 2;
  const lines = rows.map(([name, text]) => hangLines(`${name.replace(/\s+/g, " ").padEnd(width)}${text}`, width));
  return lines.join("\n");
}

export function renderGate(gate: Gate, { paint, now }: Look, view: GateView = {}): string {
  const opened = `${gate.status}, opened ${describeTime(gate.opened_at, now())}`;
  const head = `${paint("bold", showLine(gate.title))}  ${paint("cyan", showLine(gate.gate_id))}  ${opened}`;
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

/** Returns whether the lines that a diff keeps and adds are exactly the preview. */
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

/** The sections that the layout shows separately, outside the facts. */
const shownApart = ["edits", "facts", "effects"] as const;

const renderFacts = (gate: Gate, now: number): string =>
  renderNames(factsWithout(describeGate(gate), ...shownApart), now);

/** Returns a line for each fact; further lines of a text are indented under its first line. */
const renderNames = (facts: readonly GateFact[], now: number): string =>
  facts
    .map(
      ({ name, at, text }) => `${name.padEnd(margin)}${at === undefined ? text : `${describeTime(at, now)}, ${text}`}`,
    )
    .map((line) => hangLines(line, margin))
    .join("\n");

/** The width of the names of facts. */
const margin = 10;
const longestValue = 2000;

/** Lists the fields of the call that the preview does not show, a line each; empty if it shows all of them. */
export const renderHidden = ({ kind, payload, preview }: Pick<Gate, "kind" | "payload" | "preview">): string =>
  listHiddenFields(listedPayload({ kind, payload }), preview)
    .map(({ path, value }) => `${showLine(path).padEnd(margin - 1)} ${renderValue(value)}`)
    .join("\n");

function renderValue(value: Json): string {
  const text = JSON.stringify(value);
  const left = text.length - longestValue;
  return left <= 0 ? showLine(text) : `${showLine(text.slice(0, longestValue))}… ${left} more characters`;
}

function clip(text: string, { maxLines = Number.POSITIVE_INFINITY, rest = "" }: GateView): string {
  const clipped = clipLines(text, maxLines);
  return clipped.left === 0 ? clipped.text : `${clipped.text}\n… ${clipped.left} more lines${rest && `: ${rest}`}`;
}

/** Makes a unified diff safe to display. The first character of each line, the sign of the diff, is kept. */
export const showDiff = (diff: string): string => diff.replace(/\n$/, "").split("\n").map(showDiffLine).join("\n");

const paintLines = (text: string, styleOf: (line: string) => Style | null, paint: Paint): string =>
  text
    .split("\n")
    .map((line) => {
      const style = styleOf(line);
      return style === null ? line : paint(style, line);
    })
    .join("\n");

/**
 * Makes one line of a diff safe to display. The sign at its beginning is not text; before an empty line it is a space.
 */
const showDiffLine = (line: string): string =>
  /^[ +-]/.test(line) ? line.slice(0, 1) + showLine(line.slice(1)) : showLine(line);

export function styleOfDiff(line: string): Style | null {
  if (line.startsWith("--- ") || line.startsWith("+++ ")) return "bold";
  if (line.startsWith("@@")) return "cyan";
  if (line.startsWith("+")) return "green";
  return line.startsWith("-") ? "red" : null;
}
