/**
 * The operator boundary: a call by key (seed 003 sections 5.7 and 7.1), with its timeout.
 *
 * Owns: what a key answers, the timeout race, the reading of what an operator threw. Never: retries (the step does).
 * I1  No key, no call. An unseen key runs; a succeeded one answers from the record; a running one gives its handle; a
 *     failed one gives the same failure unless it is retryable and attempts are left.
 * I2  The start is recorded before the call and the end after it. Who was cancelled meanwhile makes no call.
 * I3  Between the finding and the noted start of a key nothing is awaited: two callers never both find it unseen.
 * I4  An abandoned call that may still take effect leaves its key running; its late result is recorded and answers the
 *     next attempt (C-38).
 * I5  An operator that fails with T4_ACTION_IN_DOUBT cannot say whether its call took effect: the key stays running.
 */
import { z } from "zod";
import { addUsage, type OperatorResult, Usage } from "../../contract/action.ts";
import type { AuthContext } from "../../contract/auth-context.ts";
import {
  boundError,
  ExecutorError,
  fromExecutorError,
  isKernelError,
  type KernelError,
  KernelErrorException,
  raise,
} from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type Json, toJson } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Operator, OperatorCall } from "../../contract/operator.ts";
import type { Clock } from "../../ports/clock.ts";
import { isPromise, messageOf } from "../../runtime/within.ts";

export const invokerRef = moduleRef(4, "operator_invoker", "invoke");

/** What is known of a key. */
export type KeyState =
  | { readonly seen: "unseen" }
  | { readonly seen: "running"; readonly action_id: string; readonly handle: Promise<OperatorResult> | null }
  | { readonly seen: "succeeded"; readonly action_id: string; readonly result: Json; readonly usage: Usage }
  | { readonly seen: "failed_retryable" | "failed_final"; readonly action_id: string; readonly error: KernelError }
  | { readonly seen: "in_doubt"; readonly action_id: string };

export interface KeyBook {
  /**
   * Learns what is to be known before the key is answered: what other workflows made of it, and whether a call would be
   * admitted. Undefined when nothing is left to learn; until then it is asked again.
   */
  readonly consult: (key: string) => Promise<void> | undefined;
  readonly find: (key: string, payload: Json) => KeyState;
  /** Notes the start at once, makes it durable and gives the action's id; `calls` when the operator is about to run. */
  readonly begin: (key: string, payload: Json, calls: boolean) => Promise<string>;
  readonly succeed: (
    actionId: string,
    result: Json,
    end: { readonly usage: Usage; readonly late: boolean; readonly cached: boolean },
  ) => void;
  readonly fail: (
    actionId: string,
    error: KernelError,
    end: { readonly usage: Usage; readonly pending: boolean; readonly cached: boolean },
  ) => void;
  /** Keeps the handle of a call that is under way. */
  readonly hold: (key: string, handle: Promise<OperatorResult>) => void;
  /** Lets go of it; `late` when nobody waited for its end any more. */
  readonly release: (key: string, late: boolean) => void;
}

export interface Invocation {
  readonly operator: Operator;
  readonly payload: Json;
  /** The payload as the operator's input schema parsed it. */
  readonly input: unknown;
  readonly auth: AuthContext;
  readonly idempotencyKey: string;
  readonly correlationId: string;
  readonly timeoutMs: number;
  /** Fires when the workflow is cancelled. */
  readonly signal: AbortSignal;
  readonly call: Omit<OperatorCall, "input" | "idempotencyKey" | "signal" | "usage">;
  /** Makes the call: the operator's own function, or the bridge for a tool. */
  readonly perform: (call: OperatorCall<never>) => unknown;
  /** Checks and cleans what the operator returned, before it is recorded. */
  readonly screen: (raw: Json) => Json | Promise<Json>;
}

export interface Invoker {
  readonly invoke: (invocation: Invocation) => Promise<OperatorResult>;
}

export function createInvoker(book: KeyBook, clock: Clock): Invoker {
  return {
    async invoke(invocation) {
      const { idempotencyKey: key, payload } = invocation;
      if (typeof key !== "string" || key === "")
        raise(
          kernelError(
            "T4_IDEMPOTENCY_KEY_MISSING",
            `${invocation.operator.metadata.name} was called without an idempotency key`,
            invokerRef,
          ),
        );
      for (let asked = book.consult(key); asked !== undefined; asked = book.consult(key)) await asked;
      return answerFrom(book.find(key, payload), { book, clock, invocation });
    },
  };
}

interface Running {
  readonly book: KeyBook;
  readonly clock: Clock;
  readonly invocation: Invocation;
}

async function answerFrom(state: KeyState, running: Running): Promise<OperatorResult> {
  switch (state.seen) {
    case "succeeded": {
      await running.book.begin(running.invocation.idempotencyKey, running.invocation.payload, false);
      const result = await running.invocation.screen(state.result);
      running.book.succeed(state.action_id, result, { usage: state.usage, late: false, cached: true });
      return { status: "succeeded", action_id: state.action_id, result, usage: state.usage, cached: true };
    }
    case "failed_final":
      return {
        status: "failed",
        action_id: state.action_id,
        error: state.error,
        usage: {},
        pending: false,
        cached: true,
      };
    case "running":
      return state.handle === null ? doubtful(state.action_id) : joinCall(state.handle, state.action_id, running);
    case "in_doubt":
      return doubtful(state.action_id);
    default:
      return callOperator(running);
  }
}

/** A key whose call is under way is in progress: the caller gets a handle to its end. */
async function joinCall(handle: Promise<OperatorResult>, actionId: string, running: Running): Promise<OperatorResult> {
  await running.book.begin(running.invocation.idempotencyKey, running.invocation.payload, false);
  return { status: "in_progress", action_id: actionId, handle: awaitHandle(handle, actionId, running) };
}

/** Waiting for a call under way is bounded by the caller's own timeout. */
async function awaitHandle(
  handle: Promise<OperatorResult>,
  actionId: string,
  running: Running,
): Promise<OperatorResult> {
  const { book, invocation } = running;
  // A call whose start or end could not be recorded may still have been made: whoever joined it knows no more than that.
  const heard = handle.catch((thrown: unknown) =>
    failedWith(actionId, readThrown(thrown), { usage: {}, pending: true }),
  );
  const ended = await raceTimeout(heard, running);
  if (ended !== timedOut) {
    if (ended.status === "succeeded")
      book.succeed(actionId, ended.result as Json, { usage: ended.usage, late: false, cached: true });
    else if (ended.status === "failed")
      book.fail(actionId, ended.error, { usage: ended.usage, pending: ended.pending, cached: true });
    return ended;
  }
  const error = timeoutError(invocation);
  book.fail(actionId, error, { usage: {}, pending: true, cached: false });
  return failedWith(actionId, error, { usage: {}, pending: true });
}

const doubtful = (actionId: string): OperatorResult => {
  const error = kernelError("T4_ACTION_IN_DOUBT", "nobody knows whether this call took effect", invokerRef, {
    detail: { action_id: actionId },
  });
  return failedWith(actionId, error, { usage: {}, pending: true });
};

const failedWith = (
  action_id: string,
  error: KernelError,
  end: { readonly usage: Usage; readonly pending: boolean },
): OperatorResult => ({ status: "failed", action_id, error, ...end, cached: false });

/** How a call ended for its caller, and the end still to come of one that was abandoned. */
interface Called {
  readonly ended: OperatorResult;
  readonly late: Promise<OperatorResult> | null;
}

async function callOperator(running: Running): Promise<OperatorResult> {
  const { book, invocation } = running;
  const calling = makeCall(running);
  const handle = calling.then(({ ended, late }) => late ?? ended);
  // Whoever joins the call hears of its failure; without one nobody does.
  handle.catch(() => undefined);
  book.hold(invocation.idempotencyKey, handle);
  let goesOn = false;
  try {
    const { ended, late } = await calling;
    goesOn = late !== null;
    return ended;
  } finally {
    if (!goesOn) book.release(invocation.idempotencyKey, false);
  }
}

async function makeCall(running: Running): Promise<Called> {
  const { book, invocation } = running;
  const actionId = await book.begin(invocation.idempotencyKey, invocation.payload, true);
  const abort = new AbortController();
  const cancel = (): void => abort.abort(invocation.signal.reason);
  invocation.signal.addEventListener("abort", cancel);
  // It may have fired while the start was being committed; a signal that has fired tells nobody who listens later.
  if (invocation.signal.aborted) cancel();
  const usage: { value: Usage } = { value: {} };
  // The operator's first line runs once its timer is armed.
  const work = Promise.resolve().then(() => settle(startCall(invocation, abort.signal, usage), actionId, usage));
  const ended = await raceTimeout(work, running);
  invocation.signal.removeEventListener("abort", cancel);
  if (ended !== timedOut) return { ended: record(book, ended, false), late: null };
  return abandon({ ...running, actionId, abort, work, usage });
}

/** Runs the operator, screens and copies what it returns. */
async function startCall(invocation: Invocation, signal: AbortSignal, usage: { value: Usage }): Promise<Json> {
  const { operator, input, idempotencyKey, call } = invocation;
  // What was cancelled before its first line is not begun any more.
  signal.throwIfAborted();
  const raw = await invocation.perform(
    Object.freeze({
      ...call,
      input,
      idempotencyKey,
      signal,
      usage: (reported: Usage) => {
        usage.value = addUsage(usage.value, readUsage(reported, operator));
      },
    }) as never,
  );
  const output = operator.output.safeParse(raw);
  if (!output.success)
    raise(
      kernelError(
        "T4_OUTPUT_INVALID",
        `${operator.metadata.name} returned what its output schema refuses: ${z.prettifyError(output.error)}`,
        invokerRef,
      ),
    );
  return invocation.screen(plainOutput(operator, output.data));
}

/** What a ledger cannot keep is refused for good: the call has been made and is not to be made again. */
function plainOutput(operator: Operator, output: unknown): Json {
  try {
    return toJson(output);
  } catch (thrown) {
    return raise(
      kernelError("T4_OUTPUT_INVALID", `${operator.metadata.name} returned no JSON: ${messageOf(thrown)}`, invokerRef),
    );
  }
}

async function settle(work: Promise<Json>, actionId: string, usage: { value: Usage }): Promise<OperatorResult> {
  try {
    const result = await work;
    return { status: "succeeded", action_id: actionId, result, usage: usage.value, cached: false };
  } catch (thrown) {
    const error = readThrown(thrown);
    return failedWith(actionId, error, { usage: usage.value, pending: error.code === "T4_ACTION_IN_DOUBT" });
  }
}

function record(book: KeyBook, ended: OperatorResult, late: boolean): OperatorResult {
  if (ended.status === "succeeded")
    book.succeed(ended.action_id, ended.result as Json, { usage: ended.usage, late, cached: false });
  else if (ended.status === "failed")
    book.fail(ended.action_id, ended.error, { usage: ended.usage, pending: ended.pending, cached: false });
  return ended;
}

const timedOut = Symbol("timed out");

function raceTimeout<T>(work: Promise<T>, { clock, invocation }: Running): Promise<T | typeof timedOut> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + invocation.timeoutMs, () => resolve(timedOut));
    void work.then(resolve, reject).finally(cancel);
  });
}

const timeoutError = (invocation: Invocation): KernelError =>
  kernelError(
    "T4_TOOL_TIMEOUT",
    `${invocation.operator.metadata.name} gave no answer within ${invocation.timeoutMs} ms`,
    invokerRef,
    { detail: { operator: invocation.operator.metadata.name, timeout_ms: invocation.timeoutMs } },
  );

interface Abandoned extends Running {
  readonly actionId: string;
  readonly abort: AbortController;
  readonly work: Promise<OperatorResult>;
  readonly usage: { readonly value: Usage };
}

/** After the timeout: abort, see whether the operator heeds it, and keep the key running if it may still take effect. */
async function abandon({ book, invocation, actionId, abort, work, usage }: Abandoned): Promise<Called> {
  const error = timeoutError(invocation);
  abort.abort(new KernelErrorException(error));
  const heeded = await Promise.race([work, new Promise<null>((resolve) => setImmediate(() => resolve(null)))]);
  // It ended, and could not say whether its work was done.
  if (heeded?.status === "failed" && heeded.pending) return { ended: record(book, heeded, false), late: null };
  const pending = heeded === null && mayTakeEffect(invocation.operator);
  book.fail(actionId, error, { usage: usage.value, pending, cached: false });
  return {
    ended: { status: "failed", action_id: actionId, error, usage: usage.value, pending, cached: false },
    late: pending ? work.then((ended) => lateEnd(book, ended, invocation.idempotencyKey)) : null,
  };
}

const mayTakeEffect = ({ metadata }: Operator): boolean =>
  !metadata.honours_abort && metadata.effect !== "none" && metadata.effect !== "read";

function lateEnd(book: KeyBook, ended: OperatorResult, key: string): OperatorResult {
  const recorded = record(book, ended, true);
  book.release(key, true);
  return recorded;
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH, into the operator that reported it. */
function readUsage(reported: unknown, { metadata }: Operator): Usage {
  const parsed = Usage.safeParse(reported);
  if (parsed.success) return parsed.data;
  const message = `usage of ${metadata.name}: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, invokerRef));
}

/** The KernelError of whatever an operator threw: its own operator error, a KernelError, or a plain throw (C-09). */
export function readThrown(thrown: unknown): KernelError {
  try {
    const error = identify(thrown);
    toJson(error.detail);
    return error;
  } catch (unreadable) {
    // Looking at it threw, or its details are no JSON: it can be neither kept nor shown.
    return kernelError("T4_TOOL_EXECUTION_FAILED", "it failed with what cannot be shown", invokerRef, {
      detail: { thrown: messageOf(unreadable), unstructured: true },
    });
  }
}

function identify(thrown: unknown): KernelError {
  if (thrown instanceof KernelErrorException && isKernelError(thrown.error)) return boundError(thrown.error);
  const structured = ExecutorError.safeParse((thrown as { readonly executorError?: unknown } | null)?.executorError);
  if (structured.success) return fromExecutorError(structured.data);
  const name = thrown instanceof Error ? thrown.name : "";
  if (name === "TimeoutError") return kernelError("T4_TOOL_TIMEOUT", messageOf(thrown), invokerRef);
  return kernelError("T4_TOOL_EXECUTION_FAILED", messageOf(thrown), invokerRef, {
    detail: { thrown: messageOf(thrown), unstructured: true },
  });
}

/** What a host's function throws on purpose, an operator error among it, stays what it says; the rest is its own failure. */
export function keepMeant<T>(call: () => T | Promise<T>): T | Promise<T> {
  const rethrow = (thrown: unknown): never => {
    const error = readThrown(thrown);
    if (error.detail["unstructured"] === true) throw thrown;
    return raise(error);
  };
  try {
    const answer = call();
    return isPromise(answer) ? Promise.resolve(answer).catch(rethrow) : answer;
  } catch (thrown) {
    return rethrow(thrown);
  }
}
