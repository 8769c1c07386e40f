/**
 * The guard's own MCP server for one client: tools/call, and tasks where the server behind has none. It is built of the
 * parts of the MCP face, so that a person is asked as they are there.
 */
import {
  type JSONRPCRequest,
  ProtocolError,
  type Result,
  type Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { withoutScopes } from "../../contract/auth-context.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { isTerminal } from "../../contract/workflow.ts";
import { requestWith } from "../../protocol/relayed-message.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { addTasks } from "../mcp/add-tasks.ts";
import { readToolArguments } from "../mcp/add-tools.ts";
import { abilitiesOf, type Declared, hasTasks, isModern } from "../mcp/client-abilities.ts";
import { KernelServer } from "../mcp/kernel-server.ts";
import { errorOf, orProtocolError } from "../mcp/mcp-error.ts";
import { questionStates } from "../mcp/question-state.ts";
import { toExtensionTask, toTask } from "../mcp/task-view.ts";
import { refusal, type ToolAnswer } from "../mcp/tools/tool.ts";
import { answerCall, handOver } from "./answer-call.ts";
import { type GuardedCall, submitCall } from "./begin-call.ts";
import { ownTasks } from "./greeting.ts";
import type { GuardContext } from "./guard-context.ts";
import type { GuardSession } from "./session.ts";
import { readContinued } from "./upstream-question.ts";

/** Reads a call for its server and tool. @throws KernelErrorException T0_MCP_TOOL_UNKNOWN, T0_GUARD_TOOL_… */
export type FindTool = (name: string) => Promise<Pick<GuardedCall, "server" | "tool" | "effect" | "definition">>;

export interface GuardServing {
  readonly context: GuardContext;
  readonly session: GuardSession;
  readonly find: FindTool;
}

/** Serves the calls of one client over a transport, in the era that its first message has. */
export function serveGuarded(serving: GuardServing, transport: Transport): () => Promise<void> {
  const handle = serveStdio(() => createGuardServer(serving), { transport });
  return () => handle.close();
}

function createGuardServer({ context, session, find }: GuardServing): Server {
  const { name, version, limits, logger } = context.options;
  const declared: Declared = () => server.getClientCapabilities();
  const readCall = async (request: JSONRPCRequest): Promise<GuardedCall> => {
    const { name: called, arguments: raw } = (request.params ?? {}) as JsonObject;
    const continues = readContinued(request);
    return {
      ...(await find(String(called))),
      arguments: readToolArguments(raw, limits.maxDepth),
      ...(continues !== undefined && { continues }),
      attached: session.attach(request),
    };
  };
  const begin = async (request: JSONRPCRequest, ctx: ServerContext): Promise<Result | null> => {
    const modern = isModern(ctx);
    const wanted = modern ? hasTasks(abilitiesOf(ctx, declared)) : isPlainObject(request.params?.["task"]);
    if (!wanted || !session.runsTasks || ctx.mcpReq.requestState() !== undefined) return null;
    return orProtocolError(logger, async () => {
      const call = await readCall(session.asked(request.id) ?? request);
      const workflow_id = await submitCall(context, call);
      const caller = withoutScopes(context.caller);
      if (!modern) return { task: toTask(await context.kernel.workflow(workflow_id, caller), limits.pollIntervalMs) };
      // A client that knows the extension receives a task only where the call has to wait.
      const resting = waitForRest({ ...context, caller }, workflow_id, ctx.mcpReq);
      const state = await context.guard.calls.awaiting(workflow_id, () => resting);
      if (!isTerminal(state.state)) return { ...toExtensionTask(state, limits.pollIntervalMs), resultType: "task" };
      const result = await handOver(
        context,
        { begun: { workflow_id, isClaimed: true, isFound: false }, call, ctx },
        state,
      );
      return { resultType: "complete", ...result };
    });
  };
  const inputRequired = { maxRounds: limits.maxQuestions, roundTimeoutMs: limits.elicitationMs };
  const options = {
    capabilities: { tools: {}, tasks: ownTasks },
    inputRequired,
    requestState: { verify: questionStates(context).verify },
  };
  const server = new KernelServer({ name, version }, options, begin);
  server.onerror = (error) => logger?.warn({ error: error.message }, "a guarded connection had an error");
  server.setRequestHandler("tools/call", async ({ params }, ctx): Promise<ToolAnswer> => {
    try {
      const request = session.asked(ctx.mcpReq.id) ?? requestWith(ctx.mcpReq.id, { method: "tools/call", params });
      return await answerCall(context, await readCall(request as JSONRPCRequest), { ctx, declared });
    } catch (thrown) {
      // An error of the protocol is the server's own, and passes as it is.
      if (ctx.mcpReq.signal.aborted || thrown instanceof ProtocolError) throw thrown;
      return refusal(errorOf(thrown, logger));
    }
  });
  addTasks(server, context, declared);
  return server;
}
