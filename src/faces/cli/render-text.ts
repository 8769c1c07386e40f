/**
 * Text for people: cutting, indenting, and times relative to now.
 *
 * 1.  Text from outside passes through `showText` or `showLine` (src/protocol/visible-text.ts) exactly once, so that
 *     every character is visible and no text can pass for the program's own output.
 */
import { wrapAnsi } from "fast-wrap-ansi";
import { escapeJson, nameForbidden, showLine, showText } from "../../protocol/visible-text.ts";

/** Formats JSON for programs, with invisible characters escaped. `space` is that of JSON.stringify. */
export const toJsonText = (value: unknown, space = 0): string => escapeJson(JSON.stringify(value, null, space));

/** Indents all lines of a text but the first by `margin`, the width of the words that stand before the text. */
export const hangLines = (text: string, margin: number): string =>
  showText(text).replaceAll("\n", `\n${" ".repeat(margin)}`);

/** Shows a text on one line of at most `width` characters. */
export function cutLine(text: string, width: number): string {
  // A character has at most two code units, so the text far beyond the width need not be examined.
  return cutShown(showLine(text.slice(0, 2 * width + 2)), width);
}

/** Cuts a line that is safe to display already to at most `width` characters. */
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

/** Returns the first `limit` lines and the number of lines that are left out. */
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

/** Formats the time since a beginning, such as `+0.310 s`. */
export const describeOffset = (iso: string, from: string): string =>
  `+${((Date.parse(iso) - Date.parse(from)) / 1000).toFixed(3)} s`;

/**
 * Quotes a word for a shell: unchanged if it is safe, else in single quotes; invisible characters are escaped in $'…'.
 */
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

/** Breaks a line between words into lines of at most `columns` cells; each further line begins with `hang`. */
export const wrapLine = (line: string, columns: number, hang = ""): readonly string[] =>
  wrapAnsi(line, columns - hang.length, { hard: true })
    .split("\n")
    .map((part, i) => (i === 0 ? part : hang + part));

/** Breaks the lines of a text, except indented ones: a text that is to be copied stays on one line. */
export const wrapLines = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") ? [line] : wrapLine(line, columns)))
    .join("\n");
