/**
 * A unified diff of two texts, as `diff -u` and git print it. Pure.
 *
 * Owns: hunks with three lines of context, the mark of a missing last newline. Never: compares more than `maxCells`
 * pairs of lines; beyond that the differing middle is shown as replaced whole.
 */
import { compareLines, type Edit, type Sign } from "../../../protocol/compare-lines.ts";

const contextLines = 3;
const maxCells = 4_000_000;

export interface DiffQuestion {
  readonly path: string;
  /** null when the file does not exist yet. */
  readonly before: string | null;
  readonly after: string;
}

/** Returns a unified diff; empty if nothing changes. */
export function unifiedDiff({ path, before, after }: DiffQuestion): string {
  const edits = compareLines(splitLines(before ?? ""), splitLines(after), maxCells);
  const hunks = findHunks(edits).map(([from, to]) => printHunk(edits, from, to));
  if (hunks.length === 0) return "";
  return `${before === null ? "--- /dev/null" : `--- a/${path}`}\n+++ b/${path}\n${hunks.join("")}`;
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function findHunks(edits: readonly Edit[]): readonly (readonly [number, number])[] {
  const hunks: [number, number][] = [];
  for (const [index, [sign]] of edits.entries()) {
    if (sign === " ") continue;
    const last = hunks.at(-1);
    const end = Math.min(edits.length, index + 1 + contextLines);
    if (last !== undefined && index - contextLines <= last[1]) last[1] = end;
    else hunks.push([Math.max(0, index - contextLines), end]);
  }
  return hunks;
}

function printHunk(edits: readonly Edit[], from: number, to: number): string {
  const range = (without: Sign): string => {
    const count = (list: readonly Edit[]): number => list.filter(([sign]) => sign !== without).length;
    const length = count(edits.slice(from, to));
    // A side without lines is named by the line before it.
    return `${count(edits.slice(0, from)) + (length === 0 ? 0 : 1)}${length === 1 ? "" : `,${length}`}`;
  };
  const lines = edits.slice(from, to).map(([sign, line]) => sign + closeLine(line));
  return `@@ -${range("+")} +${range("-")} @@\n${lines.join("")}`;
}

const closeLine = (line: string): string => (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`);
