/**
 * The operator boundary: makes one call within its time.
 *
 * Owns: the timeout, and the reading of results and thrown values. Never: retries, appends; each end is an input.
 * 1.  A call is made once its start is committed, and not at all if the workflow was cancelled or taken over meanwhile.
 *     Without a key there is no call.
 * 2.  A success is the result, however late. Any other end after the timeout is in doubt, unless the call may be
 *     repeated or its operator declares that it honours its abort.
 * 3.  A plain throw of a call that may not be repeated leaves it in doubt, because nobody knows what was done before
 *     the throw.
 * 4.  An answer is an end: if it cannot be read, kept or screened, the call fails for good with an error that says
 *     `answered`, since the effect has happened. A call that may not be repeated is then in doubt: a person states its
 *     result. The operator's time ends with its answer: screening has its own limit.
 */

import { z } from "zod";
import { addUsage, Usage } from "../../../contract/action.ts";
import {
  fromOperatorError,
  isRetryable,
  type KernelError,
  KernelErrorException,
  raise,
} from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import type { EventDraft } from "../../../contract/event.ts";
import { type Json, type JsonObject, toJson, usualDepth } from "../../../contract/json.ts";
import { follow, isPromise } from "../../../contract/maybe-promise.ts";
import type { RouteQuestion } from "../../../contract/model-route.ts";
import { isHarmless, type Operator } from "../../../contract/operator.ts";
import type { PlanStep } from "../../../contract/plan.ts";
import type { RunIn } from "../../../engine/actors/async-context.ts";
import { nextTurn } from "../../../engine/actors/next-turn.ts";
import { messageOf } from "../../../engine/actors/within.ts";
import { invokerRef } from "../decide/call/answer-key.ts";
import type {} from "../decide/call/end-call.ts";
import { readThrown } from "../decide/call/read-thrown.ts";
import { findKnownOperator, isRepeatable } from "../decide/payload/prepare-step.ts";
import type { CallEnd, CallOf } from "../decide/run/input.ts";
import type { IntentionOf, Screened } from "../decide/run/intention.ts";
import { operatorContext } from "../decide/run/operator-context.ts";
import { stepOf } from "../decide/run/run.ts";
import { callTool } from "./call-tool.ts";
import { CallRecords } from "./record-call.ts";
import { RouteCall } from "./route-call.ts";
import { screenOutput } from "./screen-output.ts";
import type { Asking } from "./services.ts";
import { StepStream } from "./stream-step.ts";

/** A mailbox as calls use it. */
export interface Calling extends Asking {
  /** Runs the workflow's host code in the workflow's async context. */
  readonly context: RunIn;
  readonly tell: (call: CallOf, end: CallEnd) => void;
  /**
   * Appends the events that the call reports, and resolves to true once they are committed. Resolves to false, with
   * nothing appended, if a conflicting append may have used up their ceilings.
   */
  readonly note: (call: CallOf, drafts: readonly EventDraft[]) => Promise<boolean>;
}

/** The outcome of a call, before it is compared with its timeout. */
type Outcome =
  | { readonly ok: true; readonly screened: Screened }
  | {
      readonly ok: false;
      readonly error: KernelError;
      /**
       * Whether the effect is known: none, because the call was not begun or says so, or all of it, because the call
       * was answered.
       */
      readonly known: boolean;
    };

interface Made {
  readonly at: Calling;
  readonly wanted: IntentionOf<"call">;
  readonly operator: Operator;
  readonly stream: StepStream;
  readonly abort: AbortController;
  /** Fires when the workflow is cancelled or taken over while the call is under way. */
  readonly signal: AbortSignal;
  readonly routes: RouteCall;
  used: Usage;
  stage: "before" | "running" | "answered";
  ranOut: () => void;
}

/**
 * Makes the call. Its end is an input. The promise is for attempts that join the call: it resolves when the operator
 * has ended; null if it has ended at once.
 */
export function callOperator(at: Calling, wanted: IntentionOf<"call">): Promise<void> | null {
  const { step } = stepOf(at.run, wanted.step_id);
  const operator = findKnownOperator(at.run, step) as Operator;
  const { signal } = at;
  const made: Made = {
    at,
    wanted,
    operator,
    stream: new StepStream(at, wanted),
    used: {},
    abort: new AbortController(),
    signal,
    routes: new RouteCall(at, wanted, signal),
    stage: "before",
    ranOut: () => undefined,
  };
  // The timeout is set before the operator runs. An operator that answers synchronously is not aborted.
  const due = at.runtime.clock.now() + wanted.timeout_ms;
  const cancel = at.services.timers.limit(due, () => made.ranOut());
  const outcome = start(made, step);
  if (isPromise(outcome)) return race(made, outcome, firstOf(made, outcome, cancel));
  cancel();
  return end(made, outcome);
}

function start(made: Made, step: PlanStep): Outcome | Promise<Outcome> {
  const { at, wanted, operator, stream, routes } = made;
  const records = new CallRecords(at, wanted);
  const call = Object.freeze({
    // The operator gets a copy, so that its changes reach neither the record nor another attempt.
    input: toJson(wanted.payload),
    idempotencyKey: wanted.key,
    signal: made.abort.signal,
    attempt: wanted.attempt,
    isRetry: wanted.attempt > 1,
    context: operatorContext(at.run, step, operator),
    report: (percent: number) => stream.report(percent),
    stream: (chunk: string) => stream.write(chunk),
    restored: records.restored,
    emit: (label: string, detail?: JsonObject) => records.emit(label, detail),
    checkpoint: (state: unknown) => records.checkpoint(state),
    capabilityUsage: () => records.capabilityUsage(),
    waitUrl: (stepId: string) => at.services.waitUrl(at.run.log.record, stepId),
    route: (asking?: RouteQuestion) => routes.route(asking),
    usage: (reported: Usage) => {
      made.used = addUsage(made.used, readUsage(reported, operator));
    },
  }) as never;
  const read = (raw: unknown): Outcome | Promise<Outcome> => {
    made.stage = "answered";
    made.stream.stop();
    at.run.mark?.("security.validate_output", { step_id: wanted.step_id });
    const answer = screenOutput(at, plainOutput(made, raw), operator.metadata.name);
    return follow(answer, (screened): Outcome => ({ ok: true, screened }));
  };
  const failed = (thrown: unknown): Outcome => {
    const error = readThrown(thrown, fromOperatorError);
    // The log gets the error with its stack; the ledger keeps only name, code, message and causes.
    const { workflow_id } = at.run.log.identity;
    const about = { workflow_id, step_id: wanted.step_id, operator: operator.metadata.name };
    at.runtime.logger.debug({ ...about, error: thrown }, "a call failed");
    return { ok: false, error: made.stage === "answered" ? asAnswered(error) : error, known: made.stage !== "running" };
  };
  try {
    requireKey(wanted.key);
    // A call that was cancelled before the operator's first line is not begun.
    made.signal.throwIfAborted();
    made.stage = "running";
    const raw: unknown = operator.tool === null ? operator.run(call) : callTool(at, wanted, call);
    const outcome = follow(raw, read);
    return isPromise(outcome) ? outcome.catch(failed) : outcome;
  } catch (thrown) {
    return failed(thrown);
  }
}

/**
 * Requires an idempotency key, since a call without one could not be told from another. @throws KernelErrorException
 * T4_IDEMPOTENCY_KEY_MISSING.
 */
function requireKey(key: unknown): void {
  if (typeof key === "string" && key !== "") return;
  raise(kernelError("T4_IDEMPOTENCY_KEY_MISSING", "a call without an idempotency key is not made", invokerRef));
}

const asAnswered = (error: KernelError): KernelError => ({ ...error, detail: { ...error.detail, answered: true } });

/**
 * Returns the output as JSON. An output that the ledger cannot keep is refused for good, because the call must not be
 * made again. @throws KernelErrorException T4_OUTPUT_INVALID.
 */
function plainOutput({ operator: { metadata, output }, at }: Made, raw: unknown): Json {
  const { name } = metadata;
  const given = readOutput(output, raw);
  if (!given.success) return refuseOutput(`${name} returned what its output schema refuses: ${given.problem}`);
  try {
    // The depth is bounded generously here; screening measures the data and its text.
    return toJson(given.data, usualDepth, 2 * at.runtime.limits.maxOutputChars + 1_000);
  } catch (thrown) {
    return refuseOutput(`${name} returned no JSON: ${messageOf(thrown)}`);
  }
}

/** Reads a result by the operator's output schema. A schema that throws counts as refusing it. */
function readOutput(output: Operator["output"], raw: unknown) {
  try {
    const { success, data, error } = output.safeParse(raw);
    return success ? { success, data } : { success, problem: z.prettifyError(error) };
  } catch (thrown) {
    return { success: false, problem: messageOf(thrown) } as const;
  }
}

const refuseOutput = (why: string): never => raise(kernelError("T4_OUTPUT_INVALID", why, invokerRef));

/**
 * Reads the usage that an operator reports. The error is thrown into the operator. @throws KernelErrorException
 * T0_VALIDATION_SCHEMA_MISMATCH.
 */
function readUsage(reported: unknown, { metadata }: Operator): Usage {
  const parsed = Usage.safeParse(reported);
  if (parsed.success) return parsed.data;
  const message = `usage of ${metadata.name}: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, invokerRef));
}

const timedOut = Symbol("timed out");

/**
 * Resolves to the outcome of the call, or to `timedOut` if its time is over first. The workflow's abort reaches the
 * call while it is running.
 */
function firstOf(made: Made, work: Promise<Outcome>, cancel: () => void): Promise<Outcome | typeof timedOut> {
  const { abort, signal } = made;
  return new Promise((resolve) => {
    made.ranOut = () => {
      if (made.stage !== "answered") resolve(timedOut);
    };
    const tellAborted = (): void => abort.abort(signal.reason);
    if (signal.aborted) tellAborted();
    else signal.addEventListener("abort", tellAborted);
    const forget = (): void => {
      cancel();
      signal.removeEventListener("abort", tellAborted);
    };
    void work.then(resolve).finally(forget);
  });
}

async function race(made: Made, work: Promise<Outcome>, ended: Promise<Outcome | typeof timedOut>): Promise<void> {
  const { abort } = made;
  const first = await ended;
  if (first !== timedOut) return void (await end(made, first));
  const error = timeoutError(made);
  abort.abort(new KernelErrorException(error));
  const inTurn = await Promise.race([work, nextTurn().then(() => null)]);
  const heeded = inTurn === null && made.stage === "answered" ? await work : inTurn;
  if (heeded?.ok === true) return void (await end(made, heeded));
  if (heeded !== null) {
    const says = saysMore(heeded.error) ? heeded : { ...heeded, error, known: saysUndone(heeded.error, error) };
    return void (await end(made, says, { timedOut: true }));
  }
  const goesOn = !made.operator.metadata.honours_abort && !isHarmless(made.operator.metadata.effect);
  reportFailed(made, { error, pending: goesOn, late: false, over: !goesOn });
  if (goesOn) await end(made, await work, { late: true, timedOut: true });
}

/**
 * Returns whether the operator's error says more than the timeout: the call was answered, or its effect is in doubt.
 */
const saysMore = ({ code, detail }: KernelError): boolean =>
  code === "T4_ACTION_IN_DOUBT" || detail["answered"] === true;

/**
 * Returns whether an operator's own retryable error says that nothing was done. Our own timeout error, thrown back,
 * does not say so.
 */
const saysUndone = (own: KernelError, timeout: KernelError): boolean =>
  own !== timeout && own.detail["unstructured"] !== true && isRetryable(own);

const timeoutError = ({ operator, wanted }: Made): KernelError => {
  const { name } = operator.metadata;
  return kernelError("T4_TOOL_TIMEOUT", `${name} gave no answer within ${wanted.timeout_ms} ms`, invokerRef, {
    detail: { operator: name, timeout_ms: wanted.timeout_ms },
  });
};

interface When {
  /** True if its attempt had been given up. */
  readonly late?: boolean;
  readonly timedOut?: boolean;
}

/** Reports the end of the call; returns null unless a stream has to be waited for. */
function end(
  made: Made,
  outcome: Outcome,
  { late = false, timedOut: ranOut = false }: When = {},
): Promise<void> | null {
  const { at, wanted, stream, used: usage } = made;
  if (outcome.ok) {
    made.routes.end();
    const { result, sanitized, length } = outcome.screened;
    const ended: CallEnd = { status: "succeeded", result, usage, late, cached: false, over: true, sanitized, length };
    const streamed = stream.end(sanitized === null);
    if (streamed !== null) return streamed.then(() => at.tell(wanted, ended));
    at.tell(wanted, ended);
    return null;
  }
  const { error, known } = outcome;
  reportFailed(made, { error, pending: leavesDoubt(made, { error, known, ranOut }), late, over: true });
  return null;
}

function leavesDoubt(
  { operator, stage, abort, signal }: Made,
  { error, known, ranOut }: { readonly error: KernelError; readonly known: boolean; readonly ranOut: boolean },
): boolean {
  if (error.code === "T4_ACTION_IN_DOUBT") return true;
  if (isRepeatable(operator)) return false;
  if (stage === "answered" || error.code === "T4_OUTPUT_INVALID") return true;
  if (known) return false;
  if (ranOut) return !operator.metadata.honours_abort;
  // A call that the workflow's cancellation ended had no effect if its operator honours the abort.
  if (abort.signal.aborted && signal.aborted && operator.metadata.honours_abort) return false;
  return error.detail["unstructured"] === true || error.code === "T4_TOOL_TIMEOUT";
}

function reportFailed(
  { at, wanted, stream, used, routes }: Made,
  failed: { readonly error: KernelError; readonly pending: boolean; readonly late: boolean; readonly over: boolean },
): void {
  routes.end();
  void stream.end(false);
  at.tell(wanted, { status: "failed", usage: used, cached: false, ...failed });
}

/** Joins a running call for another attempt, whose own timeout bounds the wait. */
export async function joinCall(at: Calling, wanted: IntentionOf<"join">, under: Promise<void>): Promise<void> {
  const { clock } = at.runtime;
  const inTime = await new Promise<boolean>((resolve) => {
    const cancel = at.services.timers.limit(clock.now() + wanted.timeout_ms, () => resolve(false));
    void under.then(() => resolve(true)).finally(cancel);
  });
  const { record, seen } = at.run.log.record.actions.get(wanted.action_id) ?? {};
  const common = { usage: {}, late: false, cached: true, over: false };
  if (inTime && seen === "succeeded")
    return at.tell(wanted, {
      status: "succeeded",
      result: record?.result_payload ?? null,
      sanitized: null,
      length: 0,
      ...common,
    });
  const ranOut = kernelError("T4_TOOL_TIMEOUT", `no answer within ${wanted.timeout_ms} ms`, invokerRef, {
    detail: { timeout_ms: wanted.timeout_ms },
  });
  const error = inTime ? (record?.error ?? ranOut) : ranOut;
  at.tell(wanted, { status: "failed", error, pending: !inTime || seen === "running", ...common, cached: inTime });
}
