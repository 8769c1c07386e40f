/**
 * How many lines of what is decided on are folded away, so that an approval can name them before it counts.
 *
 * 1.  A text that repeats what stands elsewhere is left out by a context of null.
 */
import { type Signal, useSignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useEffect, useId } from "preact/hooks";

type Counts = Signal<ReadonlyMap<string, number>>;

/** Where the texts of a gate tell how many of their lines are not shown; null where nobody counts. */
export const FoldedLines = createContext<Counts | null>(null);

/** Counts for one gate, empty at first. */
export const useFoldedCounts = (): Counts => useSignal<ReadonlyMap<string, number>>(new Map());

export const sumOf = (counts: Counts): number => [...counts.value.values()].reduce((sum, lines) => sum + lines, 0);

/** Tells the gate around how many lines of this text are not shown now. */
export function useFoldedLines(lines: number): void {
  const counts = useContext(FoldedLines);
  const id = useId();
  useEffect(() => {
    if (counts === null) return;
    counts.value = new Map([...counts.peek(), [id, lines]]);
    return () => {
      counts.value = new Map([...counts.peek()].filter(([other]) => other !== id));
    };
  }, [counts, id, lines]);
}
