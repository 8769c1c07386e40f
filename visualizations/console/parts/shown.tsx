/**
 * Text from outside as a person can see it: text stays text, and each character that shows nothing, moves others or looks
 * like another is named in its place (src/protocol/visible-text.ts, the rule of the terminal too).
 *
 * S1  A long text is cut, says so, and is whole on a person's word.
 */
import { useSignal } from "@preact/signals";
import { showLine, showText } from "../../../src/protocol/visible-text.ts";
import { count } from "../words.ts";

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

const longest = 20_000;

/** Without half of a character at its end. */
const cut = (text: string, most: number): string =>
  text.slice(0, /[\ud800-\udbff]/.test(text[most - 1] ?? "") ? most - 1 : most);

export function Block({ text }: { readonly text: string }) {
  const whole = useSignal(false);
  const isCut = text.length > longest && !whole.value;
  return (
    <>
      <pre class="block" dir="ltr">
        <Lines text={isCut ? cut(text, longest) : text} />
      </pre>
      {isCut && (
        <button type="button" onClick={() => (whole.value = true)}>
          Show the other {count(text.length - longest, "character")}
        </button>
      )}
    </>
  );
}
