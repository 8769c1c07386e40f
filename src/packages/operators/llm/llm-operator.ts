/**
 * A model call as an operator: of one given model, or of several the one whose endpoint the kernel's router names. The
 * answer is text, whose deltas are streamed, or JSON of a given schema.
 *
 * Owns: the operator's input and answer. Never: chooses an endpoint, retries, or offers tools to the model
 * (ask-model.ts asks it).
 */

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import { hostSchema } from "../../../contract/host-schema.ts";
import { readStrictly, type ShapeOf } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Operator, OperatorCall } from "../../../contract/operator.ts";
import type { SchemaOutput, StandardSchema } from "../../../contract/standard-schema.ts";
import { toZod } from "../../../contract/to-zod.ts";
import { defineOperator, type OperatorOptions, operatorShape } from "../../../define/define-operator.ts";
import {
  AskOptions,
  askModel,
  type Choose,
  charsOf,
  chooserOf,
  estimateCall,
  ModelChoice,
  requireEnd,
} from "./ask-model.ts";
import { formatOf, readStructured } from "./structured-answer.ts";

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
  .refine((input) => charsOfInput(input) <= maxPromptChars, `at most ${maxPromptChars} characters in all`);
export type LlmInput = z.infer<typeof LlmInput>;

/** The data of the step: `model` is the endpoint's name. */
export const LlmAnswer = z.strictObject({
  text: z.string().min(1),
  finish_reason: z.enum(["stop", "length", "content-filter", "tool-calls", "other"]),
  model: z.string(),
});
export type LlmAnswer = z.infer<typeof LlmAnswer>;

/** The data of the step where an `output` schema is given: `value` is the answer as the schema reads it. */
export interface StructuredAnswer<T> extends Omit<LlmAnswer, "text"> {
  readonly value: T;
}

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

/** The options of a model call whose answer is JSON. */
export interface StructuredOptions<N extends string = string, S extends StandardSchema = StandardSchema>
  extends LlmOperatorOptions<N> {
  /**
   * The schema of the answer, which the model is asked to keep and by which its text is read. It gives JSON, and leaves
   * its own result unchanged. The answer is asked for whole, unless `streaming` is true.
   */
  readonly output: S;
}

/**
 * Creates an operator of kind `llm` that asks a model. Its call reports `usage` with tokens, cost by the endpoint's
 * price per million, and the provider's response id; it ends with its signal. Errors: those of `route`,
 * MODEL_RATE_LIMITED, MODEL_UNAVAILABLE, MODEL_STREAM_CUT, MODEL_ANSWER_EMPTY and MODEL_ANSWER_INVALID (transient),
 * MODEL_ACCESS_REFUSED, MODEL_UNKNOWN, MODEL_UNSUPPORTED, MODEL_ANSWER_WITHHELD, MODEL_ANSWER_TOO_LONG and MODEL_FAILED
 * (dependency), MODEL_REQUEST_REFUSED (validation). With `output` the data of its step is a StructuredAnswer. A call
 * whose `maxOutputTokens` is known sets aside of budgets the tokens and the money that it may use at most, except for
 * those that `resources.tokens` and `estimatedCost` state.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when metadata or models are not valid.
 */
export function llmOperator<const N extends string, S extends StandardSchema>(
  options: StructuredOptions<N, S>,
): Operator<LlmInput, StructuredAnswer<SchemaOutput<S>>, N>;
export function llmOperator<const N extends string>(options: LlmOperatorOptions<N>): Operator<LlmInput, LlmAnswer, N>;
export function llmOperator(options: LlmOperatorOptions & Partial<StructuredOptions>): Operator<LlmInput, unknown> {
  readStrictly(Options, options, { what: "llmOperator", source: llmRef });
  const { name, version, description, effect = "read", timeoutSec = 120 } = options;
  const { retry, policyTags, riskLevel, estimatedCost, resources, limits } = options;
  const choose = chooserOf(options);
  const answer = options.output === undefined ? undefined : toZod(options.output);
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
    output: outputOf(answer),
    run: (call) => answerCall(call, choose, { ...options, output: answer }),
    estimate: (input) =>
      estimateCall(
        charsOf(promptOf(input, options.system)),
        input.max_output_tokens ?? options.maxOutputTokens,
        options,
      ),
  });
}

/** Returns the schema of the result: with the text of the answer, or with the value that a schema reads of it. */
const outputOf = (value: z.ZodType | undefined): z.ZodType =>
  value === undefined ? LlmOutput : LlmOutput.extend({ data: LlmAnswer.omit({ text: true }).extend({ value }) });

const llmRef = moduleRef(0, "validation", "llmOperator");
const { name, version, description, effect, timeoutSec, retry, policyTags, riskLevel, estimatedCost } = operatorShape;
const Options = z.strictObject({
  ...{ name, version, description, effect, timeoutSec, retry, policyTags, riskLevel, estimatedCost },
  ...{ resources: operatorShape.resources, limits: operatorShape.limits },
  ...ModelChoice.shape,
  ...AskOptions.shape,
  system: z.string().optional(),
  output: hostSchema.optional(),
} satisfies ShapeOf<LlmOperatorOptions & Partial<StructuredOptions>>);

async function answerCall(
  call: OperatorCall<LlmInput>,
  choose: Choose,
  options: LlmOperatorOptions & { readonly output: z.ZodType | undefined },
): Promise<object> {
  const { input } = call;
  const prompt = promptOf(input, options.system);
  const maxOutputTokens = input.max_output_tokens ?? options.maxOutputTokens;
  const temperature = input.temperature ?? options.temperature;
  const chosen = await choose(call, { prompt, maxOutputTokens });
  const { maxAnswerChars, output, streaming = output === undefined ? undefined : false } = options;
  const asked = { prompt, maxOutputTokens, temperature, maxAnswerChars, streaming };
  const format = output === undefined ? {} : { responseFormat: formatOf(output) };
  const { text, ...answer } = await askModel(call, chosen, { ...asked, ...format });
  const finish_reason = requireEnd({ text, ...answer }, chosen.name);
  const shared = { finish_reason, model: chosen.name };
  const data =
    output === undefined ? { text, ...shared } : { value: readStructured(output, text, chosen.name), ...shared };
  return { data, output_text: text, status: "COMPLETED" };
}

const charsOfInput = ({ prompt = "", messages = [] }: Prompted): number =>
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
