/** Compares two texts line by line: lines that stay, go and are new. Pure. */
export type Sign = " " | "-" | "+";
export type Edit = readonly [sign: Sign, line: string];

const mark = (sign: Sign, lines: readonly string[]): Edit[] => lines.map((line) => [sign, line]);

/**
 * Compares two lists of lines. @param maxCells the maximum number of compared pairs; beyond it the differing middle is
 * replaced whole.
 */
export function compareLines(a: readonly string[], b: readonly string[], maxCells: number): readonly Edit[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = compareMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), maxCells);
  return [...mark(" ", a.slice(0, head)), ...middle, ...mark(" ", a.slice(a.length - tail))];
}

/**
 * Compares the middle by the longest common subsequence: cell (i, j) is its length for the lines from i and from j on.
 */
function compareMiddle(a: readonly string[], b: readonly string[], maxCells: number): Edit[] {
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
