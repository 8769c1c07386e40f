// A unified diff of two texts, as `diff -u` and git print it. Pure.
// Owns: lines, hunks with three lines of context, the mark of a missing last newline.
// Never: compares more than `maxCells` pairs of lines; beyond that the differing middle is shown as replaced whole.

const contextLines = 3;
const maxCells = 4_000_000;

type Sign = " " | "-" | "+";
type Edit = readonly [sign: Sign, line: string];

export interface DiffQuestion {
  readonly path: string;
  /** null when the file does not exist yet. */
  readonly before: string | null;
  readonly after: string;
}

/** The empty text when nothing changes. */
export function unifiedDiff({ path, before, after }: DiffQuestion): string {
  const edits = compareLines(splitLines(before ?? ""), splitLines(after));
  const hunks = findHunks(edits).map(([from, to]) => printHunk(edits, from, to));
  if (hunks.length === 0) return "";
  return `${before === null ? "--- /dev/null" : `--- a/${path}`}\n+++ b/${path}\n${hunks.join("")}`;
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const mark = (sign: Sign, lines: readonly string[]): Edit[] => lines.map((line) => [sign, line]);

function compareLines(a: readonly string[], b: readonly string[]): Edit[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = compareMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...mark(" ", a.slice(0, head)), ...middle, ...mark(" ", a.slice(a.length - tail))];
}

/** Longest common subsequence: cell (i, j) is its length for the lines from i and from j on. */
function compareMiddle(a: readonly string[], b: readonly string[]): Edit[] {
  if (a.length * b.length > maxCells) return [...mark("-", a), ...mark("+", b)];
  const width = b.length + 1;
  const cells = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => cells[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      cells[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const edits: Edit[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const sign = a[i] === b[j] ? " " : at(i + 1, j) >= at(i, j + 1) ? "-" : "+";
    edits.push([sign, (sign === "+" ? b[j] : a[i]) ?? ""]);
    if (sign !== "+") i += 1;
    if (sign !== "-") j += 1;
  }
  return [...edits, ...mark("-", a.slice(i)), ...mark("+", b.slice(j))];
}

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
