/**
 * Tasks: calls that answer at once with a handle, and the requests about it. Both generations: tasks/get, result, list
 * and cancel of 2025-11-25, and tasks/get, update and cancel of the extension of 2026-07-28. The SDK brings only the
 * schemas.
 *
 * 1.  A task is a workflow; every answer is read from the ledger. Restarts and other processes change nothing.
 * 2.  tasks/update is a decision by the caller, bound to what the question showed. A caller who may not answer gates is
 *     not asked.
 * 3.  A task is bound to the principal who requested it. For anybody else, also of the same tenant, it does not exist,
 *     to the byte of the answer; gates of others are decided through the kernel's own operations.
 */

import {
  type JSONRPCRequest,
  MissingRequiredClientCapabilityError,
  type Result,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { WorkflowId } from "../../contract/ids.ts";
import { raise } from "../../contract/kernel-error.ts";
import { lastOfPage } from "../../contract/list-filter.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isTerminal, workflowNotFound } from "../../contract/workflow.ts";
import type { Caller, WorkflowState } from "../../index.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { findTool, readToolArguments } from "./add-tools.ts";
import { applyAnswers } from "./ask-person.ts";
import { awaitResult } from "./await-result.ts";
import { readCallMeta } from "./call-meta.ts";
import { abilitiesOf, type Declared, hasForms, hasTasks, isModern, tasksExtension } from "./client-abilities.ts";
import { isGranted, type McpContext, requireGranted, requireScope } from "./mcp-context.ts";
import { orProtocolError } from "./mcp-error.ts";
import { toDetailedTask, toExtensionTask, toListedTask, toTask } from "./task-view.ts";
import { termsOf } from "./tools/tool.ts";

const taskRef = moduleRef(0, "mcp", "tasks");
const OfTask = z.looseObject({ taskId: z.string().max(256) });
const Updated = OfTask.extend({ inputResponses: z.record(z.string(), z.unknown()).optional() });
const Page = z.looseObject({ cursor: WorkflowId.optional() }).prefault({});
const Augmented = z.looseObject({
  name: z.string(),
  arguments: z.unknown().optional(),
  task: z.looseObject({ ttl: z.number().optional() }).optional(),
});

/** Begins the task of a call: if it asks for one, or if its client knows the extension and the tool has tasks. */
export async function beginTask(
  context: McpContext,
  request: JSONRPCRequest,
  { ctx, declared }: { readonly ctx: ServerContext; readonly declared: Declared },
): Promise<Result | null> {
  const call = Augmented.safeParse(request.params).data;
  const modern = isModern(ctx);
  const wanted = modern ? hasTasks(abilitiesOf(ctx, declared)) : call?.task !== undefined;
  // An answered question continues the work that was begun.
  if (call === undefined || !wanted || ctx.mcpReq.requestState() !== undefined) return null;
  const { pollIntervalMs, maxDepth } = context.options.limits;
  return orProtocolError(context.options.logger, async () => {
    const tool = await findTool(context, call.name);
    if (tool.begin === undefined) return modern ? null : refuseTask(tool.name);
    const caller = await requireGranted(context, "outcome:read");
    const args = readToolArguments(call.arguments, maxDepth);
    const workflowId = await tool.begin(context, args, termsOf(ctx, readCallMeta(ctx.mcpReq._meta)));
    const state = await context.kernel.workflow(workflowId, caller);
    if (modern) return { ...toExtensionTask(state, pollIntervalMs), resultType: "task" };
    return { task: toTask(state, pollIntervalMs) };
  });
}

const refuseTask = (name: string): never =>
  raise(kernelError("T0_MCP_TASK_REFUSED", `${name} is no tool that can be a task`, taskRef));

const refuseEnded = (taskId: string, state: string): never =>
  raise(kernelError("T4_WORKFLOW_CONFLICT", `the task is ${state} already`, taskRef, { detail: { taskId } }));

export function addTasks(server: Server, context: McpContext, declared: Declared): void {
  const { logger, limits } = context.options;
  const guard = <T>(ctx: ServerContext, work: () => Promise<T>): Promise<T> =>
    orProtocolError(logger, () => {
      const abilities = abilitiesOf(ctx, declared);
      if (isModern(ctx) && !hasTasks(abilities))
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [tasksExtension]: {} } },
        });
      return work();
    });

  server.setRequestHandler("tasks/get", { params: OfTask }, ({ taskId }, ctx) =>
    guard(ctx, async () => {
      const state = await readTask(context, taskId);
      if (!isModern(ctx)) return toTask(state, limits.pollIntervalMs);
      const mayAsk = hasForms(abilitiesOf(ctx, declared)) && (await isGranted(context, "gate:approve"));
      return toDetailedTask(state, limits.pollIntervalMs, mayAsk);
    }),
  );
  server.setRequestHandler("tasks/update", { params: Updated }, ({ taskId, inputResponses }, ctx) =>
    guard(ctx, async () => {
      const answers = ctx.mcpReq.inputResponses ?? inputResponses ?? {};
      requireScope(context, "gate:approve");
      await applyAnswers(context, await readTask(context, taskId), answers);
      return {};
    }),
  );
  server.setRequestHandler("tasks/cancel", { params: OfTask }, ({ taskId }, ctx) =>
    guard(ctx, async () => {
      const { state } = await readTask(context, taskId);
      if (isTerminal(state)) return isModern(ctx) ? {} : refuseEnded(taskId, state);
      const caller = requireScope(context, "workflow:cancel");
      await context.kernel.cancel(taskId, { ...caller, reason: "cancelled by its task" });
      if (isModern(ctx)) return {};
      return toTask(await waitForRest({ ...context, caller }, taskId, ctx.mcpReq), limits.pollIntervalMs);
    }),
  );
  server.setRequestHandler("tasks/list", { params: Page }, ({ cursor }) =>
    orProtocolError(logger, async () => {
      const limit = limits.maxPage;
      const after = cursor === undefined ? {} : { after: cursor };
      const filter = { ...after, limit, principal: context.caller.principal.id };
      const found = await context.kernel.workflows(filter, await requireGranted(context, "outcome:read"));
      const last = lastOfPage(found, limit)?.workflow_id;
      const own = found.filter(({ principal }) => isOwn(context, principal));
      const tasks = own.map((one) => toListedTask(one, limits.pollIntervalMs));
      return { tasks, ...(last !== undefined && { nextCursor: last }) };
    }),
  );
  server.setRequestHandler("tasks/result", { params: OfTask }, ({ taskId }, ctx) =>
    orProtocolError(logger, async () => {
      await readTask(context, taskId);
      return awaitResult(server, context, { taskId, ctx });
    }),
  );
}

/** Reads a task of the caller. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, also for invalid ids. */
async function readTask(context: McpContext, taskId: string): Promise<WorkflowState> {
  const state = await context.kernel.workflow(taskId, await requireGranted(context, "outcome:read"));
  return isOwn(context, state.intent.actor) ? state : raise(workflowNotFound(taskId, taskRef));
}

/** Returns whether the caller is this principal, in whatever role. */
const isOwn = (
  { caller: { principal } }: McpContext,
  { type, id }: Pick<Caller["principal"], "type" | "id">,
): boolean => principal.type === type && principal.id === id;
