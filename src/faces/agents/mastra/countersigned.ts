/**
 * countersigned: tools of Mastra, judged and run under a kernel.
 *
 * 1.  A call that waits suspends its agent. Whatever that is resumed with, the kernel's decision alone counts; a call
 *     that still waits suspends it again.
 * 2.  The tool's own `execute`, which reads its schema, runs under the kernel, once, with the permitted arguments.
 * 3.  A tool cannot suspend by itself under a kernel: its run is over when it returns.
 */
import { createTool, type ToolExecutionContext } from "@mastra/core/tools";
import { z } from "zod";
import { objectWith } from "../../../contract/host-object.ts";
import { isPlainObject, type JsonObject } from "../../../contract/json.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { AgentCall, RunCall, WaitingCall } from "../agent-call.ts";
import type { Agent } from "../create-agents.ts";
import { addNote, type ModelOutput } from "../note-output.ts";

/** The payload with which an agent is suspended while a call waits. */
export interface CountersignSuspension {
  readonly type: "countersign";
  /** The name of the tool. */
  readonly tool: string;
  readonly workflow_id: string;
  /** The open gates, with the addresses at which people decide. */
  readonly gates: WaitingCall["gates"];
  readonly message: string;
}

/** The members of a tool of Mastra that are used here. */
interface MastraTool {
  readonly id: string;
  readonly execute?: (input: unknown, context: Context) => Promise<unknown>;
  readonly toModelOutput?: (output: unknown) => unknown;
}
type Context = Omit<ToolExecutionContext, "requestContext"> & { readonly runId?: string };

const reading = { what: "countersigned", source: moduleRef(0, "agents", "mastra") };
const Given = z.strictObject({
  agent: objectWith<Agent>("thread"),
  tools: z.record(z.string(), objectWith()),
});

/**
 * Puts tools under the kernel of an agent. The conversation is the thread of Mastra's memory, or else the agent's run.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for anything but an agent and tools.
 */
export function countersigned<TOOLS extends Readonly<Record<string, object>>>(agent: Agent, tools: TOOLS): TOOLS {
  readStrictly(Given, { agent, tools }, reading);
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guardTool(agent, name, tool as MastraTool)]),
  ) as TOOLS;
}

function guardTool(agent: Agent, name: string, tool: MastraTool): object {
  const { execute } = tool;
  if (execute === undefined) return tool;
  const guarded = {
    ...tool,
    // The tool's own `execute` reads these schemas.
    outputSchema: undefined,
    suspendSchema: undefined,
    resumeSchema: undefined,
    async execute(input: unknown, context: Context): Promise<unknown> {
      const call = { call_id: context.agent?.toolCallId as string, tool: name, arguments: input };
      const run = await runTool(agent, { call, context, execute: execute.bind(tool) });
      if (run.status !== "waiting") return outputOf(run);
      const suspend = context.agent?.suspend;
      if (suspend === undefined) throw new Error(run.words);
      await suspend(describeWaiting(name, run));
      return undefined;
    },
    ...(tool.toModelOutput && { toModelOutput: (output: unknown) => toModelOutput(tool, output) }),
  };
  return createTool(guarded as never);
}

interface Running {
  readonly call: AgentCall;
  readonly context: Context;
  readonly execute: NonNullable<MastraTool["execute"]>;
}

function runTool(agent: Agent, { call, context, execute }: Running): Promise<RunCall> {
  const thread = agent.thread((context.agent?.threadId ?? context.runId) as string);
  const refuse = (): never => {
    throw new Error(`${call.tool} suspends its agent, which it cannot do under a kernel`);
  };
  const run = async (args: JsonObject, limit: AbortSignal): Promise<unknown> => {
    const { abortSignal, agent: around } = context;
    const inner = { ...around, suspend: refuse, resumeData: undefined, suspendPayload: undefined };
    return execute(args, {
      ...context,
      abortSignal: AbortSignal.any([limit, ...(abortSignal ? [abortSignal] : [])]),
      suspend: refuse,
      ...(around && { agent: inner as never }),
    });
  };
  return thread.run(call, run, context.abortSignal);
}

const describeWaiting = (tool: string, { workflow_id, gates, words }: WaitingCall): CountersignSuspension => ({
  type: "countersign",
  tool,
  workflow_id,
  gates,
  message: words,
});

/** Returns the output. @throws Error with the words for the model if the call was not made, or the tool threw. */
function outputOf(run: Exclude<RunCall, WaitingCall>): unknown {
  if (run.status === "made") return run.note === null ? run.output : { [noteKey]: run.note, output: run.output };
  if (run.status === "refused") throw new Error(run.words);
  throw new Error(run.note === null ? run.message : `${run.note}\n${run.message}`);
}

/** The member of an output that holds the words about changed arguments. */
const noteKey = "countersign_note";

/** Returns the output as the tool gives it to models, with the words about changed arguments. */
function toModelOutput(tool: MastraTool, output: unknown): unknown {
  if (!isPlainObject(output) || !Object.hasOwn(output, noteKey)) return tool.toModelOutput?.(output);
  return addNote(tool.toModelOutput?.(output["output"]) as ModelOutput, String(output[noteKey]));
}
