/**
 * The answer to a guarded call: its result, or the question to a person, or the word that it waits for one.
 *
 * 1.  A person is asked in the best way that the client has: a form, if the guard lets people decide over MCP; else the
 *     address of the gate; else nothing is asked, and the call waits for a decision elsewhere.
 * 2.  A call waits for `--wait`. Then it answers T0_GUARD_WAITING, and the same call later finds its gate.
 * 3.  A decision that another process recorded is carried out here, where the connection is.
 * 4.  A client that is gone receives nothing: the result stays there for the same call (hand-over.ts).
 */
import { inputRequired, type ServerContext } from "@modelcontextprotocol/server";
import { withoutScopes } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isOpenGate } from "../../contract/gate.ts";
import type { JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Gate, WorkflowState } from "../../index.ts";
import { linkTo } from "../../protocol/console-link.ts";
import { questionKey } from "../../protocol/name-question.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { applyAnswers, askableGates, toQuestion } from "../mcp/ask-person.ts";
import { abilitiesOf, type Declared, hasForms } from "../mcp/client-abilities.ts";
import { isGranted } from "../mcp/mcp-context.ts";
import { questionStates, readQuestionState } from "../mcp/question-state.ts";
import { resultOf } from "../mcp/run-workflow.ts";
import type { ToolAnswer } from "../mcp/tools/tool.ts";
import { type Begun, beginCall, type GuardedCall } from "./begin-call.ts";
import type { GuardContext } from "./guard-context.ts";
import { expectReceipt, wasDecided, wasReceived } from "./hand-over.ts";
import { orServerError } from "./server-error.ts";
import type { GuardSession } from "./session.ts";
import { markQuestion } from "./upstream-question.ts";

export interface Asking {
  readonly session: GuardSession;
  readonly ctx: ServerContext;
  readonly declared: Declared;
}

const answerRef = moduleRef(0, "guard", "answer_call");

/**
 * Answers a call. @throws KernelErrorException T0_GUARD_WAITING, with which the call ended, and as `submit` does;
 * ProtocolError as the server behind answered.
 */
export async function answerCall(context: GuardContext, call: GuardedCall, asking: Asking): Promise<ToolAnswer> {
  const { kernel, guard } = context;
  const caller = withoutScopes(context.caller);
  const name = `${call.server}.${call.tool}`;
  const state = readQuestionState(asking.ctx, name);
  const begun: Begun =
    state === null ? await beginCall(context, call) : { workflow_id: state.workflow_id, withdraw: null, isFound: true };
  const { id } = asking.ctx.mcpReq;
  const reads = (): boolean => !asking.session.receipts.isBroken(id);
  const answering = guard.calls.awaiting(begun.workflow_id, reads, async () => {
    const answers = (asking.ctx.mcpReq.inputResponses ?? {}) as JsonObject;
    const put = new Set(state === null ? [] : [state.question]);
    if (state !== null)
      await applyAnswers(context, await kernel.workflow(begun.workflow_id, caller), pick(answers, state.question));
    return answerRest(context, { begun, call, put, name, ...asking });
  });
  return answering.finally(() => (asking.session.receipts.has(id) ? undefined : begun.withdraw?.()));
}

const pick = (answers: JsonObject, key: string): JsonObject =>
  Object.hasOwn(answers, key) ? { [key]: answers[key] } : {};

interface Resting extends Asking {
  readonly begun: Begun;
  readonly call: GuardedCall;
  readonly name: string;
  /** The questions that were put already. */
  readonly put: ReadonlySet<string>;
}

async function answerRest(context: GuardContext, resting: Resting): Promise<ToolAnswer> {
  const { begun, ctx } = resting;
  const caller = withoutScopes(context.caller);
  using patience = limitPatience(context);
  const signal = AbortSignal.any([ctx.mcpReq.signal, patience.signal]);
  const goOn = async (): Promise<void> => takeUp(context, begun.workflow_id);
  if (begun.isFound) await goOn();
  let state = await waitForRest({ ...context, caller }, begun.workflow_id, ctx.mcpReq);
  for (;;) {
    if (isTerminal(state.state)) return handOver(context, resting, state);
    const question = await questionOf(context, resting, state);
    if (question !== null) return question;
    try {
      const waiting = { signal, after: state.sequence, onProgress: goOn };
      state = await waitForRest({ ...context, caller }, begun.workflow_id, waiting);
    } catch (thrown) {
      if (!patience.signal.aborted) throw thrown;
      return raiseWaiting(context, await context.kernel.workflow(begun.workflow_id, caller));
    }
  }
}

/** Takes up a workflow that may have been decided in another process; it is followed in any case. */
function takeUp({ kernel, options: { logger } }: GuardContext, workflowId: string): void {
  kernel.execute(workflowId).catch((error: unknown) => logger?.warn({ error }, "a guarded call could not be taken up"));
}

/** Returns a signal that fires when a call has waited for a person as long as it may. */
function limitPatience({ guard, options: { clock } }: GuardContext): Disposable & { readonly signal: AbortSignal } {
  const over = new AbortController();
  const cancel = clock.setTimer(clock.now() + guard.waitMs, () => over.abort());
  return { signal: over.signal, [Symbol.dispose]: cancel };
}

/**
 * Returns the result of an ended call. @throws KernelErrorException with which the call ended; ProtocolError if the
 * server answered with an error.
 */
export async function handOver(
  context: GuardContext,
  { begun, call, ctx, session }: Pick<Resting, "begun" | "call" | "ctx" | "session">,
  state: WorkflowState,
): Promise<ToolAnswer> {
  const { workflow_id } = state;
  if (wasDecided(state)) {
    const { id, signal } = ctx.mcpReq;
    // The answer of a stream that broke is kept for a client that resumes it; the same call may get the result too.
    const isBroken = session.receipts.isBroken(id);
    const withdraw = begun.withdraw ?? (isBroken ? noOffer : await offerResult(context, workflow_id));
    if (withdraw === null)
      return raise(
        kernelError("T0_GUARD_HANDED_OVER", `the result of ${call.tool} was handed to another request`, answerRef, {
          detail: { workflow_id },
        }),
      );
    if (signal.aborted) withdraw();
    else expectReceipt(context, { workflow_id, id, session, withdraw });
  }
  ctx.mcpReq.signal.throwIfAborted();
  context.guard.calls.forget(state.workflow_id);
  if (state.error !== null) raise(state.error);
  return markQuestion(orServerError(resultOf(state) as JsonObject)) as ToolAnswer;
}

const noOffer = (): void => undefined;

/** Offers the result of an ended call to a request. Returns the end of the offer; null if another request has it. */
async function offerResult(context: GuardContext, workflowId: string): Promise<(() => void) | null> {
  const withdraw = context.guard.calls.offer(workflowId);
  if (withdraw === null) return null;
  let isFree = false;
  try {
    isFree = !(await wasReceived(context, withoutScopes(context.caller), workflowId));
    return isFree ? withdraw : null;
  } finally {
    if (!isFree) withdraw();
  }
}

/** Returns the question to the person at the client; null if there is none, or the client cannot put it. */
async function questionOf(context: GuardContext, resting: Resting, state: WorkflowState): Promise<ToolAnswer | null> {
  const { ctx, declared, put, name } = resting;
  const abilities = abilitiesOf(ctx, declared);
  const ask = async (key: string, request: ReturnType<typeof toQuestion>): Promise<ToolAnswer> => {
    const asked = { workflow_id: state.workflow_id, tool: name, question: key };
    return inputRequired({ inputRequests: { [key]: request }, requestState: await mint(context, asked, ctx) });
  };
  const mayDecide = hasForms(abilities) && (await isGranted(context, "gate:approve"));
  const form = mayDecide ? askableGates(state).find((gate) => !put.has(questionKey(gate))) : undefined;
  if (form !== undefined) return ask(questionKey(form), toQuestion(form));
  const gate = state.gates.find(isOpenGate);
  if (gate === undefined || abilities.elicitation?.url === undefined) return null;
  const key = `url.${questionKey(gate)}`;
  if (put.size > 0) return null;
  const message = `${gate.title}: a person decides at this address whether the call may go on.`;
  return ask(key, inputRequired.elicitUrl({ message, url: linkOf(context, state, gate) }));
}

type Minted = Parameters<ReturnType<typeof questionStates>["mint"]>[0];

const mint = (context: GuardContext, asked: Minted, ctx: ServerContext): Promise<string> =>
  Promise.resolve(questionStates(context).mint(asked, ctx));

/** Returns the address at which a gate is decided. */
const linkOf = ({ guard }: GuardContext, { workflow_id }: WorkflowState, gate: Gate): string =>
  linkTo(guard.consoleUrl(), { workflow_id, gate });

/** Ends the wait of a call for a person. @throws KernelErrorException T0_GUARD_WAITING. */
function raiseWaiting(context: GuardContext, state: WorkflowState): never {
  const { workflow_id } = state;
  const gates = state.gates.filter(isOpenGate).map((gate) => ({
    gate_id: gate.gate_id,
    title: gate.title,
    payload_digest: gate.payload_digest,
    due_at: gate.due_at,
    link: linkOf(context, state, gate),
  }));
  const where = gates.map(({ link }) => link).join(", ");
  const message = `the call waits for a person's decision${where === "" ? "" : ` at ${where}`}`;
  return raise(kernelError("T0_GUARD_WAITING", message, answerRef, { detail: { workflow_id, gates } }));
}
