/**
 * countersigned: a middleware for agents of LangChain on LangGraph, which has tool calls judged and run by a kernel.
 *
 * 1.  A call that waits interrupts the graph. Whatever the graph is resumed with, the kernel's decision alone counts; a
 *     call that still waits interrupts it again.
 * 2.  The tool is invoked by the graph's own handler, in a run of the kernel, once, with the permitted arguments.
 * 3.  Middleware between this one and the tool could change the arguments: this one stands last.
 */
import { type Command, interrupt, isGraphBubbleUp } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware, type ToolCallRequest, ToolMessage } from "langchain";
import { z } from "zod";
import { objectWith } from "../../../contract/host-object.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { RunCall, WaitingCall } from "../agent-call.ts";
import type { Agent } from "../create-agents.ts";
import { readResult, storeResult } from "./stored-result.ts";

const reading = { what: "countersigned", source: moduleRef(0, "agents", "langgraph") };
const Given = z.strictObject({ agent: objectWith<Agent>("thread") });

/** The value of an interrupt of the graph while a call waits. */
export interface CountersignInterrupt {
  readonly type: "countersign";
  /** The name of the tool. */
  readonly tool: string;
  readonly workflow_id: string;
  /** The open gates, with the addresses at which people decide. */
  readonly gates: WaitingCall["gates"];
  readonly message: string;
}

/**
 * Creates the middleware. The conversation is the `thread_id` of the graph's configuration, so the graph needs a
 * checkpointer. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for anything but an agent.
 */
export function countersigned(agent: Agent): AgentMiddleware {
  readStrictly(Given, { agent }, reading);
  return createMiddleware({
    name: "Countersigned",
    async wrapToolCall(request, handler) {
      for (;;) {
        const run = await runCall(agent, request, handler);
        if (run.status !== "waiting") return answerOf(request, run);
        interrupt(describeWaiting(request.toolCall.name, run));
      }
    },
  }) as AgentMiddleware;
}

type Handler = (request: ToolCallRequest) => unknown;

/** Has the call run. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if the graph has no thread. */
function runCall(agent: Agent, request: ToolCallRequest, handler: unknown): Promise<RunCall> {
  const { toolCall, runtime } = request;
  const { id, name, args } = toolCall;
  const thread = agent.thread(runtime.configurable?.thread_id as string);
  const invoke = async (permitted: JsonObject): Promise<unknown> => {
    try {
      return storeResult(await (handler as Handler)({ ...request, toolCall: { ...toolCall, args: permitted } }));
    } catch (thrown) {
      // An interrupt of the tool's own would have it run again, and a run is made once.
      if (isGraphBubbleUp(thrown)) throw new Error(`${name} interrupts its graph, which it cannot do under a kernel`);
      throw thrown;
    }
  };
  return thread.run({ call_id: id as string, tool: name, arguments: args }, invoke, runtime.signal);
}

const describeWaiting = (tool: string, { workflow_id, gates, words }: WaitingCall): CountersignInterrupt => ({
  type: "countersign",
  tool,
  workflow_id,
  gates,
  message: words,
});

/** Returns the result for the graph: the tool's own, or a message of status `error` with the words for the model. */
function answerOf({ toolCall }: ToolCallRequest, run: Exclude<RunCall, WaitingCall>): ToolMessage | Command {
  const { id: tool_call_id = "", name } = toolCall;
  if (run.status === "made") return readResult(run.output, { tool_call_id, note: run.note });
  const { note = null, text } = run.status === "failed" ? { note: run.note, text: run.message } : { text: run.words };
  const content = note === null ? text : `${note}\n${text}`;
  return new ToolMessage({ content, tool_call_id, name, status: "error" });
}
