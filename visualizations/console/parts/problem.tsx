/** What went wrong, and what to do next. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../api.ts";
import { Line } from "./shown.tsx";

interface ProblemNoteProps {
  readonly problem: Problem;
  readonly children?: ComponentChildren;
}

export function ProblemNote({ problem: { detail, next, code }, children }: ProblemNoteProps) {
  return (
    <div class="note bad" role="alert">
      <p>
        <Line text={detail} />
      </p>
      {next !== null && <p>{next}</p>}
      {code !== "" && (
        <p class="quiet">
          <code>{code}</code>
        </p>
      )}
      {children}
    </div>
  );
}
