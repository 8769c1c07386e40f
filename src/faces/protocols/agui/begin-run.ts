/**
 * The beginning of a run: it begins a workflow, follows one, or answers the interrupts of an earlier run.
 *
 * 1.  The id of a run is the key of its request: a run that is sent again begins nothing twice.
 * 2.  All answers of a resume are read and checked before the first is given, and are given in one request. The kernel
 *     judges each by itself: a refusal names the answers that were taken beside it.
 * 3.  An answer counts for exactly what was shown, while it is open, and once. `cancelled` cancels the workflow.
 */
import { commandScopes } from "../../../contract/auth-context.ts";
import { digest } from "../../../contract/digest.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { IdempotencyKey } from "../../../contract/intent.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { Gate, WorkflowState } from "../../../index.ts";
import type { GateAnswer, GateDecision } from "../../../protocol/gate-answer.ts";
import { decisionHere, openGateAsked, readWorkflow, refuseQuestion, requireGranted } from "../agent-context.ts";
import { type AgUiMessage, OwnProps, type Resume, type RunInput } from "./agui-messages.ts";
import type { RunContext } from "./agui-options.ts";
import { readResponse } from "./interrupts.ts";
import { openInterrupt, type SealedInterrupt } from "./seal-interrupt.ts";

const beginRef = moduleRef(0, "agui", "begin_run");

/** The workflow that a run shows, and its state before the run; null if the run begins it. */
export interface Begun {
  readonly workflowId: string;
  readonly before: WorkflowState | null;
}

/** Begins what the run asks. @throws KernelErrorException, and nothing has happened then. */
export async function beginRun(context: RunContext, input: RunInput): Promise<Begun> {
  await requireGranted(context, commandScopes.read);
  if (input.resume.length > 0) return resumeRun(context, input);
  const own = readRequest(OwnProps, input.forwardedProps?.countersign ?? {}, {
    what: "forwardedProps.countersign",
    source: beginRef,
  });
  if (own.workflow_id !== undefined) {
    const before = await readWorkflow(context, own.workflow_id);
    return { workflowId: before.workflow_id, before };
  }
  return submitRun(context, input, own);
}

async function submitRun(context: RunContext, input: RunInput, own: OwnProps): Promise<Begun> {
  const { intentType, textInput } = context.options;
  const text = textOf(input.messages);
  const intent_type = own.intent_type ?? intentType;
  if (intent_type === undefined && text === "")
    raise(kernelError("T0_AGUI_WORK_UNNAMED", "the run has no text of a user, and names no work", beginRef));
  const ofText = own.intent_type === undefined && textInput !== undefined ? { [textInput]: text } : {};
  const caller = await requireGranted(context, commandScopes.submit);
  const request = {
    ...caller,
    source: "chat" as const,
    thread_id: threadOf(input),
    ...(text !== "" && { input: { mode: "message" as const, text } }),
    ...(intent_type !== undefined && { intent_hint: { intent_type, inputs: own.inputs ?? ofText } }),
    idempotency_key: keyOf(input, "run"),
  };
  const { workflow_id: workflowId } = await context.kernel.submit(request, { signal: context.gone });
  return { workflowId, before: null };
}

/** Returns the thread of the kernel for one of a client. */
const threadOf = ({ threadId }: RunInput): string => (threadId.length <= 128 ? threadId : digest(threadId));

/** Returns the key of a request of this run. */
function keyOf({ threadId, runId }: RunInput, of: string): string {
  const key = `agui:${of}:${runId}`;
  return IdempotencyKey.safeParse(key).data ?? `agui:${of}:${digest([threadId, runId])}`;
}

/** Returns the last text of the user; files beside it are refused. */
function textOf(messages: readonly AgUiMessage[]): string {
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return refuseContent();
  return content
    .map(({ type, text }) => (type === "text" && typeof text === "string" ? text : refuseContent()))
    .join("\n");
}

const refuseContent = (): never =>
  raise(
    kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "messages: the content of the last user message is text", beginRef),
  );

interface Answered {
  readonly interruptId: string;
  readonly gate: Gate;
  readonly answer: GateAnswer;
}

async function resumeRun(context: RunContext, input: RunInput): Promise<Begun> {
  const opened = input.resume.map((one) => ({ ...openOf(context, input, one), one }));
  const ids = new Set(opened.map(({ workflow_id }) => workflow_id));
  const [workflowId = "", ...others] = ids;
  if (others.length > 0 || new Set(input.resume.map(({ interruptId }) => interruptId)).size < opened.length)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "resume: answers one workflow, each interrupt once", beginRef));
  const state = await readWorkflow(context, workflowId);
  if (opened.some(({ one }) => one.status === "cancelled")) {
    const caller = await requireGranted(context, commandScopes.cancel);
    if (isTerminal(state.state)) refuseQuestion(`${workflowId} is ${state.state}`);
    await context.kernel.cancel(workflowId, { ...caller, reason: "cancelled at an interrupt" });
    return { workflowId, before: state };
  }
  const answers = opened.flatMap(({ question, one }): readonly Answered[] => {
    if (question === null) return [];
    const gate = openGateAsked(state, question) ?? refuseQuestion(question);
    return [{ interruptId: one.interruptId, gate, answer: readResponse(gate, one.payload ?? {}) }];
  });
  if (answers.length > 0) await giveAnswers(context, input, { workflow_id: workflowId, answers });
  return { workflowId, before: state };
}

interface Giving {
  readonly workflow_id: string;
  readonly answers: readonly Answered[];
}

/** Gives all answers in one request. @throws KernelErrorException of the first that is refused, with those taken. */
async function giveAnswers(context: RunContext, input: RunInput, { workflow_id, answers }: Giving): Promise<void> {
  if (answers.length > 1) requireSeats(answers);
  const given = await Promise.all(answers.map(({ gate, answer }) => decisionHere(context, gate, answer)));
  const { tenant_id, principal } = context.caller;
  const decisions = answers.map(({ gate: { payload_digest } }, at) => {
    const { gate_id, decision, payload } = given[at] as GateDecision;
    const idempotency_key = keyOf(input, `resume-${at}`);
    return { workflow_id, gate_id, decision, payload: { ...payload, payload_digest }, idempotency_key };
  });
  const { results } = await context.kernel.decideGates({ tenant_id, principal, decisions });
  const first = results.find((one) => !one.ok);
  if (first === undefined) return;
  const taken = answers.filter((_, at) => results[at]?.ok === true).map(({ interruptId }) => interruptId);
  const { error } = first;
  raise(taken.length === 0 ? error : { ...error, detail: { ...error.detail, taken } });
}

/** Refuses answers of which the caller may not give one, so that none of them is given. @throws T0_QUESTION_REFUSED. */
function requireSeats(answers: readonly Answered[]): void {
  const other = answers.find(({ gate: { signed, seat } }) => signed || seat?.may !== true || seat.voted !== undefined);
  if (other === undefined) return;
  const { gate_id } = other.gate;
  const message = `the caller does not decide ${gate_id}, so no answer of the resume was given`;
  raise(kernelError("T0_QUESTION_REFUSED", message, beginRef, { detail: { gate_id } }));
}

/**
 * Opens the id of an interrupt. One that has expired can only be cancelled. @throws T0_AGUI_RESUME_FORGED, _EXPIRED.
 */
function openOf(
  { options, caller }: RunContext,
  { threadId }: RunInput,
  { interruptId, status }: Resume,
): SealedInterrupt {
  const opened = openInterrupt({ key: options.stateKey, caller, threadId }, interruptId);
  if (status === "resolved" && opened.expires_at <= options.clock.now())
    raise(kernelError("T0_AGUI_RESUME_EXPIRED", "the interrupt has expired", beginRef));
  return opened;
}
