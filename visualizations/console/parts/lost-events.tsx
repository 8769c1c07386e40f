/** The events of a run that could not be read, and the button that reads them again. */
import type { RunEvents } from "../run-events.ts";
import { ProblemNote } from "./problem.tsx";

export function LostEvents({ run: { problem, readAgain } }: { readonly run: RunEvents }) {
  if (problem.value === null) return null;
  return (
    <>
      <p>Not all events of this run could be read.</p>
      <ProblemNote problem={problem.value}>
        <button type="button" onClick={readAgain}>
          Read them again
        </button>
      </ProblemNote>
    </>
  );
}
