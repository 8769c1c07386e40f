/**
 * Text from outside as a person can see it: text stays text, and each character that shows nothing, moves others or
 * looks like another is named in its place (src/protocol/visible-text.ts, the rule of the terminal too).
 *
 * 1.  A long text is cut, says so, and is whole on a person's word.
 */
import { useSignal } from "@preact/signals";
import { showLine, showText } from "../../../src/protocol/visible-text.ts";
import { count } from "../words.ts";
import { useFoldedLines } from "./folded.ts";

/** What `show` named, apart from the rest: it names the bracket itself, so that nothing else looks like a name. */
function parts(shown: string) {
  return shown.split(/(‹[^‹›]*›)/u).map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      <mark key={i} class="named">
        {part}
      </mark>
    ),
  );
}

/** On one line. */
export const Line = ({ text }: { readonly text: string }) => <bdi>{parts(showLine(text))}</bdi>;

/** Several lines, as they are. */
export const Lines = ({ text }: { readonly text: string }) => <>{parts(showText(text))}</>;

/** What is shown at once: enough to see what it is, so that what stands below is not far away. */
const most = { lines: 40, chars: 20_000 } as const;
/** No word is asked for to see so little more. */
const few = { lines: 10, chars: 1000 } as const;

/** Where a text is cut: after whole lines, or within one that is long, and never within a character. */
function cutOf(text: string): number {
  let end = -1;
  for (let line = 0; line < most.lines; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  const at = Math.min(end < 0 ? text.length : end, most.chars);
  const rest = text.length - at;
  if (rest <= few.chars && text.slice(at).split("\n").length <= few.lines) return text.length;
  return /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at - 1 : at;
}

export function Block({ text }: { readonly text: string }) {
  const whole = useSignal(false);
  const at = whole.value ? text.length : cutOf(text);
  // A line that is shown in part counts as one that is not shown.
  useFoldedLines(at === text.length ? 0 : text.slice(at).replace(/^\n/, "").split("\n").length);
  return (
    <>
      <pre class="block" dir="ltr">
        <Lines text={text.slice(0, at)} />
      </pre>
      {at < text.length && (
        <button
          type="button"
          onClick={() => {
            whole.value = true;
          }}
        >
          Show the rest: {tellRest(text.slice(at))}
        </button>
      )}
    </>
  );
}

const tellRest = (rest: string): string => {
  const lines = rest.split("\n").length - 1;
  // Lines of thousands of characters are no measure.
  return lines > 1 && rest.length < 1000 * lines ? count(lines, "line") : count(rest.length, "character");
};
