/**
 * The reports of an operator during its call: chunks and progress, records, routes, a repaired payload. They count
 * while the call is the one that its step waits for.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft, type EventDraft } from "../../../../contract/event.ts";
import { errorOf } from "../../../../engine/actors/within.ts";
import type { CallOf, Input } from "../run/input.ts";
import { oodaRef, type Run } from "../run/run.ts";

/** Returns whether the step still runs exactly this attempt. */
export function isCurrent({ log }: Pick<Run, "log">, { step_id, attempt, run: round }: CallOf): boolean {
  if (log.lost !== null) return false;
  const step = log.record.steps.get(step_id);
  if (step?.run !== round || step.attempt !== attempt || step.phase !== "calling") return false;
  return step.attempts.at(-1)?.outcome === "running";
}

export function handleReported(run: Run, reported: Extract<Input, { readonly type: "reported" }>): void {
  const { re, drafts } = reported;
  try {
    if (!isReceived(run, reported))
      raise(kernelError("T4_WORKFLOW_CONFLICT", "the call that says this is over", oodaRef("reported")));
    for (const event of drafts) noteReported(run, event);
    run.intend({ do: "answer", re, data: true });
  } catch (thrown) {
    if (run.log.lost !== null) throw thrown;
    run.intend({ do: "refuse", re, error: errorOf(thrown, "T0_TIER_CRASHED", oodaRef("reported")) });
  }
}

/**
 * Returns whether a report counts: its step is running, and its start was kept. A call that was made ahead of a refused
 * row is made again.
 */
const isReceived = ({ log: { record } }: Run, { step_id, action_id }: CallOf): boolean =>
  record.steps.get(step_id)?.state === "running" && record.actions.has(action_id);

function noteReported(run: Run, event: EventDraft): void {
  if (event.type !== "STEP_STREAMED") return run.log.note(event);
  // Batches are numbered over the whole workflow, so the number is set when the event is appended.
  const sequence = run.log.record.streamed + 1;
  run.log.note(draft("STEP_STREAMED", { ...event.payload, sequence }, event.step_id));
  const text = event.payload.chunks.join("");
  if (text !== "") run.intend({ do: "stream", text, sequence, final: event.payload.final });
}
