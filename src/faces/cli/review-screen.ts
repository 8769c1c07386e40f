/**
 * A gate on one screen: the head stays, the middle scrolls by pages, and the foot lists the keys. Pure.
 *
 * Owns: the contents of each part, and the wrapping of lines.
 * 1.  No line is wider than the screen, and no word is broken that fits on a line.
 * 2.  Text from outside never begins at the margin: in the middle, the margin is empty or marks a continued line.
 * 3.  The number of lines that are not on the screen is shown.
 */
import { wrapAnsi } from "fast-wrap-ansi";
import type { Gate } from "../../contract/gate.ts";
import { describeReason } from "../../protocol/describe-gate.ts";
import { tellExpiry } from "../../protocol/expiry-words.ts";
import { showLine } from "../../protocol/visible-text.ts";
import type { Section } from "./render-gate.ts";
import { describeTime, wrapLine } from "./render-text.ts";
import type { Paint } from "./terminal.ts";

export interface ScreenView {
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  readonly now: () => number;
  /** The position of the gate in the review, such as `2 of 7`. */
  readonly place: string;
  /** The first line of the middle. */
  readonly at: number;
  /** The question that is asked, or the list of keys. */
  readonly foot: string;
}

export interface Rendered {
  readonly lines: readonly string[];
  /** The first line of the middle, its number of lines, and the number of lines that fit. */
  readonly at: number;
  readonly total: number;
  readonly height: number;
}

const fewestRows = 3;
/** The widest text in columns; longer lines are harder to read. */
const widest = 120;

/**
 * Returns the lines of the middle for a number of columns. Wrapping a long text is slow, so it is repeated only if the
 * width changes.
 */
export type Layout = (columns: number) => readonly string[];

export function layOut(sections: readonly Section[], paint: Paint): Layout {
  let [wrapped, at]: [readonly string[], number] = [[], 0];
  return (columns) => {
    if (columns !== at) [wrapped, at] = [wrapSections(sections, columns, paint), columns];
    return wrapped;
  };
}

export function renderScreen(gate: Gate, layout: Layout, view: ScreenView): Rendered {
  const columns = Math.max(20, Math.min(view.columns, widest));
  const middle = layout(columns);
  const most = Math.max(4, Math.floor(view.rows / 2));
  const head = clipHead(renderHead(gate, columns, view), most, view.paint);
  const foot = wrapLine(view.foot, columns);
  const height = Math.max(fewestRows, view.rows - head.length - foot.length - 3);
  const at = Math.max(0, Math.min(view.at, middle.length - height));
  const shown = middle.slice(at, at + height);
  const rule = view.paint("dim", "-".repeat(columns));
  const page = view.paint("dim", describePage(at, shown.length, middle.length));
  const blank = Array.from({ length: height - shown.length }, () => "");
  return { lines: [...head, rule, ...shown, ...blank, rule, page, ...foot], at, total: middle.length, height };
}

const describePage = (at: number, shown: number, total: number): string => {
  if (shown >= total) return `all ${total} lines`;
  const below = total - at - shown;
  return `lines ${at + 1} to ${at + shown} of ${total}${below > 0 ? ", space: on" : ""}${at > 0 ? ", b: back" : ""}`;
};

function renderHead(gate: Gate, columns: number, { paint, now, place }: ScreenView): readonly string[] {
  const title = wrapLine(showLine(gate.title), columns, "  ").map((line) => paint("bold", line));
  const lines = [
    `${place}   ${gate.workflow_id}  ${gate.gate_id}`,
    [
      gate.kind === "ask"
        ? "asks people for an answer"
        : `${gate.kind === "in_doubt" ? "called" : "runs"} ${showLine(gate.operator)}, effect ${gate.effect}`,
      `risk ${gate.risk_level}, cost ${gate.estimated_cost}, opened ${describeTime(gate.opened_at, now())}`,
      ...describeDue(gate, now()),
    ].join(", "),
    ...gate.reasons.map((reason) => showLine(`asked by ${describeReason(reason)}`)),
    `payload ${gate.payload_digest.slice(0, 12)}`,
  ];
  return [...title, ...lines.flatMap((line) => wrapLine(line, columns, "  "))];
}

function describeDue({ due_at, expiry_action, escalate_to, kind }: Gate, now: number): readonly string[] {
  if (due_at === null) return [];
  const then = expiry_action === null ? "" : ` (if nobody decides, ${tellExpiry(expiry_action, escalate_to, kind)})`;
  return [`due ${describeTime(due_at, now)}${then}`];
}

function clipHead(head: readonly string[], most: number, paint: Paint): readonly string[] {
  if (head.length <= most) return head;
  return [...head.slice(0, most - 1), paint("dim", `${head.length - most + 1} more lines: see Details below`)];
}

/** Breaks a line into parts of at most `columns` cells and keeps all spaces of a text from outside. */
const wrapText = (line: string, columns: number): readonly string[] =>
  wrapAnsi(line, columns, { hard: true, trim: false }).split("\n");

function wrapSections(sections: readonly Section[], columns: number, paint: Paint): readonly string[] {
  return sections.flatMap(({ title, text, styleOf }, i) => {
    const lines = text.split("\n").flatMap((line) => {
      const style = styleOf?.(line) ?? null;
      const [first = "", ...rest] = wrapText(line, columns - 2);
      const color = (part: string): string => (style === null ? part : paint(style, part));
      return [`  ${color(first)}`, ...rest.map((part) => `${paint("dim", ": ")}${color(part)}`)];
    });
    return [...(i === 0 ? [] : [""]), paint("bold", title), ...lines];
  });
}
