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
import type { ToolAnswer } from "../mcp/tools/tool.ts";
import { answerCall, handOver } from "./answer-call.ts";
import { type GuardedCall, submitCall } from "./begin-call.ts";
import { ownTasks } from "./greeting.ts";
import type { GuardContext } from "./guard-context.ts";
import { refuseCall } from "./refuse-call.ts";
import type { GuardSession } from "./session.ts";
import { readContinued } from "./upstream-question.ts";

/** Reads a call for its server and tool. @throws KernelErrorException T0_MCP_TOOL_UNKNOWN, T0_GUARD_TOOL_… */
export type FindTool = (name: string) => Promise<Pick<GuardedCall, "server" | "tool" | "effect" | "definition">>;

export interface GuardServing {
  readonly context: GuardContext;
  readonly session: GuardSession;
  readonly find: FindTool;
  /** Returns whether the tool of this name states the schema of its output. */
  readonly hasSchema: (name: string) => Promise<boolean>;
}

/** Serves the calls of one client over a transport, in the era that its first message has. */
export function serveGuarded(serving: GuardServing, transport: Transport): () => Promise<void> {
  const handle = serveStdio(() => createGuardServer(serving), { transport });
  return () => handle.close();
}

const readsAlways = (): boolean => true;

function createGuardServer({ context, session, find, hasSchema }: GuardServing): Server {
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
  const orRefusal = async (
    work: () => Promise<ToolAnswer>,
    { params }: JSONRPCRequest,
    { mcpReq }: ServerContext,
  ): Promise<ToolAnswer> => {
    try {
      return await work();
    } catch (thrown) {
      // An error of the protocol is the server's own, and passes as it is.
      if (mcpReq.signal.aborted || thrown instanceof ProtocolError) throw thrown;
      return refuseCall(errorOf(thrown, logger), await hasSchema(String(params?.["name"])));
    }
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
      const state = await context.guard.calls.awaiting(workflow_id, readsAlways, () => resting);
      if (!isTerminal(state.state)) return { ...toExtensionTask(state, limits.pollIntervalMs), resultType: "task" };
      const begun = { workflow_id, withdraw: null, isFound: false };
      const result = await orRefusal(() => handOver(context, { begun, call, ctx, session }, state), request, ctx);
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
  server.setRequestHandler("tools/call", ({ params }, ctx): Promise<ToolAnswer> => {
    const known = session.asked(ctx.mcpReq.id) ?? requestWith(ctx.mcpReq.id, { method: "tools/call", params });
    const request = known as JSONRPCRequest;
    return orRefusal(
      async () => answerCall(context, await readCall(request), { session, ctx, declared }),
      request,
      ctx,
    );
  });
  addTasks(server, context, declared);
  return server;
}
