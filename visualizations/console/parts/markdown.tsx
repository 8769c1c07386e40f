/**
 * Markdown as a page shows it: headings, paragraphs, lists, quotes, code, strong and emphasised text. The exact text is
 * one button away.
 *
 * Never: makes markup of text, loads an image, or follows a link: addresses are shown as they are written.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Block, Line } from "./shown.tsx";

type Part =
  | { readonly is: "heading" | "paragraph" | "quote" | "code"; readonly text: string }
  | { readonly is: "list"; readonly items: readonly string[]; readonly isOrdered: boolean };

export function Markdown({ text }: { readonly text: string }) {
  const exact = useSignal(false);
  return (
    <div class="markdown">
      {exact.value ? <Block text={text} /> : partsOf(text).map((part, at) => <Shown key={at} part={part} />)}
      <button type="button" class="text" onClick={() => (exact.value = !exact.value)}>
        {exact.value ? "Show it as a page" : "Show the exact text"}
      </button>
    </div>
  );
}

function Shown({ part }: { readonly part: Part }) {
  if (part.is === "code") return <Block text={part.text} />;
  if (part.is === "list") {
    const items = part.items.map((item, at) => (
      <li key={at}>
        <Spans text={item} />
      </li>
    ));
    return part.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
  }
  const spans = <Spans text={part.text} />;
  if (part.is === "heading") return <p class="heading-text">{spans}</p>;
  return part.is === "quote" ? <blockquote>{spans}</blockquote> : <p>{spans}</p>;
}

const listItem = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;

/** Returns the blocks of a text. */
function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const take = (isMore: (line: string) => boolean): readonly string[] => {
      const from = at;
      while (at < lines.length && isMore(lines[at] as string)) at += 1;
      return lines.slice(from, at);
    };
    if (/^\s*(```|~~~)/.test(line)) {
      at += 1;
      parts.push({ is: "code", text: take((one) => !/^\s*(```|~~~)/.test(one)).join("\n") });
      at += 1;
    } else if (/^#{1,6}\s/.test(line)) {
      at += 1;
      parts.push({ is: "heading", text: line.replace(/^#+\s+/, "") });
    } else if (listItem.test(line)) {
      const isOrdered = listItem.exec(line)?.[1] !== undefined;
      parts.push({ is: "list", isOrdered, items: take((one) => listItem.test(one)).map(itemText) });
    } else if (line.startsWith(">")) {
      parts.push({
        is: "quote",
        text: take((one) => one.startsWith(">"))
          .map((one) => one.replace(/^>\s?/, ""))
          .join(" "),
      });
    } else if (line.trim() === "") at += 1;
    else parts.push({ is: "paragraph", text: take(isPlain).join(" ") });
  }
  return parts;
}

const itemText = (line: string): string => listItem.exec(line)?.[2] ?? line;
const isPlain = (line: string): boolean =>
  line.trim() !== "" && !/^(#{1,6}\s|>|\s*(```|~~~))/.test(line) && !listItem.test(line);

/** Strong and emphasised text, and code, within a line; all else is text. */
function Spans({ text }: { readonly text: string }): ComponentChildren {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`|\*[^*\s][^*]*\*)/).map((span, at) => {
    if (span.startsWith("**") && span.length > 4)
      return (
        <strong key={at}>
          <Line text={span.slice(2, -2)} />
        </strong>
      );
    if (span.startsWith("`") && span.length > 2)
      return (
        <code key={at}>
          <Line text={span.slice(1, -1)} />
        </code>
      );
    if (span.startsWith("*") && span.length > 2)
      return (
        <em key={at}>
          <Line text={span.slice(1, -1)} />
        </em>
      );
    // A space at the end of a line would be named; here a line is cut in parts.
    const [, before = "", inner = "", after = ""] = /^( *)(.*?)( *)$/s.exec(span) ?? [];
    return (
      <span key={at}>
        {before}
        <Line text={inner} />
        {after}
      </span>
    );
  });
}
