/**
 * tasks/result of 2025-11-25: waits until the workflow has ended; at a gate it asks the person, if the client can, else
 * it waits for the decision. It ends with its request.
 *
 * 1.  A question that is no longer open, because somebody else decided or what it showed has changed, is taken back.
 * 2.  An answer that comes too late decides nothing: what is open now is asked anew.
 */

import { RELATED_TASK_META_KEY, type Result, type Server, type ServerContext } from "@modelcontextprotocol/server";
import { withoutScopes } from "../../contract/auth-context.ts";
import { touchesGate, typesWhere } from "../../contract/events.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Gate, WorkflowState } from "../../index.ts";
import { questionKey } from "../../protocol/name-question.ts";
import { openGates } from "../../protocol/tell-gate.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { applyAnswers, askableGates, toQuestion } from "./ask-person.ts";
import { hasForms } from "./client-abilities.ts";
import { isGranted, type McpContext, requireGranted } from "./mcp-context.ts";
import { resultOf } from "./run-workflow.ts";

export interface Awaited {
  readonly taskId: string;
  readonly ctx: ServerContext;
}

/** Waits for the result. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, and as `decideGate` does. */
export async function awaitResult(server: Server, context: McpContext, { taskId, ctx }: Awaited): Promise<Result> {
  const { signal } = ctx.mcpReq;
  const put = new Set<string>();
  const caller = await requireGranted(context, "outcome:read");
  const mayAsk = hasForms(server.getClientCapabilities() ?? {}) && (await isGranted(context, "gate:approve"));
  for (let after = -1; ; ) {
    const state = await waitForRest({ ...context, caller }, taskId, { signal, after });
    if (isTerminal(state.state)) return { ...resultOf(state), _meta: { [RELATED_TASK_META_KEY]: { taskId } } };
    const gate = mayAsk ? askableGates(state).find((open) => !put.has(questionKey(open))) : undefined;
    after = gate === undefined ? state.sequence : -1;
    if (gate === undefined) continue;
    const key = questionKey(gate);
    put.add(key);
    const answer = await askWhileOpen(server, context, { state, gate, ctx });
    if (answer !== null) await applyAnswers(context, await context.kernel.workflow(taskId, caller), { [key]: answer });
  }
}

interface Asking {
  readonly state: WorkflowState;
  readonly gate: Gate;
  readonly ctx: ServerContext;
}

/** Returns the person's answer; null if the question was taken back, or the client could not put it. */
async function askWhileOpen(server: Server, context: McpContext, { state, gate, ctx }: Asking): Promise<object | null> {
  const taskId = state.workflow_id;
  const over = new AbortController();
  const signal = AbortSignal.any([ctx.mcpReq.signal, over.signal]);
  const closing = untilClosed(context, { state, gate, signal }).finally(() => over.abort());
  closing.catch(() => undefined);
  try {
    const asked = { ...toQuestion(gate).params, _meta: { [RELATED_TASK_META_KEY]: { taskId } } };
    const { id: relatedRequestId } = ctx.mcpReq;
    const timeout = context.options.limits.elicitationMs;
    return await server.elicitInput(asked as never, { signal, relatedRequestId, timeout });
  } catch (thrown) {
    if (ctx.mcpReq.signal.aborted) throw thrown;
    if (!over.signal.aborted) context.options.logger?.warn({ thrown, taskId }, "a client could not put a question");
    return null;
  } finally {
    over.abort();
  }
}

interface Closing {
  readonly state: WorkflowState;
  readonly gate: Gate;
  readonly signal: AbortSignal;
}

/** Resolves when the gate no longer shows what the question showed, or when nobody waits for that any more. */
async function untilClosed(context: McpContext, { state, gate, signal }: Closing): Promise<void> {
  const { kernel } = context;
  const caller = withoutScopes(context.caller);
  const { workflow_id, sequence: after } = state;
  const key = questionKey(gate);
  for await (const { item } of kernel.channel("events", workflow_id, { after, signal }, caller)) {
    if (!mayClose.has(item.event_type)) continue;
    const now = await kernel.workflow(workflow_id, caller);
    if (!openGates(now).some((open) => questionKey(open) === key)) return;
  }
}

/** The types of events that decide gates, change them, or end their workflow. */
const mayClose = typesWhere((facts) => touchesGate(facts) || facts.ends === "workflow");
