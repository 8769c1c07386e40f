/**
 * guardTools: an agent of the OpenAI Agents SDK whose function tools a kernel judges and runs; and the way to go on
 * after people have decided.
 *
 * 1.  `needsApproval` of each tool judges and runs nothing. The tool runs when the SDK invokes it, once, with the
 *     permitted arguments.
 * 2.  An approval in the state of a run decides nothing by itself: the tool runs by the permit of the kernel alone.
 * 3.  Tools that the SDK does not invoke in this process cannot be guarded, and are refused; so is a handoff to an
 *     agent that is not guarded.
 * 4.  A tool that is a guarded agent is judged and has no record of its own: its run may be interrupted by the calls of
 *     that agent, and then goes on.
 */
import type { FunctionTool, RunState, RunToolApprovalItem, Tool } from "@openai/agents";
import { z } from "zod";
import { raise } from "../../../contract/error.ts";
import { objectWith } from "../../../contract/host-object.ts";
import type { Json, JsonObject } from "../../../contract/json.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { AgentCall, AgentThread, RunCall, WaitingCall } from "../agent-call.ts";
import { agentError } from "../call-words.ts";

/** An agent of the SDK with any context and any output, as the SDK's own items name it. */
export type AnyAgent = RunToolApprovalItem["agent"];
type Invoke = Parameters<FunctionTool["invoke"]>;

const reading = { what: "guardTools", source: moduleRef(0, "agents", "openai_agents") };
const Given = z.strictObject({
  agent: objectWith<AnyAgent>("clone", "asTool"),
  thread: objectWith<AgentThread>("ask", "run", "take"),
});

/** The agents that `guardTools` has made, and the tools that those were made into. */
const guardedAgents = new WeakSet<object>();
const agentTools = new WeakSet<object>();

/**
 * Returns the agent with its tools under the kernel of a conversation. The kernel's rules stand in the place of each
 * tool's own `needsApproval`.
 * @throws KernelErrorException T0_AGENT_UNGUARDED for a hosted tool, an MCP server or an unguarded handoff;
 * T0_VALIDATION_SCHEMA_MISMATCH for anything but an agent and a thread.
 */
export function guardTools<A extends AnyAgent>(agent: A, thread: AgentThread): A {
  readStrictly(Given, { agent, thread }, reading);
  const { name, tools, mcpServers, handoffs } = agent;
  if (mcpServers.length > 0) refuse(name, `the MCP server ${mcpServers[0]?.name}: put it behind countersign guard`);
  const target = handoffs.map((handoff) => ("agent" in handoff ? handoff.agent : handoff));
  const open = target.find((one) => !guardedAgents.has(one));
  if (open !== undefined) refuse(name, `the agent ${open.name}, to which it hands over: guard its tools first`);
  const guarded = agent.clone({ tools: tools.map((tool: Tool) => guardTool(name, tool, thread)) }) as A;
  guardedAgents.add(guarded);
  const asTool = guarded.asTool.bind(guarded) as (options: never) => object;
  guarded.asTool = ((options: never) => {
    const tool = asTool(options);
    agentTools.add(tool);
    return tool;
  }) as typeof guarded.asTool;
  return guarded;
}

const refuse = (agent: string, what: string): never =>
  raise(agentError("T0_AGENT_UNGUARDED", `the kernel cannot judge all calls of ${agent}; it has ${what}`));

function guardTool(agent: string, tool: Tool, thread: AgentThread): FunctionTool {
  if (tool.type !== "function") return refuse(agent, `a tool of type ${tool.type}, which the SDK does not invoke here`);
  const needsApproval = async (_context: Invoke[0], input: unknown, callId?: string) => {
    if (callId === undefined) return false;
    const judged = await thread.ask({ call_id: callId, tool: tool.name, arguments: input });
    return judged.status === "waiting";
  };
  if (agentTools.has(tool)) return guardAgentTool(tool, { thread, needsApproval });
  return {
    ...tool,
    needsApproval,
    async invoke(context: Invoke[0], input: string, details?: Invoke[2]) {
      const call = callOf(tool.name, details?.toolCall?.callId, input);
      const invoke = (args: JsonObject): unknown => tool.invoke(context, JSON.stringify(args), details);
      return outputOf(await thread.run(call, invoke, details?.signal));
    },
  } as FunctionTool;
}

/** Guards a tool that is an agent. It stays the same object, by which the SDK finds the agent in a stored state. */
function guardAgentTool(
  tool: FunctionTool,
  { thread, needsApproval }: { readonly thread: AgentThread; readonly needsApproval: FunctionTool["needsApproval"] },
): FunctionTool {
  const run = tool.invoke.bind(tool);
  const invoke = async (context: Invoke[0], input: string, details?: Invoke[2]): Promise<unknown> => {
    const judged = await thread.ask(callOf(tool.name, details?.toolCall?.callId, input), details?.signal);
    if (judged.status !== "allowed") return judged.words;
    const output = await run(context, JSON.stringify(judged.arguments), details);
    return outputOf({ status: "made", workflow_id: judged.workflow_id, output: output as Json, note: judged.note });
  };
  return Object.assign(tool, { needsApproval, invoke });
}

/** Returns the call; arguments that are no JSON are null, which the kernel refuses. */
function callOf(tool: string, callId: string | undefined, input: string | undefined): AgentCall {
  return { call_id: callId ?? "", tool, arguments: parse(input ?? "{}") };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return null;
  }
}

/** Returns the output for the model: that of the tool, after what it is told of changed arguments, or why not. */
function outputOf(run: RunCall): unknown {
  if (run.status === "made") {
    const { output, note } = run;
    if (note === null) return output;
    return typeof output === "string" ? `${note}\n${output}` : { note, output };
  }
  if (run.status !== "failed") return run.words;
  return run.note === null ? run.message : `${run.note}\n${run.message}`;
}

/** The calls that still wait at an interrupted run. */
export interface Resumed {
  /** The calls that still wait; none if the run can go on. */
  readonly waiting: readonly WaitingCall[];
}

/**
 * Answers the interruptions of a run by the decisions of people. While a call waits, the state is left as it is; once
 * all are decided, the run goes on with it.
 */
export async function resume<CONTEXT>(state: RunState<CONTEXT, AnyAgent>, thread: AgentThread): Promise<Resumed> {
  const items = state.getInterruptions();
  const judged = await Promise.all(items.map(async (item) => ({ item, call: await thread.ask(callOfItem(item)) })));
  const waiting = judged.flatMap(({ call }) => (call.status === "waiting" ? call : []));
  if (waiting.length > 0) return { waiting };
  for (const { item, call } of judged)
    if (call.status === "refused") state.reject(item, { message: call.words });
    else state.approve(item);
  return { waiting };
}

function callOfItem(item: RunToolApprovalItem): AgentCall {
  const { rawItem } = item;
  const callId = "callId" in rawItem ? rawItem.callId : undefined;
  return callOf(item.name ?? "", callId, item.arguments);
}
