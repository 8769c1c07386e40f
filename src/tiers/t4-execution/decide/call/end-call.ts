/**
 * The end of a call, which is appended before anything follows from it.
 *
 * 1.  A success, however late, is the call's result.
 * 2.  An end that the step's chart no longer accepts is logged and not recorded, since final states ignore events.
 * 3.  A call that was aborted fails with the abort: its key stays running for the process that takes up the workflow.
 * 4.  A call whose start was not kept had no effect (`durability: "effects"`): its end is ignored, and the call is made
 *     again.
 */
import type { Usage } from "../../../../contract/action.ts";
import { isRetryable, type KernelError, toExecutorError } from "../../../../contract/error.ts";
import { draft, type EventDraft, type EventPayloads } from "../../../../contract/event.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isTerminal } from "../../../../contract/workflow.ts";
import type { Input } from "../run/input.ts";
import type { Screened } from "../run/intention.ts";
import { checkedChars } from "../run/redact.ts";
import { callIdOf, outcomeOfStep, type Run, stepOf } from "../run/run.ts";
import { settleCharge } from "./admit-call.ts";
import { type Failed, maxAttemptsOf } from "./attempts.ts";

export type Ended = Extract<Input, { readonly type: "ended" }>;

export function handleEnd(run: Run, ended: Ended): void {
  const { step_id, action_id, attempt, end } = ended;
  const awaited = run.calls.get(step_id);
  if (awaited?.action_id === action_id && awaited.attempt === attempt) run.calls.delete(step_id);
  const charged = releaseHandle(run, ended);
  if (!run.log.record.actions.has(action_id)) return;
  const stops = end.status === "failed" && (run.interrupted || isTerminal(run.log.record.state));
  if (!stops) noteEnd(run, ended);
  else if (!isTerminal(run.log.record.state)) return;
  const isKnown = end.status === "succeeded" || !end.pending || (stops && end.over);
  if (isKnown) settleCharge(run, step_id, charged, end.usage);
}

/**
 * Removes the handle of a call whose operator has ended, so that no attempt waits for its key. Returns the call's
 * reservation, once.
 */
function releaseHandle(run: Run, ended: Ended) {
  if (ended.end.cached) return null;
  const callId = callIdOf(ended);
  const charged = run.handles.get(callId)?.charged ?? null;
  if (ended.end.over) run.handles.delete(callId);
  return charged;
}

function noteEnd(run: Run, { step_id, action_id, attempt, end }: Ended): void {
  if (end.status === "failed") return note(run, failureOf(run, step_id, { attempt, action_id, ...end }));
  noteScreening(run, step_id, end);
  const { result, usage, cached, late } = end;
  note(run, successOf(run, step_id, { attempt, action_id, result, usage, cached }, late));
}

/** Returns the id of the outcome that a step drafts or applies, or null. */
export const outcomeIdOf = (run: Run, { applies, step_id }: PlanStep): string | null =>
  outcomeOfStep(run.log.record, applies ?? step_id)?.outcome_id ?? null;

function note(run: Run, ended: EventDraft): void {
  if (run.log.accepts(ended)) return run.log.note(ended);
  run.warn({ step_id: ended.step_id, workflow_id: run.log.identity.workflow_id }, "an operator ended after its step");
}

export function noteScreening(run: Run, stepId: string, { sanitized, length }: Omit<Screened, "result">): void {
  if (stepOf(run, stepId).state !== "running") return;
  const { checkAllOutput, holdsStreams } = run.settings;
  if (sanitized !== null) run.log.note(draft("OUTPUT_SANITIZED", { reason: sanitized, stage: "output" }, stepId));
  else if (length > checkedChars && !checkAllOutput && holdsStreams)
    run.log.note(draft("OUTPUT_UNCHECKED", { checked: checkedChars, length }, stepId));
}

type Success = Omit<EventPayloads["ACTION_SUCCEEDED"], "operator_name" | "late" | "outcome_id">;

export function successOf(run: Run, stepId: string, ended: Success, late: boolean): EventDraft {
  const { step } = stepOf(run, stepId);
  const { attempt, action_id, result, usage, cached, answered_by, takes_over } = ended;
  const call = { operator_name: step.operator, attempt, action_id, result, usage, cached };
  const outcome_id = outcomeIdOf(run, step);
  const from = answered_by === undefined ? {} : { answered_by, ...(takes_over === true && { takes_over }) };
  const succeeded = { ...call, ...from, late, outcome_id };
  return draft("ACTION_SUCCEEDED", succeeded, stepId);
}

interface Failure extends Failed {
  readonly attempt: number;
  readonly error: KernelError;
  readonly usage: Usage;
}

/** Returns the event ACTION_FAILED, which says whether the failure leaves further attempts. */
export function failureOf(run: Run, stepId: string, failure: Failure): EventDraft {
  const { attempt, action_id, error, usage, pending, cached } = failure;
  const { step } = stepOf(run, stepId);
  const retries = isRetryable(error) && attempt < maxAttemptsOf(run, step);
  const judged = { error, category: toExecutorError(error).category, retryable: isRetryable(error) };
  return draft(
    "ACTION_FAILED",
    {
      operator_name: step.operator,
      attempt,
      action_id,
      ...judged,
      final: !pending && !retries,
      pending,
      usage,
      cached,
      outcome_id: outcomeIdOf(run, step),
    },
    stepId,
  );
}
