// A model call as an operator: one model that it is given, or of several the one whose endpoint the kernel's router
// names; deltas are streamed.
// Owns: the operator's input and answer. Never: chooses an endpoint, retries, offers tools to the model (ask-model.ts
// asks it).

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import { readStrictly, type ShapeOf } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Operator, OperatorCall } from "../../../contract/operator.ts";
import { defineOperator, type OperatorOptions, operatorShape } from "../../../define/define-operator.ts";
import { AskOptions, askModel, type Choose, chooserOf, ModelChoice, requireEnd } from "./ask-model.ts";

const maxPromptChars = 1_000_000;
const Words = z.string().min(1).max(maxPromptChars);

/** The input of one call: a prompt, or a conversation; at most a million characters. */
export const LlmInput = z
  .strictObject({
    prompt: Words.optional(),
    messages: z
      .array(z.strictObject({ role: z.enum(["system", "user", "assistant"]), content: Words }))
      .min(1)
      .max(1000)
      .optional(),
    max_output_tokens: z.int().positive().max(10_000_000).optional(),
    temperature: z.number().min(0).max(2).optional(),
  })
  .refine(({ prompt, messages }) => (prompt === undefined) !== (messages === undefined), "give prompt or messages")
  .refine((input) => charsOf(input) <= maxPromptChars, `at most ${maxPromptChars} characters in all`);
export type LlmInput = z.infer<typeof LlmInput>;

/** The data of the step: `model` is the endpoint's name. */
export const LlmAnswer = z.strictObject({
  text: z.string().min(1),
  finish_reason: z.enum(["stop", "length", "content-filter", "tool-calls", "other"]),
  model: z.string(),
});
export type LlmAnswer = z.infer<typeof LlmAnswer>;

/** A StepResult: the data above, and the text for people. */
const LlmOutput = z.strictObject({ data: LlmAnswer, output_text: z.string(), status: z.literal("COMPLETED") });

type Shared<N extends string> = Pick<
  OperatorOptions<typeof LlmInput, typeof LlmOutput, N>,
  | "name"
  | "version"
  | "description"
  | "effect"
  | "timeoutSec"
  | "retry"
  | "policyTags"
  | "riskLevel"
  | "estimatedCost"
  | "resources"
  | "limits"
>;

/**
 * `effect` is `read` unless said otherwise: an answer is fetched and nothing changes outside. `resources.tokens` is
 * what a call sets aside of budgets in tokens, 0 unless given; what it used instead is counted at its end.
 */
export interface LlmOperatorOptions<N extends string = string> extends Shared<N>, ModelChoice, AskOptions {
  /** Put before every prompt and conversation. */
  readonly system?: string;
}

/**
 * Creates an operator of kind `llm` that asks a model. Its call reports `usage` with tokens, cost by the endpoint's
 * price per million, and the provider's response id; it ends with its signal. Errors: those of `route`,
 * MODEL_RATE_LIMITED, MODEL_UNAVAILABLE, MODEL_STREAM_CUT, MODEL_ANSWER_EMPTY and MODEL_ANSWER_INVALID (transient),
 * MODEL_ACCESS_REFUSED, MODEL_UNKNOWN, MODEL_UNSUPPORTED, MODEL_ANSWER_WITHHELD, MODEL_ANSWER_TOO_LONG and MODEL_FAILED
 * (dependency), MODEL_REQUEST_REFUSED (validation).
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when metadata or models are not valid.
 */
export function llmOperator<const N extends string>(options: LlmOperatorOptions<N>): Operator<LlmInput, LlmAnswer, N> {
  readStrictly(Options, options, { what: "llmOperator", source: llmRef });
  const { name, version, description, effect = "read", timeoutSec = 120 } = options;
  const { retry, policyTags, riskLevel, estimatedCost, resources, limits } = options;
  const choose = chooserOf(options);
  return defineOperator({
    name,
    version,
    description,
    effect,
    timeoutSec,
    retry,
    policyTags,
    riskLevel,
    estimatedCost,
    resources,
    limits,
    kind: "llm",
    honoursAbort: true,
    outputs: ["text"],
    input: LlmInput,
    output: LlmOutput,
    run: (call) => answerCall(call, choose, options),
  });
}

const llmRef = moduleRef(0, "validation", "llmOperator");
const { name, version, description, effect, timeoutSec, retry, policyTags, riskLevel, estimatedCost } = operatorShape;
const Options = z.strictObject({
  ...{ name, version, description, effect, timeoutSec, retry, policyTags, riskLevel, estimatedCost },
  ...{ resources: operatorShape.resources, limits: operatorShape.limits },
  ...ModelChoice.shape,
  ...AskOptions.shape,
  system: z.string().optional(),
} satisfies ShapeOf<LlmOperatorOptions>);

async function answerCall(
  call: OperatorCall<LlmInput>,
  choose: Choose,
  options: LlmOperatorOptions,
): Promise<z.input<typeof LlmOutput>> {
  const { input } = call;
  const prompt = promptOf(input, options.system);
  const maxOutputTokens = input.max_output_tokens ?? options.maxOutputTokens;
  const temperature = input.temperature ?? options.temperature;
  const chosen = await choose(call, { prompt, maxOutputTokens });
  const { maxAnswerChars, streaming } = options;
  const answer = await askModel(call, chosen, { prompt, maxOutputTokens, temperature, maxAnswerChars, streaming });
  const finish_reason = requireEnd(answer, chosen.name);
  const data = { text: answer.text, finish_reason, model: chosen.name };
  return { data, output_text: data.text, status: "COMPLETED" };
}

const charsOf = ({ prompt = "", messages = [] }: Prompted): number =>
  messages.reduce((sum, { content }) => sum + content.length, prompt.length);

interface Prompted {
  readonly prompt?: string;
  readonly messages?: readonly { readonly content: string }[];
}

function promptOf({ prompt, messages }: LlmInput, system: string | undefined): LanguageModelV4Prompt {
  const turns = messages ?? [{ role: "user" as const, content: prompt ?? "" }];
  const all = system === undefined ? turns : [{ role: "system" as const, content: system }, ...turns];
  return all.map(({ role, content }) =>
    role === "system" ? { role, content } : { role, content: [{ type: "text", text: content }] },
  );
}
