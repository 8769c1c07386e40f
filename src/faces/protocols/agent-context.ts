/**
 * The parts that one request shares: the kernel, the caller, the options; and what the caller may do.
 *
 * 1.  Every call of the kernel is made in the caller's name; a request never acts for its host.
 * 2.  A gate is answered only by a person, with a credential that reaches so far, and only if the host allows it.
 */
import {
  type CommandScope,
  commandScopes,
  requireCredentialScope,
  type ScopedCaller,
  withoutScopes,
} from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isOpenGate } from "../../contract/gate.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Caller, Gate, Kernel, WorkflowState } from "../../index.ts";
import { decisionOf, type GateAnswer, type GateDecision } from "../../protocol/gate-answer.ts";
import { isPermitted } from "../../protocol/is-permitted.ts";
import { payloadAsked, questionKey } from "../../protocol/name-question.ts";
import { openGates } from "../../protocol/tell-gate.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import type { StreamPlaces } from "../http/stream-places.ts";
import type { SharedOptions } from "./agent-options.ts";

export interface AgentContext<O extends SharedOptions = SharedOptions> {
  readonly kernel: Kernel;
  readonly caller: ScopedCaller;
  readonly options: O;
  readonly places: StreamPlaces;
  /** Aborts when the client has disconnected. */
  readonly gone: AbortSignal;
}

const contextRef = moduleRef(0, "protocols", "context");

/** Returns the caller as requests name them, if credential and role reach so far. @throws T5_AUTHZ_FORBIDDEN. */
export async function requireGranted({ kernel, caller }: AgentContext, scope: CommandScope): Promise<Caller> {
  requireCredentialScope(caller, scope, contextRef);
  const named = withoutScopes(caller);
  await kernel.authorize(named, scope);
  return named;
}

/** Returns whether the caller has the scope, by credential and role. */
export const isGranted = (context: AgentContext, scope: CommandScope): Promise<boolean> =>
  isPermitted(() => requireGranted(context, scope));

/** Returns the workflow as the caller reads it. @throws T5_AUTHZ_FORBIDDEN, T4_WORKFLOW_NOT_FOUND. */
export const readWorkflow = async (context: AgentContext, workflowId: string): Promise<WorkflowState> =>
  context.kernel.workflow(workflowId, await requireGranted(context, commandScopes.read));

/** Returns whether gates may be answered over this connection at all. */
const answersGates = ({ caller, options }: AgentContext): boolean =>
  options.answersGates && caller.principal.type === "user";

/**
 * Returns the open gates of a workflow that the caller may answer now. A gate that wants a signature is none of them.
 */
export async function answerableGates(context: AgentContext, state: WorkflowState): Promise<readonly Gate[]> {
  const open = openGates(state).filter(({ signed, seat }) => !signed && seat?.may === true && seat.voted === undefined);
  if (open.length === 0 || !answersGates(context)) return [];
  return (await isGranted(context, commandScopes.gate)) ? open : [];
}

/** Returns the open gate that shows what a question showed; null if there is none. */
export const openGateAsked = (state: WorkflowState, question: string): Gate | null =>
  openGates(state).find((open) => questionKey(open) === question) ?? null;

/**
 * Returns the gate that a question was about and that is closed, with the payload that the question showed: the kernel
 * answers a repeated decision from the record. Null if there is none.
 */
export function closedGateAsked({ gates }: WorkflowState, question: string): Gate | null {
  for (const gate of gates) {
    const payload_digest = isOpenGate(gate) ? null : payloadAsked(gate, question);
    if (payload_digest !== null) return { ...gate, payload_digest };
  }
  return null;
}

/** Refuses an answer to what is not asked any more. @throws KernelErrorException T0_QUESTION_OVER always. */
export const refuseQuestion = (question: string): never =>
  raise(
    kernelError("T0_QUESTION_OVER", "the gate was decided, or shows something else now", contextRef, {
      detail: { question },
    }),
  );

/** Returns the decision that an answer asks for, if the caller may answer here. @throws T0_QUESTION_REFUSED. */
export async function decisionHere(
  context: AgentContext,
  gate: Gate,
  answer: GateAnswer,
): Promise<GateDecision & Caller> {
  const caller = await requireGranted(context, commandScopes.gate);
  if (!answersGates(context))
    raise(kernelError("T0_QUESTION_REFUSED", "gates are not answered over this connection", contextRef));
  return { ...caller, ...decisionOf(gate, answer) };
}

/** Waits until the workflow rests; shows it as it is once `limits.maxWaitMs` is over. */
export async function waitAwhile(context: AgentContext, workflowId: string): Promise<WorkflowState> {
  const { kernel, options, gone } = context;
  const { clock, limits } = options;
  const caller = withoutScopes(context.caller);
  const free = context.places.take(context.caller);
  const over = new AbortController();
  const cancel = clock.setTimer(clock.now() + limits.maxWaitMs, () => over.abort(), true);
  try {
    const signal = AbortSignal.any([gone, over.signal]);
    return await waitForRest({ kernel, caller }, workflowId, { signal });
  } catch (thrown) {
    if (!over.signal.aborted || gone.aborted) throw thrown;
    return await kernel.workflow(workflowId, caller);
  } finally {
    cancel();
    free();
  }
}
