/**
 * The head of a view: its title, which gets the focus when one arrives, and says in the window's title where one is.
 *
 * 1.  Focus goes to the heading and to nothing that decides.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { Line } from "./shown.tsx";

interface HeadingProps {
  readonly title: string;
  /** What the window's title says before it, such as a count. */
  readonly prefix?: string;
  readonly children?: ComponentChildren;
}

export function Heading({ title, prefix = "", children }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = `${prefix}${showLine(title)} · Countersign`;
  }, [title, prefix]);
  return (
    <header class="heading">
      <h1 ref={heading} tabIndex={-1}>
        <Line text={title} />
      </h1>
      {children}
    </header>
  );
}
