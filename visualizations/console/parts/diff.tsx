/** A unified diff, and the difference between two texts: what is new and what goes, by more than colour. */
import { useSignal } from "@preact/signals";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

const longest = 40;

export function Diff({ diff }: { readonly diff: string }) {
  const whole = useSignal(false);
  const lines = diff.split("\n");
  const shown = whole.value ? lines : lines.slice(0, longest);
  return (
    <>
      <pre class="block diff" dir="ltr">
        {shown.map((line, i) => (
          <DiffLine key={i} line={line} />
        ))}
      </pre>
      {shown.length < lines.length && (
        <button type="button" onClick={() => (whole.value = true)}>
          Show the rest: {count(lines.length - shown.length, "line")}
        </button>
      )}
    </>
  );
}

function DiffLine({ line }: { readonly line: string }) {
  const isHead = /^(--- |\+\+\+ |@@)/.test(line);
  const text = (
    <>
      {/^[ +-]/.test(line) ? line.slice(0, 1) : ""}
      <Line text={/^[ +-]/.test(line) ? line.slice(1) : line} />
      {"\n"}
    </>
  );
  if (isHead) return <span class="hunk">{text}</span>;
  if (line.startsWith("+")) return <ins>{text}</ins>;
  return line.startsWith("-") ? <del>{text}</del> : <span>{text}</span>;
}

/** Lines that two texts share are found up to this many; beyond it all that is not at both ends differs. */
const mostCompared = 1500;

/** The lines of both, in the form of a diff without heads. */
export function diffLines(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = compare(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (lines: readonly string[]) => lines.map((line) => ` ${line}`);
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))].join("\n");
}

function compare(old: readonly string[], now: readonly string[]): readonly string[] {
  if (old.length > mostCompared || now.length > mostCompared)
    return [...old.map((l) => `-${l}`), ...now.map((l) => `+${l}`)];
  // The longest common list of lines, from the end.
  const width = now.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number): number => table[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      table[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${old[i]}`);
      [i, j] = [i + 1, j + 1];
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) lines.push(`-${old[i++]}`);
    else lines.push(`+${now[j++]}`);
  }
  return lines;
}
