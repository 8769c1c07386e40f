/**
 * Text for people: made safe to show, cut, indented, and times told relative to now.
 *
 * INV-1  Nothing that came from outside can move the cursor, colour the screen or turn the reading direction: what a
 *        person approves is what they see.
 */
import { stripVTControlCharacters } from "node:util";

const bidiControls = /[\u202a-\u202e\u2066-\u2069]/g;
const otherControls = /[^\P{Cc}\n\t]/gu;

const nameCharacter = (char: string): string => `<U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;

/** Without terminal sequences; other control characters and direction marks are named. Keeps line ends and tabs. */
export function cleanText(text: string): string {
  const plain = stripVTControlCharacters(text).replaceAll("\r\n", "\n");
  return plain.replace(bidiControls, nameCharacter).replace(otherControls, nameCharacter);
}

/** On one line, of at most `width` characters. */
export function cutLine(text: string, width: number): string {
  const line = [...cleanText(text).replace(/\s+/g, " ").trim()];
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

/** `3 min ago`, `in 2 h`, `now`; the instant as an ISO text. */
export function tellTime(iso: string, now: number): string {
  const distance = now - Date.parse(iso);
  const [unit, ms] = units.find(([, size]) => Math.abs(distance) >= size) ?? ["", 0];
  if (Number.isNaN(distance) || ms === 0) return "now";
  const amount = `${Math.floor(Math.abs(distance) / ms)} ${unit}`;
  return distance > 0 ? `${amount} ago` : `in ${amount}`;
}

/** `+0.31 s` after a beginning. */
export const tellOffset = (iso: string, from: string): string =>
  `+${((Date.parse(iso) - Date.parse(from)) / 1000).toFixed(3)} s`;

/** For a shell: as it is where that is safe, else in single quotes. */
export const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
