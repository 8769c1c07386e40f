/**
 * countersigned: tools of the AI SDK, judged and run under a kernel: the tools and the `toolApproval` for
 * `generateText`, `streamText` and `ToolLoopAgent`, and the way to go on after people have decided.
 *
 * 1.  The hook judges and runs nothing: the SDK may still drop the call. The tool runs when the SDK executes it, once,
 *     with the permitted arguments.
 * 2.  An approval in the messages decides nothing by itself: the tool runs by the permit of the kernel alone.
 * 3.  A tool that `countersigned` was not given is denied.
 */
import { asSchema, type ModelMessage, type Tool, type ToolApprovalStatus, type ToolSet } from "ai";
import { z } from "zod";
import { objectWith } from "../../../contract/host-object.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { AgentThread, RunCall } from "../agent-call.ts";
import { agentError, describeError } from "../call-words.ts";
import { noteOutput } from "./note-output.ts";
import { type Resumed, resumeMessages } from "./resume-messages.ts";

/** The options of `generateText` and its like that put tools under a kernel. */
export interface Countersigned<TOOLS extends ToolSet> {
  /** The tools, run by the kernel. */
  readonly tools: TOOLS;
  /** Judges each call: it is made, denied with the reason, or waits for a person. */
  readonly toolApproval: (asked: {
    readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown };
    readonly tools: ToolSet | undefined;
  }) => Promise<ToolApprovalStatus>;
  /** Answers the approval requests of stored messages by the decisions of people; see `Resumed`. */
  readonly resume: (messages: readonly ModelMessage[]) => Promise<Resumed>;
}

type Execute = NonNullable<Tool["execute"]>;
type ExecuteOptions = Parameters<Execute>[1];

const reading = { what: "countersigned", source: moduleRef(0, "agents", "ai_sdk") };
const Given = z.strictObject({
  thread: objectWith<AgentThread>("ask", "run", "take"),
  tools: z.record(z.string(), z.looseObject({})),
});

/**
 * Puts tools under the kernel of a conversation.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for anything but a thread and tools.
 */
export function countersigned<TOOLS extends ToolSet>(thread: AgentThread, given: TOOLS): Countersigned<TOOLS> {
  readStrictly(Given, { thread, tools: given }, reading);
  const notes = new Map<string, string>();
  const guarded = new Map<string, Tool>(
    Object.entries(given).map(([name, tool]) => [name, guardTool({ thread, name, tool, notes })]),
  );
  return Object.freeze({
    tools: Object.fromEntries(guarded) as TOOLS,
    async toolApproval({ toolCall: { toolCallId, toolName, input }, tools }) {
      const tool = guarded.get(toolName);
      if (tool === undefined || !Object.hasOwn(tools ?? {}, toolName) || tools?.[toolName] !== tool)
        return { type: "denied", reason: describeError(agentError("T0_AGENT_UNGUARDED", unguarded(toolName))) };
      const judged = await thread.ask({ call_id: toolCallId, tool: toolName, arguments: input });
      if (judged.status === "refused") return { type: "denied", reason: judged.words };
      if (judged.status === "waiting") return { type: "user-approval", reason: judged.words };
      // Nobody here can change what a client or a provider runs by itself.
      if (tool.execute === undefined && judged.note !== null) return { type: "denied", reason: judged.note };
      return judged.approval === null ? "not-applicable" : { type: "approved", reason: judged.approval };
    },
    resume: (messages) => resumeMessages(thread, messages),
  } satisfies Countersigned<TOOLS>);
}

const unguarded = (tool: string): string => `the tool ${tool} is not one that countersigned returned`;

interface Guarding {
  readonly thread: AgentThread;
  readonly name: string;
  readonly tool: Tool;
  /** The words for the model about changed arguments, by the id of the call. */
  readonly notes: Map<string, string>;
}

function guardTool({ thread, name, tool, notes }: Guarding): Tool {
  const { execute } = tool;
  if (execute === undefined) return tool;
  const guarded = async (input: unknown, options: ExecuteOptions): Promise<unknown> => {
    const call = { call_id: options.toolCallId, tool: name, arguments: input };
    const run = await thread.run(
      call,
      async (args, signal, isChanged) => {
        const abortSignal = AbortSignal.any([signal, ...(options.abortSignal ? [options.abortSignal] : [])]);
        const read = isChanged ? await readChanged(tool, args) : input;
        return lastOf(await execute.call(tool, read as never, { ...options, abortSignal }));
      },
      options.abortSignal,
    );
    if ("note" in run && run.note !== null) notes.set(options.toolCallId, run.note);
    return outputOf(run);
  };
  return {
    ...tool,
    execute: guarded,
    toModelOutput: async (told: Parameters<NonNullable<Tool["toModelOutput"]>>[0]) =>
      noteOutput(tool, told, notes.get(told.toolCallId)),
  } as Tool;
}

/** Returns the output. @throws Error with the words for the model if the call was not made, or the tool threw. */
function outputOf(run: RunCall): unknown {
  if (run.status === "made") return run.output;
  if (run.status !== "failed") throw new Error(run.words);
  throw new Error(run.note === null ? run.message : `${run.note}\n${run.message}`);
}

/** Reads changed arguments as the tool's schema does. @throws Error if they do not fit it. */
async function readChanged({ inputSchema }: Tool, args: unknown): Promise<unknown> {
  const result = await asSchema(inputSchema).validate?.(args);
  if (result?.success === false) throw new Error(`the changed arguments do not fit the tool: ${result.error.message}`);
  return result?.value ?? args;
}

/** Returns the last output of a tool that yields several. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const each of output as AsyncIterable<unknown>) last = each;
  return last;
}
