/**
 * One turn of an agent's model: its text, and the calls of tools that it wants.
 *
 * Owns: the question to the model and the description of the tools. Never: calls a tool.
 * 1.  An end with neither text nor a call is an error; the last turn is offered no tools, and is an answer.
 */

import { z } from "zod";
import type { Operator, OperatorCall } from "../../../contract/operator.ts";
import { defineOperator, type OperatorOptions } from "../../../define/define-operator.ts";
import { AgentCall, AgentMessage, type CallReading, describeTools, promptOf, readCalls } from "./agent-messages.ts";
import {
  type AskOptions,
  askModel,
  type Chosen,
  charsOf,
  chooserOf,
  estimateCall,
  type ModelChoice,
  requireEnd,
} from "./ask-model.ts";
import type { ModelAnswer } from "./read-answer.ts";

const ThinkInput = z.strictObject({
  messages: z.array(AgentMessage).min(1).max(1000),
  /** Whether it must answer now. */
  last: z.boolean(),
});
type ThinkInput = z.infer<typeof ThinkInput>;

/** The data of a turn; without calls its text is the answer. */
export const Thought = z.strictObject({
  text: z.string(),
  calls: z.array(AgentCall),
  finish_reason: z.string(),
  model: z.string(),
});
export type Thought = z.infer<typeof Thought>;

const ThinkOutput = z.strictObject({ data: Thought, output_text: z.string(), status: z.literal("COMPLETED") });

type Shared = Pick<
  OperatorOptions<typeof ThinkInput, typeof ThinkOutput>,
  "name" | "version" | "timeoutSec" | "retry" | "estimatedCost" | "resources"
>;

/** The options of a turn of an agent. */
export interface ThinkOptions extends Shared, ModelChoice, AskOptions {
  /** Operators that the model may have called. */
  readonly tools: readonly Operator[];
  /** Put before every conversation. */
  readonly system?: string;
}

/** Calls of one answer that are made: a plan has ten steps at most, with the usual limits. */
const maxCalls = 10;

/**
 * Creates the operator of a turn. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when metadata, models or
 * tools are not valid.
 */
export function thinkOperator(options: ThinkOptions): Operator {
  const { name, version, timeoutSec = 120, retry, estimatedCost, resources, tools } = options;
  const [choose, described] = [chooserOf(options), describeTools(tools)];
  return defineOperator({
    name,
    version,
    description: "One turn of an agent's model.",
    effect: "read",
    timeoutSec,
    retry,
    estimatedCost,
    resources,
    kind: "llm",
    honoursAbort: true,
    outputs: ["text", "calls"],
    input: ThinkInput,
    output: ThinkOutput,
    run: async (call: OperatorCall<ThinkInput>) => {
      const { messages, last } = call.input;
      const prompt = promptOf(messages, options.system);
      const chosen = await choose(call, { prompt, maxOutputTokens: options.maxOutputTokens });
      const { maxOutputTokens, temperature, maxAnswerChars, streaming } = options;
      const asked = { prompt, maxOutputTokens, temperature, maxAnswerChars, streaming };
      const answer = await askModel(call, chosen, last ? asked : { ...asked, tools: [...described] });
      const taken = messages.flatMap((one) =>
        one.role === "assistant" ? one.calls.map(({ call_id }) => call_id) : [],
      );
      const data = readThought(answer, chosen, last ? null : { tools, taken, most: maxCalls });
      return { data, output_text: data.text, status: "COMPLETED" as const };
    },
    estimate: ({ messages }) =>
      estimateCall(charsOf(promptOf(messages, options.system)), options.maxOutputTokens, options),
  });
}

/** Reads an answer. @throws OperatorError if there is neither an answer nor a call. */
function readThought(answer: ModelAnswer, { name: model }: Chosen, reading: CallReading | null): Thought {
  const calls = reading === null ? [] : readCalls(answer.calls, reading);
  const finish_reason = requireEnd(answer, model, calls.length > 0);
  return { text: answer.text, calls, finish_reason, model };
}
