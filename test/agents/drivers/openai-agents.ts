/** The driver of the OpenAI Agents SDK: its runner over a guarded agent, and the state of its run as a text. */
import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  RunState,
  tool,
  Usage,
} from "@openai/agents";
import { z } from "zod";
import { guardTools, resume } from "../../../src/faces/agents/openai-agents/index.ts";
import { type Call, type Conversation, type Driver, lastWords, type Ran, request } from "./driver.ts";

/** Arguments that the model writes as a text that is no JSON. */
const noArguments = {};

/** A model that makes these calls, one list an answer, and then says a text; it keeps what it was given. */
export function scripted(answers: readonly (readonly Call[])[]) {
  const prompts: string[] = [];
  const getResponse = async ({ input }: ModelRequest): Promise<ModelResponse> => {
    const asked = (answers[prompts.push(JSON.stringify(input)) - 1] ?? []).map(([callId, name, args]) => ({
      ...({ type: "function_call", callId, name, status: "completed" } as const),
      arguments: args === noArguments ? "{" : JSON.stringify(args),
    }));
    const content = [{ type: "output_text" as const, text: lastWords }];
    const done = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
    return { usage: new Usage(), output: asked.length > 0 ? asked : [done] };
  };
  const getStreamedResponse = () => {
    throw new Error("this model does not stream");
  };
  return { prompts, model: { getResponse, getStreamedResponse } satisfies Model };
}

export const openaiAgents: Driver = {
  name: "the OpenAI Agents SDK",
  tool: "refund",
  // The SDK answers it by itself, after it has interrupted the run.
  oddCall: { call: ["call-1", "refund", noArguments], words: "An error occurred while parsing tool arguments" },
  isRunByKernel: true,
  async run({ support, refund, calls, stored, isClaimed = false, thread = "chat-1" }: Conversation): Promise<Ran> {
    const { prompts, model } = scripted(calls);
    const own = tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ order: z.string(), cents: z.number() }),
      execute: async (args) => refund(args),
      errorFunction: null,
    });
    const guarding = support.thread(thread);
    const agent = guardTools(new Agent({ name: "support", instructions: "Help.", model, tools: [own] }), guarding);
    const runner = new Runner({ tracingDisabled: true });
    const state = stored === undefined ? undefined : await RunState.fromString(agent, stored);
    if (state !== undefined && isClaimed) for (const item of state.getInterruptions()) state.approve(item);
    else if (state !== undefined) {
      const { waiting } = await resume(state, guarding);
      if (waiting.length > 0) return { waiting: JSON.stringify(waiting), stored: state.toString(), prompts, text: "" };
    }
    let result = await runner.run(agent, state ?? request);
    const kept = result.state.toString();
    const isInterrupted = result.interruptions.length > 0;
    const { waiting } = await resume(result.state, guarding);
    if (waiting.length > 0) return { waiting: JSON.stringify(waiting), stored: kept, prompts, text: "" };
    // The SDK interrupts the run for arguments that it cannot read, which nobody decides about.
    if (isInterrupted) result = await runner.run(agent, result.state);
    return { waiting: null, stored: kept, prompts, text: String(result.finalOutput) };
  },
};
