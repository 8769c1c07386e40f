/**
 * The consequence of a failed attempt: another attempt, a question to a person, or the end of the step.
 *
 * 1.  T4 is the only retrier: an attempt is made iff the error is retryable, the call left no doubt
 *     (`perform/call-operator.ts` judges that when the call ends), and attempts are left. The pause is the larger of
 *     2^attempt seconds and the operator's hint, and is recorded.
 * 2.  An action that may still take effect, or may have taken it, is in doubt, not failed: its step asks a person and
 *     has no other end. A step whose key another step's call in doubt holds fails, because only the answer at that step
 *     can settle it.
 */

import { isRetryable, type KernelError, toExecutorError } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { doubtGateIdOf } from "../../../../contract/gate.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json } from "../../../../contract/json.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isSpent } from "../../../../contract/spent-call.ts";
import { type Failed, maxAttemptsOf } from "../call/attempts.ts";
import { describeDoubtGate } from "../gate/doubt-gate.ts";
import { failStep } from "../run/end-step.ts";
import { isUnderWay, notify, oodaRef, type Run, stepOf } from "../run/run.ts";

export function settleFailure(run: Run, stepId: string, failed: Failed): void {
  const { step } = stepOf(run, stepId);
  const { action_id, error } = failed;
  if (error !== null && mayRetry(run, step, failed)) return scheduleRetry(run, step, { action_id, error });
  if (failed.pending || run.log.record.actions.get(action_id)?.seen === "running")
    return settleDoubtful(run, stepId, failed);
  const cause = error ?? inDoubt(action_id);
  const ends = cause.detail["unstructured"] === true ? asOperatorBug(cause, step.operator) : cause;
  if (toExecutorError(ends).category === "operator_bug")
    raiseAlert(run, stepId, { action_id, operator_name: step.operator, error: ends });
  failStep(run, stepId, ends);
}

const inDoubt = (action_id: string): KernelError =>
  kernelError("T4_ACTION_IN_DOUBT", "nobody knows whether this call took effect", oodaRef("run_step"), {
    detail: { action_id },
  });

function mayRetry(run: Run, step: PlanStep, { error, cached, pending, action_id }: Failed): boolean {
  if (error === null || !isRetryable(error)) return false;
  const entry = run.log.record.actions.get(action_id);
  // The end of another step's call is this step's end as well, unless that call is made again.
  if (cached && (entry?.seen !== "failed_retryable" || isSpent(error))) return false;
  if (stepOf(run, step.step_id).attempt >= maxAttemptsOf(run, step)) return false;
  const key = entry?.record.idempotency_key ?? "";
  // A running call is awaited once more; a call in doubt is not made again.
  return !pending || isUnderWay(run, key);
}

function scheduleRetry(
  run: Run,
  { step_id }: PlanStep,
  { action_id, error }: { readonly action_id: string; readonly error: KernelError },
): void {
  const { attempt } = stepOf(run, step_id);
  const hint = toExecutorError(error).retry_after_ms ?? 0;
  const due_at = instantText(run.now + Math.max(1000 * 2 ** attempt, hint));
  run.log.note(draft("ACTION_RETRY_SCHEDULED", { action_id, attempt, due_at }, step_id));
}

/**
 * Asks a person about the step's own call. For another step's or workflow's call it has no gate to open and would wait
 * for ever, so it fails.
 */
function settleDoubtful(run: Run, stepId: string, { action_id, error }: Failed): void {
  const isOwn = stepOf(run, stepId).action_id === action_id;
  if (isOwn && openDoubtGate(run, stepId, whyDoubtful(error))) return;
  const message = `the same call, made as ${action_id}, may or may not have taken effect`;
  const detail = { action_id };
  failStep(
    run,
    stepId,
    kernelError("T4_ACTION_IN_DOUBT", message, oodaRef("run_step"), { detail, cause: error ?? inDoubt(action_id) }),
  );
}

const whyDoubtful = (error: KernelError | null): string =>
  isSpent(error)
    ? `the call has ended and its result was refused: ${error?.message}`
    : "the call has not ended for this process and may have taken effect";

/** Opens the gate that asks a person about the step's lost call. Returns false if there is no call to ask about. */
export function openDoubtGate(run: Run, stepId: string, reason: string): boolean {
  const step = stepOf(run, stepId);
  const { action_id } = step;
  if (action_id === null || run.log.record.gates.has(doubtGateIdOf(stepId, step.doubts + 1))) return false;
  const doubted = draft("ACTION_IN_DOUBT", { action_id, reason }, stepId);
  if (!run.log.accepts(doubted)) return false;
  const input: Json = run.log.record.actions.get(action_id)?.record.input_payload ?? null;
  run.log.note(doubted);
  run.log.note(draft("GATE_OPENED", { gate: describeDoubtGate(run, step.step, input) }, stepId));
  return true;
}

/** Returns the error of a step whose last attempt ended in a plain throw, which is a fault of the operator. */
const asOperatorBug = (error: KernelError, operator: string): KernelError =>
  kernelError("T4_OPERATOR_BUG", `${operator} kept throwing: ${error.message}`, oodaRef("run_step"), {
    detail: { operator, thrown: error.message },
    cause: error,
  });

function raiseAlert(
  run: Run,
  stepId: string,
  alert: { readonly action_id: string; readonly operator_name: string; readonly error: KernelError },
): void {
  run.log.note(draft("OPERATOR_ALERT", alert, stepId));
  notify(run, "alert", { type: "operator_alert", ...alert });
}
