/** The buttons that lead through the pages of a list; there are none where it has one page. */
import type { Signal } from "@preact/signals";

interface PagerProps {
  /** The cursors of the pages that were gone through, the last of them that of the page which is shown. */
  readonly after: Signal<readonly string[]>;
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
  readonly words?: readonly [back: string, on: string];
}

export function Pager({ after, next, words: [back, on] = ["Page before", "Next page"] }: PagerProps) {
  const isFirst = after.value.length === 0;
  if (isFirst && next === null) return null;
  return (
    <p class="row">
      <button type="button" disabled={isFirst} onClick={() => (after.value = after.value.slice(0, -1))}>
        {back}
      </button>
      <button type="button" disabled={next === null} onClick={() => (after.value = [...after.value, next as string])}>
        {on}
      </button>
    </p>
  );
}
