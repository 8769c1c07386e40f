/** A unified diff, and the difference between two texts: what is new and what goes, by more than colour. */
import { useSignal } from "@preact/signals";
import { compareLines } from "../../../src/protocol/compare-lines.ts";
import { count } from "../words.ts";
import { useFoldedLines } from "./folded.ts";
import { Line } from "./shown.tsx";

const longest = 40;

export function Diff({ diff }: { readonly diff: string }) {
  const whole = useSignal(false);
  const lines = diff.split("\n");
  const shown = whole.value ? lines : lines.slice(0, longest);
  useFoldedLines(lines.length - shown.length);
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

/** Pairs of lines that are compared; beyond it all that is not at both ends differs. */
const mostCompared = 1500 * 1500;

/** The lines of both, in the form of a diff without heads. */
export const diffLines = (before: string, after: string): string =>
  compareLines(before.split("\n"), after.split("\n"), mostCompared)
    .map((edit) => edit.join(""))
    .join("\n");
