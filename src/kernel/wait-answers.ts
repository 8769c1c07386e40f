/**
 * Answers to waits at their one-time addresses, and the addresses themselves.
 *
 * Never: ends a wait (T4 does, in the row of the waiting workflow).
 * 1.  A sender learns nothing by a token that is not genuine: all of them are refused in the same words.
 * 2.  Everyone who may send events of the tenant may read the address of a wait.
 */
import type { TokenOwner, WaitTokens } from "../adapters/wait-tokens.ts";
import { commandScopes } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Json } from "../contract/json.ts";
import { KernelErrorException } from "../contract/kernel-error.ts";
import { t4 } from "../contract/messages/t4.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { TokenUrlResponse, WaitAnswered } from "../contract/wait-token.ts";
import { hasToken, type StepRecord, type WorkflowRecord } from "../contract/workflow.ts";
import { askTier } from "../engine/actors/ask-tier.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import { formAsked, judgeOf } from "./read-form.ts";

export interface WaitAnswerParts {
  readonly gateway: Gateway;
  readonly reading: LedgerReading;
  readonly runtime: Runtime;
  /** Null if the kernel has no option `waitTokens`. */
  readonly tokens: WaitTokens | null;
}

const answerRef = moduleRef(0, "kernel", "answer_wait");

/** Returns the address of a wait. @throws KernelErrorException T4_WAIT_TOKEN_NONE. */
export function tokenUrlOf(
  tokens: WaitTokens | null,
  { workflow_id, steps }: Pick<WorkflowRecord, "workflow_id" | "steps">,
  stepId: string,
): string {
  const step = steps.get(stepId);
  if (tokens !== null && step !== undefined && hasToken(step)) return tokens.urlOf({ workflow_id, step_id: stepId });
  const why = tokens === null ? "this kernel has no option waitTokens" : `${stepId} is no wait with token: true`;
  const detail = { workflow_id, step_id: stepId };
  return raise(kernelError("T4_WAIT_TOKEN_NONE", `there is no one-time address: ${why}`, answerRef, { detail }));
}

/** Returns the address of a wait to a caller who may send events. @throws KernelErrorException as `tokenUrlOf`. */
export async function readTokenUrl(
  { gateway, reading, tokens }: WaitAnswerParts,
  workflowId: string,
  raw: unknown,
): Promise<TokenUrlResponse> {
  const { step_id, ...caller } = await gateway.admitTokenUrl(raw);
  await gateway.authorize(caller, commandScopes.emit);
  const record = await reading.readWorkflowState(workflowId, caller);
  return { workflow_id: record.workflow_id, step_id, url: tokenUrlOf(tokens, record, step_id) };
}

/**
 * Answers a wait. @throws KernelErrorException T4_WAIT_TOKEN_UNKNOWN, T4_WAIT_TOKEN_USED, T4_WAIT_TOKEN_OVER,
 * T4_EVENT_INVALID.
 */
export async function answerWait(
  { gateway, reading, runtime, tokens }: WaitAnswerParts,
  raw: unknown,
): Promise<WaitAnswered> {
  const { token, payload } = await gateway.admitWaitAnswer(raw);
  const owner = tokens?.read(token) ?? raiseUnknown();
  const step = await findStep(reading, owner);
  if (step.answer === null) requireForm(step, payload);
  const by = { source: answerRef, traceId: runtime.ids.next("correlation") };
  return askTier(runtime, t4.answerWait, { ...owner, payload }, by);
}

/** Returns the step of a genuine token. A ledger that has lost the workflow, or a plan without the step, has none. */
async function findStep(reading: LedgerReading, { workflow_id, step_id }: TokenOwner): Promise<StepRecord> {
  try {
    const step = (await reading.readWorkflowState(workflow_id)).steps.get(step_id);
    return step !== undefined && hasToken(step) ? step : raiseUnknown();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && thrown.error.code === "T4_WORKFLOW_NOT_FOUND") raiseUnknown();
    throw thrown;
  }
}

function requireForm(step: StepRecord, payload: Json): void {
  const problem = judgeOf(formAsked(step))(payload);
  if (problem === null) return;
  const message = `the payload does not have the form that the wait asks: ${problem}`;
  raise(kernelError("T4_EVENT_INVALID", message, answerRef, { detail: { problem } }));
}

const raiseUnknown = (): never =>
  raise(kernelError("T4_WAIT_TOKEN_UNKNOWN", "this is the address of no wait", answerRef));
