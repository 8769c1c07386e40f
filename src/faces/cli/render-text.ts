/**
 * Text for people: cut, indented, and times told relative to now.
 *
 * 1.  What came from outside is shown by `showText` and `showLine` (src/protocol/visible-text.ts), once: every character
 *        of it can be seen, and none of it can stand where the program itself speaks.
 */
import { wrapAnsi } from "fast-wrap-ansi";
import { escapeJson, nameForbidden, showLine, showText } from "../../protocol/visible-text.ts";

/** JSON for programs; what cannot be seen in it is escaped. `space` as for JSON.stringify. */
export const toJsonText = (value: unknown, space = 0): string => escapeJson(JSON.stringify(value, null, space));

/** Of several lines, those after the first under the first: `margin` is the width of what stands before it. */
export const hangLines = (text: string, margin: number): string =>
  showText(text).replaceAll("\n", `\n${" ".repeat(margin)}`);

/** On one line, of at most `width` characters. */
export function cutLine(text: string, width: number): string {
  // A character is two units at most: what is far beyond the width need not be looked at.
  return cutShown(showLine(text.slice(0, 2 * width + 2)), width);
}

/** The same of what is shown already. */
export function cutShown(shown: string, width: number): string {
  const line = [...shown];
  if (line.length <= width) return line.join("");
  return `${line.slice(0, Math.max(0, width - 1)).join("")}…`;
}

export const indent = (text: string, margin = "  "): string =>
  text
    .split("\n")
    .map((line) => (line === "" ? "" : margin + line))
    .join("\n");

/** The first `limit` lines, and how many are left out. */
export function clipLines(text: string, limit: number): { readonly text: string; readonly left: number } {
  const lines = text.split("\n");
  return { text: lines.slice(0, limit).join("\n"), left: Math.max(0, lines.length - limit) };
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** Returns `3 min ago`, `in 47 h`, `now`, in the largest unit that fits twice; the instant as an ISO text. */
export function describeTime(iso: string, now: number): string {
  const distance = now - Date.parse(iso);
  const [unit, ms] = units.find(([, size]) => Math.abs(distance) >= (size === 1000 ? size : 2 * size)) ?? ["", 0];
  if (Number.isNaN(distance) || ms === 0) return "now";
  const amount = `${Math.floor(Math.abs(distance) / ms)} ${unit}`;
  return distance > 0 ? `${amount} ago` : `in ${amount}`;
}

/** `+0.31 s` after a beginning. */
export const describeOffset = (iso: string, from: string): string =>
  `+${((Date.parse(iso) - Date.parse(from)) / 1000).toFixed(3)} s`;

/** For a shell: as it is where that is safe, else in single quotes; what cannot be seen as an escape, in $'…'. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (nameForbidden(word) === word && !word.includes("\n")) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${Array.from(word, escapeForShell).join("")}'`;
}

function escapeForShell(char: string): string {
  if (char === "'" || char === "\\") return `\\${char}`;
  if (char !== "\n" && nameForbidden(char) === char) return char;
  return `\\U${(char.codePointAt(0) as number).toString(16).padStart(8, "0")}`;
}

/** Lines of at most so many cells, broken between words; further ones begin with `hang`. */
export const wrapLine = (line: string, columns: number, hang = ""): readonly string[] =>
  wrapAnsi(line, columns - hang.length, { hard: true })
    .split("\n")
    .map((part, i) => (i === 0 ? part : hang + part));

/** The same for a text, but for its lines that are indented: what is to be copied stays on one. */
export const wrapLines = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") ? [line] : wrapLine(line, columns)))
    .join("\n");
