/**
 * One attempt of a step: the before-chain, the call, the on-error chain (seed 002 section 6).
 *
 * A1  Policy and Approval are asked on the first attempt and their answer, which is in the ledger, stands for the rest. What
 *     fails before both have passed ends the step: no further attempt would ask them.
 * A2  Nothing is called unless the whole before-chain has passed and the start is committed.
 */
import type { OperatorResult } from "../../contract/action.ts";
import type { AuthContext } from "../../contract/auth-context.ts";
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import { type GateReason, gateIdOf, isOpenGate } from "../../contract/gate.ts";
import type { Json } from "../../contract/json.ts";
import type { StepResult } from "../../contract/step.ts";
import type { SkillExecutionContext } from "../../ports/middleware.ts";
import { callWithin, isPromise } from "../../runtime/within.ts";
import { releaseHold } from "./admit-call.ts";
import { admitPayload, applyDecision } from "./admit-payload.ts";
import { callTool } from "./call-tool.ts";
import { reopenIfMoved } from "./check-basis.ts";
import { deriveApplyKey, deriveKey } from "./derive-key.ts";
import { type Failed, humanDenied, isBlocking, ParkStep } from "./end-step.ts";
import { createExecutionContext, writeTimeout } from "./execution-context.ts";
import { watchExpiry } from "./expire-gates.ts";
import { createInvoker, type Invocation, keepMeant, readThrown } from "./invoke-operator.ts";
import { createKeyBook } from "./key-book.ts";
import { buildChain, isFixed, runBack, runBefore, type Slot } from "./middleware.ts";
import { approvalReasons, describeGate, openGate } from "./open-gate.ts";
import { operatorContext } from "./operator-context.ts";
import type { Prepared } from "./prepare-step.ts";
import { createRecording } from "./record-call.ts";
import { createRouteCall } from "./route-call.ts";
import { draftOfStep, mark, oodaRef, type Run, stepOf } from "./run.ts";
import { screenOutput } from "./screen-output.ts";
import { createStepStream } from "./stream-step.ts";

const fallbackTimeoutSec = 60;

export interface Attempt {
  readonly prepared: Prepared;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly recovered: boolean;
}

/** How an attempt ended, with the payload as policy left it. */
export type AttemptEnd =
  | { readonly status: "succeeded"; readonly action_id: string; readonly result: Json; readonly prepared: Prepared }
  | Failed;

interface Draft {
  prepared: Prepared;
  /** The slot whose `before` was entered last. */
  reached: string;
}

/** @throws ParkStep when a gate opened; KernelErrorException when the step was denied. */
export async function attemptStep(run: Run, at: Attempt): Promise<AttemptEnd> {
  const { step, operator } = at.prepared;
  // A retry skips Policy: what the standing decision made of the payload holds for it too.
  const standing = stepOf(run, step.step_id).decision;
  const current: Draft = {
    prepared: at.attempt > 1 && standing !== null ? await applyDecision(run, at.prepared, standing) : at.prepared,
    reached: "",
  };
  const context = createExecutionContext({
    request_id: run.log.record.workflow_id,
    step_id: step.step_id,
    skill_name: step.operator,
    params: at.prepared.payload,
    metadata: operator.metadata,
    attempt: at.attempt,
    start_time: run.kit.clock.now(),
    trace: { correlation_id: run.log.record.correlation_id, step_id: step.step_id },
  });
  const chain = buildChain(
    fixedSlots(run, at, current),
    run.desk.middleware.map((m) => bounded(run, m)),
  );
  const markHook = (phase: string, name: string): void => {
    if (phase === "before") current.reached = name;
    mark(run, `middleware.${phase}`, { name, step_id: step.step_id, attempt: at.attempt });
  };
  try {
    await runBefore(chain, context, markHook);
  } catch (thrown) {
    if (thrown instanceof ParkStep || run.log.lost !== null) throw thrown;
    await backOut(run, chain, { context, mark: markHook });
    const error = readThrown(thrown);
    if (isBlocking(error) || isFixed(current.reached)) raise(error);
    return failedBefore(run, { ...at, prepared: current.prepared }, error);
  }
  const ended = await callThrough(run, { ...at, prepared: current.prepared }, context);
  if (ended.status === "failed") await backOut(run, chain, { context, mark: markHook });
  else
    await runBack(chain, "after", { context, mark: markHook }).catch((thrown: unknown) =>
      run.kit.logger.warn({ step_id: step.step_id, error: readThrown(thrown) }, "middleware failed after the call"),
    );
  return ended;
}

async function backOut(
  run: Run,
  chain: readonly Slot[],
  how: {
    readonly context: SkillExecutionContext;
    readonly mark: (phase: "before" | "after" | "on_error", name: string) => void;
  },
): Promise<void> {
  await runBack(chain, "on_error", how).catch((thrown: unknown) =>
    run.kit.logger.warn({ error: readThrown(thrown) }, "middleware failed in its on-error hook"),
  );
}

/** Custom hooks are a host's code: each has a limit. */
function bounded(
  run: Run,
  middleware: {
    readonly name: string;
    readonly before?: Slot["before"];
    readonly after?: Slot["after"];
    readonly onError?: Slot["onError"];
  },
) {
  const within = {
    clock: run.kit.clock,
    timeoutMs: run.kit.limits.middlewareTimeoutMs,
    source: oodaRef("middleware"),
    onTimeout: "T4_TOOL_TIMEOUT",
    onThrow: "T4_TOOL_EXECUTION_FAILED",
    what: `middleware ${middleware.name}`,
  } as const;
  const guard = (hook: Slot["before"]): Slot["before"] =>
    hook === undefined
      ? undefined
      : (context) => callWithin(() => keepMeant(() => hook.call(middleware, context)), within);
  const hooks = {
    before: guard(middleware.before),
    after: guard(middleware.after),
    onError: guard(middleware.onError),
  };
  return {
    name: middleware.name,
    ...(hooks.before === undefined ? {} : { before: hooks.before }),
    ...(hooks.after === undefined ? {} : { after: hooks.after }),
    ...(hooks.onError === undefined ? {} : { onError: hooks.onError }),
  };
}

/** A failure of a custom hook before the call is an attempt that failed. */
async function failedBefore(run: Run, at: Attempt, error: KernelError): Promise<AttemptEnd> {
  const turn = run.log.turnOf(at.prepared.step.step_id);
  if (turn !== null) await turn;
  const book = createKeyBook(run, { ...at, timeoutMs: timeoutOf(at.prepared) });
  const key = keyOf(run, at.prepared);
  const action_id = await book.begin(key, at.prepared.payload, false);
  // An earlier attempt's call may still be under way: its key stays running.
  const end = { usage: {}, pending: run.handles.has(key), cached: false };
  book.fail(action_id, error, end);
  return { status: "failed", action_id, error, ...end };
}

const timeoutOf = (prepared: Prepared): number => 1000 * (prepared.operator.metadata.timeout_sec || fallbackTimeoutSec);

function fixedSlots(run: Run, at: Attempt, current: Draft): Parameters<typeof buildChain>[0] {
  const { step_id } = at.prepared.step;
  return {
    Trace: { before: () => undefined, after: () => mark(run, "trace.append", { step_id }), onError: () => undefined },
    Policy: {
      before: () => askPolicy(run, current),
      after: () =>
        mark(run, "policy.record_step_cost", {
          step_id,
          skill: at.prepared.step.operator,
          estimated_cost: at.prepared.step.estimated_cost,
        }),
    },
    Approval: { before: () => askApproval(run, at, current.prepared) },
    Timeout: { before: (context) => writeTimeout(context, at.prepared.operator.metadata.timeout_sec) },
  };
}

async function askPolicy(run: Run, current: Draft): Promise<void> {
  if (current.prepared.gate === null) current.prepared = await admitPayload(run, current.prepared);
}

/** Opens the gate when anything asks for one; passes when it was approved, on what still stands. */
async function askApproval(run: Run, { attempt, recovered }: Attempt, prepared: Prepared): Promise<void> {
  const { gate: approved } = prepared;
  if (approved !== null) {
    const isFirstCall = attempt === 1 && !recovered;
    if (isFirstCall && (await reopenIfMoved(run, prepared, approved))) park(run, prepared, approved.reasons);
    return;
  }
  const reasons = approvalReasons(run, prepared);
  if (reasons.length === 0) return;
  const closed = run.log.record.gates.get(gateIdOf(prepared.step.step_id));
  if (closed === undefined && (await isAnswered(run, prepared))) return;
  if (closed !== undefined && !isOpenGate(closed)) raise(humanDenied(closed.gate_id, closed.status));
  if (!(await openGate(run, await describeGate(run, prepared, reasons)))) park(run, prepared, reasons);
  const gate = run.log.record.gates.get(gateIdOf(prepared.step.step_id));
  if (gate?.status === "rejected") raise(humanDenied(gate.gate_id, "rejected"));
}

/** The step waits for a person, who is told. */
function park(run: Run, prepared: Prepared, reasons: readonly GateReason[]): never {
  run.commitSoon();
  watchExpiry(run);
  notifyGate(run, prepared, reasons);
  throw new ParkStep();
}

/** Whether the work was done already in the run that this one does again: nothing is called, and nobody need be asked. */
async function isAnswered(run: Run, prepared: Prepared): Promise<boolean> {
  const { tenant_id, workflow_id, parent_workflow_id } = run.log.record;
  if (parent_workflow_id === null) return false;
  const key = keyOf(run, prepared);
  const shared = await run.desk.findSharedKey({ tenant_id, key, workflow_id, parent_workflow_id });
  return shared?.succeeded === true;
}

/** Tells the outside, through T6's artifact bus, that somebody is asked. */
function notifyGate(run: Run, { step }: Prepared, reasons: readonly GateReason[]): void {
  const data = {
    type: "gate_opened",
    workflow_id: run.log.record.workflow_id,
    gate_id: gateIdOf(step.step_id),
    reasons,
  };
  run.kit.send(
    6,
    run.kit.signals.createDataSignal(
      data,
      "Notification",
      moduleOfGate,
      run.log.identity.correlation_id,
      { source_type: "system" },
      { parentId: run.parentId },
    ),
  );
}

const moduleOfGate = oodaRef("gate");

function keyOf(run: Run, { step, operator, inputs }: Prepared): string {
  const { record } = run.log;
  const target =
    step.idempotency.strategy === "applies" && step.applies !== null ? draftOfStep(record, step.applies) : null;
  if (target !== null) return deriveApplyKey(record, target);
  return deriveKey({
    operator: step.operator,
    version: operator.metadata.version,
    tenantId: record.tenant_id,
    intentId: record.intent.intent_id,
    stepId: step.step_id,
    inputs,
    draftVersion: step.draft_version,
  });
}

async function callThrough(run: Run, at: Attempt, context: SkillExecutionContext): Promise<AttemptEnd> {
  const { prepared } = at;
  const timeoutMs = 1000 * (context.timeout || fallbackTimeoutSec);
  const which = { stepId: prepared.step.step_id, attempt: at.attempt };
  const stream = createStepStream(run, which);
  const routes = createRouteCall(run, which);
  const book = createKeyBook(run, { ...at, timeoutMs });
  const invocation: Invocation = {
    operator: prepared.operator,
    payload: prepared.payload,
    input: prepared.input,
    auth: run.log.record.auth as AuthContext,
    idempotencyKey: keyOf(run, prepared),
    correlationId: run.log.record.correlation_id,
    timeoutMs,
    signal: run.signal,
    call: {
      attempt: at.attempt,
      isRetry: at.attempt > 1,
      context: operatorContext(run, prepared.step, prepared.operator),
      report: stream.report,
      stream: stream.write,
      ...createRecording(run, { stepId: prepared.step.step_id, attempt: at.attempt }),
      route: routes.route,
    },
    perform: prepared.operator.tool === null ? prepared.operator.run : (call) => callTool(run, prepared, call),
    screen: (raw) => screen(run, prepared, raw),
  };
  mark(run, "skill.execute", { step_id: prepared.step.step_id, attempt: at.attempt, timeout_ms: timeoutMs });
  // What was set aside for a call that is not made after all is not kept from others.
  const letGo = (): void => releaseHold(run, prepared.step.step_id);
  let ended: OperatorResult = await createInvoker(book, run.kit.clock).invoke(invocation).finally(letGo);
  if (ended.status === "in_progress") ended = await ended.handle;
  routes.end(ended.status === "in_progress" ? {} : ended.usage);
  await stream.end(ended.status === "succeeded");
  if (ended.status === "succeeded")
    return { status: "succeeded", action_id: ended.action_id, result: ended.result as Json, prepared };
  return ended as Failed;
}

/** validateOutput, once, on what is about to be recorded. */
async function screen(run: Run, { step }: Prepared, raw: Json): Promise<Json> {
  mark(run, "security.validate_output", { step_id: step.step_id });
  const { security, checkAllOutput } = run.desk;
  const within = {
    clock: run.kit.clock,
    timeoutMs: run.kit.limits.securityTimeoutMs,
    source: oodaRef("screen"),
    onTimeout: "T4_OUTPUT_INVALID",
    onThrow: "T4_OUTPUT_INVALID",
    what: "security.validateOutput",
  } as const;
  const answer = callWithin(() => screenOutput(raw, security.validateOutput, checkAllOutput), within);
  const screened = isPromise(answer) ? await answer : answer;
  if (screened.length > run.kit.limits.maxOutputChars)
    raise(
      kernelError(
        "T0_VALIDATION_PAYLOAD_TOO_LARGE",
        `the output of ${step.operator} has ${screened.length} characters, more than limits.maxOutputChars = ${run.kit.limits.maxOutputChars}`,
        oodaRef("screen"),
      ),
    );
  if (stepOf(run, step.step_id).state === "running") noteScreening(run, step.step_id, screened);
  return screened.sanitized === null ? raw : (screened.result satisfies StepResult as unknown as Json);
}

function noteScreening(
  run: Run,
  stepId: string,
  screened: { readonly sanitized: string | null; readonly length: number },
): void {
  if (screened.sanitized !== null)
    run.log.note(draft("OUTPUT_SANITIZED", { reason: screened.sanitized, stage: "output" }, stepId));
  else if (screened.length > 5000 && !run.desk.checkAllOutput && run.desk.holdsStreams)
    run.log.note(draft("OUTPUT_UNCHECKED", { checked: 5000, length: screened.length }, stepId));
}
