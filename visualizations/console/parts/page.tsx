/**
 * The head of a view: its title, which gets the focus when one arrives, and says in the window's title where one is.
 *
 * 1.  Focus goes to the heading and to nothing that decides.
 * 2.  The heading takes the focus in the task that shows it, and never later: by then the reader may have moved on, and
 *     a key would reach the heading instead of the link that the reader chose.
 */
import { type ComponentChildren, createContext, type RefObject } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { Line } from "./shown.tsx";

/**
 * How a view is shown: on a page of its own, or beside the list it was chosen in, with or without taking the focus. The
 * window's title is the page's.
 */
export const Beside = createContext<"page" | "focus" | "quiet">("page");

interface HeadingProps {
  readonly title: string;
  /** What the window's title says before it, such as a count. */
  readonly prefix?: string;
  readonly children?: ComponentChildren;
}

/** Gives the focus to an element each time that the reason changes and is not null. */
export function useFocus<E extends HTMLElement>(reason: string | null, preventScroll = false): RefObject<E | null> {
  const element = useRef<E>(null);
  useLayoutEffect(() => {
    if (reason !== null) element.current?.focus({ preventScroll });
  }, [reason, preventScroll]);
  return element;
}

export function Heading({ title, prefix = "", children }: HeadingProps) {
  const beside = useContext(Beside);
  const heading = useFocus<HTMLHeadingElement>(beside === "quiet" ? null : "arrival", true);
  useEffect(() => {
    if (beside === "page") document.title = `${prefix}${showLine(title)} · Countersign`;
  }, [title, prefix, beside]);
  return (
    <header class="heading">
      <h1 ref={heading} tabIndex={-1}>
        <Line text={title} />
      </h1>
      {children}
    </header>
  );
}
