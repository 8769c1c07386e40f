/**
 * One step, from ready to its end or its rest: prepare, pass the middleware, call, judge, try again (seed 002 4.1, 6, 8).
 *
 * R1  T4 is the only retrier: an attempt is made iff the error is retryable and attempts are left; the pause is the larger
 *     of 2^attempt seconds and the operator's hint, and is a ledger fact (C-08).
 * R2  A denial, by policy or by a person, ends the step as BLOCKED, without an attempt and for good.
 * R3  A step that waits for a person is parked: its state is in the ledger, nothing of it stays in memory.
 * R4  An action that may still take effect, or have taken it, is in doubt, not failed: its step asks a person and ends no
 *     other way. A step that meets another's doubt fails, for only that one's answer can settle it.
 */
import { isRetryable, type KernelError, toExecutorError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import { doubtGateIdOf, gateIdOf } from "../../contract/gate.ts";
import type { Json } from "../../contract/json.ts";
import { type Operator, retryPolicies } from "../../contract/operator.ts";
import { type StepResult, toStepResult } from "../../contract/step.ts";
import type { ActionEntry, StepRecord } from "../../contract/workflow.ts";
import { errorOf } from "../../runtime/within.ts";
import { admitPayload } from "./admit-payload.ts";
import { attemptStep } from "./attempt-step.ts";
import { type Parked, parked } from "./dag-executor.ts";
import { type Failed, failStep, ParkStep } from "./end-step.ts";
import { finishStep } from "./finish-step.ts";
import { describeDoubtGate, describeGate, openGate, showsNewest } from "./open-gate.ts";
import { isRepeatable, type Prepared, prepareStep } from "./prepare-step.ts";
import { mark, oodaRef, type Run, stepOf } from "./run.ts";

const stepRef = oodaRef("run_step");

/** Runs a step as far as it goes now. Rejects only when the workflow's log is lost. */
export async function runStep(run: Run, stepId: string): Promise<StepResult | Parked> {
  const step = stepOf(run, stepId);
  if (step.state === "failed" || step.state === "succeeded") return resultOf(step);
  mark(run, "step.execute", { step_id: stepId });
  try {
    if (step.state === "queued") run.log.note(draft("STEP_STARTED", { run: step.run }, stepId));
    if (await mustWait(run, stepId)) return parked;
    return await tryStep(run, await prepareStep(run, stepId));
  } catch (thrown) {
    if (thrown instanceof ParkStep) return parked;
    if (run.log.lost !== null || run.signal.aborted) throw thrown;
    return endThrown(run, stepId, errorOf(thrown, "T4_OPERATOR_BUG", stepRef));
  }
}

/** What kept a step from going on says nothing of a call it had made before. */
async function endThrown(run: Run, stepId: string, error: KernelError): Promise<StepResult | Parked> {
  const step = stepOf(run, stepId);
  const doubtful = callUnderWay(run, step) !== null && !isRepeatable(operatorOf(run, step));
  if (doubtful && (await openDoubtGate(run, stepId, `the step cannot go on: ${error.message}`))) return parked;
  return failStep(run, stepId, error);
}

const resultOf = (step: StepRecord): StepResult => ({
  data: step.output,
  output_text: step.output_text,
  status: step.status ?? (step.state === "succeeded" ? "COMPLETED" : "FAILED"),
});

/** What has ended is not held back by what still runs; else what follows it at once brings it to the ledger. */
export function commitBesideOthers({ log, commitSoon }: Run): void {
  if ([...log.record.steps.values()].some((step) => step.state === "running")) commitSoon();
}

/** Whether the step still waits for a person. A gate whose draft was regenerated is opened again on the new version. */
async function mustWait(run: Run, stepId: string): Promise<boolean> {
  const step = stepOf(run, stepId);
  if (step.phase === "in_doubt") return true;
  if (step.phase !== "awaiting_approval") return false;
  const gate = run.log.record.gates.get(gateIdOf(stepId));
  if (gate === undefined || showsNewest(run, gate)) return true;
  const prepared = await admitPayload(run, await prepareStep(run, stepId));
  const decided = await openGate(run, await describeGate(run, prepared, gate.reasons));
  run.commitSoon();
  return !decided;
}

export function maxAttemptsOf(run: Run, policy: string): number {
  return (
    run.desk.retryPolicies[policy] ?? retryPolicies[policy as keyof typeof retryPolicies] ?? retryPolicies.STANDARD
  );
}

async function tryStep(run: Run, prepared: Prepared): Promise<StepResult> {
  const { step, operator } = prepared;
  const maxAttempts = maxAttemptsOf(run, operator.metadata.retry);
  for (;;) {
    const current = stepOf(run, step.step_id);
    if (current.retry_due !== null) await run.desk.timers.until(Date.parse(current.retry_due), run.signal);
    run.signal.throwIfAborted();
    const recovered = current.retry_due === null && isLost(run, current) && isRepeatable(operator);
    const attempt = recovered ? Math.max(1, current.attempt) : current.attempt + 1;
    const ended = await attemptStep(run, { prepared, attempt, maxAttempts, recovered });
    const turn = run.log.turnOf(step.step_id);
    if (turn !== null) await turn;
    run.signal.throwIfAborted();
    if (ended.status === "succeeded")
      return finishStep(run, {
        prepared: ended.prepared,
        actionId: ended.action_id,
        result: toStepResult(ended.result),
      });
    if (!mayRetry(ended, attempt, maxAttempts)) return settleFailure(run, prepared, ended);
    await scheduleRetry(run, step.step_id, { error: ended.error, action_id: ended.action_id, attempt });
  }
}

/** A running action without a process behind it: what a crash between start and end leaves. */
export function isLost(run: Run, step: StepRecord): boolean {
  const entry = callUnderWay(run, step);
  return entry !== null && !run.handles.has(entry.record.idempotency_key);
}

/** The step's call that has begun and, as far as the ledger knows, not ended. */
function callUnderWay(run: Run, { action_id }: StepRecord): ActionEntry | null {
  const entry = action_id === null ? undefined : run.log.record.actions.get(action_id);
  return entry?.seen === "running" ? entry : null;
}

export const operatorOf = (run: Run, { step }: StepRecord): Operator | null =>
  run.desk.registry.findOperator(step.operator, step.operator_version);

const mayRetry = (ended: Failed, attempt: number, maxAttempts: number): boolean =>
  !ended.cached && isRetryable(ended.error) && attempt < maxAttempts;

async function scheduleRetry(
  run: Run,
  stepId: string,
  failed: { readonly error: KernelError; readonly action_id: string; readonly attempt: number },
): Promise<void> {
  const hint = toExecutorError(failed.error).retry_after_ms ?? 0;
  const due = run.log.instantOf("ACTION_RETRY_SCHEDULED", stepId) + Math.max(1000 * 2 ** failed.attempt, hint);
  run.log.note(
    draft(
      "ACTION_RETRY_SCHEDULED",
      { action_id: failed.action_id, attempt: failed.attempt, due_at: new Date(due).toISOString() },
      stepId,
    ),
  );
  await run.log.commit();
}

async function settleFailure(run: Run, prepared: Prepared, ended: Failed): Promise<StepResult> {
  const { step } = prepared;
  const stillOut = ended.pending || run.log.record.actions.get(ended.action_id)?.seen === "running";
  if (stillOut) return settleDoubtful(run, step.step_id, ended);
  const unstructured = ended.error.detail["unstructured"] === true;
  const error = unstructured ? asOperatorBug(ended.error, step.operator) : ended.error;
  if (toExecutorError(error).category === "operator_bug")
    raiseAlert(run, step.step_id, { action_id: ended.action_id, operator_name: step.operator, error });
  return failStep(run, step.step_id, error);
}

/** The step's own call is asked about; on another step's or workflow's it has no gate to open, and would wait for ever. */
async function settleDoubtful(run: Run, stepId: string, { action_id, error }: Failed): Promise<StepResult> {
  const isOwn = stepOf(run, stepId).action_id === action_id;
  const reason = "the call has not ended for this process and may have taken effect";
  if (isOwn && (await openDoubtGate(run, stepId, reason))) throw new ParkStep();
  const message = `the same call, made as ${action_id}, may or may not have taken effect`;
  return failStep(
    run,
    stepId,
    kernelError("T4_ACTION_IN_DOUBT", message, stepRef, { detail: { action_id }, cause: error }),
  );
}

/** The last attempt ended in a plain throw: the operator's own fault (C-09). */
const asOperatorBug = (error: KernelError, operator: string): KernelError =>
  kernelError("T4_OPERATOR_BUG", `${operator} kept throwing: ${error.message}`, stepRef, {
    detail: { operator, thrown: error.message },
    cause: error,
  });

function raiseAlert(
  run: Run,
  stepId: string,
  alert: { readonly action_id: string; readonly operator_name: string; readonly error: KernelError },
): void {
  run.log.note(draft("OPERATOR_ALERT", alert, stepId));
  const signal = run.kit.signals.createDataSignal(
    { type: "operator_alert", ...alert },
    "Notification",
    oodaRef("alert"),
    run.log.identity.correlation_id,
    { source_type: "system" },
    { parentId: run.parentId },
  );
  run.kit.send(6, signal);
}

/** Opens the gate that asks a person about the step's lost call. False when there is none to ask about. */
export async function openDoubtGate(run: Run, stepId: string, reason: string): Promise<boolean> {
  const step = stepOf(run, stepId);
  const { action_id } = step;
  if (action_id === null || run.log.record.gates.has(doubtGateIdOf(stepId, step.doubts + 1))) return false;
  const input: Json = run.log.record.actions.get(action_id)?.record.input_payload ?? null;
  run.log.note(draft("ACTION_IN_DOUBT", { action_id, reason }, stepId));
  run.log.note(draft("GATE_OPENED", { gate: describeDoubtGate(run, step.step, input) }, stepId));
  await run.log.commit();
  return true;
}
