// A model call as an operator: one model that it is given, or of several the one whose endpoint the kernel's router names;
// deltas are streamed.
// Owns: what a model is asked, which ends are answers, what is reported as used.
// Never: chooses an endpoint, retries, offers tools to the model, imports a provider: models are values of the interface
// LanguageModelV4 of @ai-sdk/provider.
// INV-1  Of several models one is called after the decision for its endpoint is in the ledger.
// INV-2  Whatever a model does, an end without text is an error: a cut or empty stream is no answer.
// INV-3  Tokens and cost are reported as soon as the model has told them, also where its answer is then refused.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type KeysOf, readStrictly, requireKnownKeys } from "../../contract/known-keys.ts";
import {
  type ModelEndpoint,
  ModelPrice,
  type RoutePreference,
  type RouteQuestion,
} from "../../contract/model-route.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Operator, OperatorCall } from "../../contract/operator.ts";
import { defineOperator, type OperatorOptions, operatorError } from "../../define/define-operator.ts";
import { modelError } from "./model-error.ts";
import { type ModelAnswer, orAborted, readStream, readWhole } from "./read-answer.ts";

const maxPromptChars = 1_000_000;
const Words = z.string().min(1).max(maxPromptChars);

/** What one call asks: a prompt, or a conversation; at most a million characters. */
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
 * `effect` is `read` unless said otherwise: an answer is fetched and nothing changes outside. `resources.tokens` is what a
 * call sets aside of budgets in tokens, 0 unless given; what it used instead is counted at its end.
 */
export interface LlmOperatorOptions<N extends string = string> extends Shared<N> {
  /** The one model that is asked, without routes. In place of `models`. */
  readonly model?: LanguageModelV4;
  /** What a million tokens of `model` cost, read and written: calls then report their cost. */
  readonly price?: ModelPrice;
  /** By the name of the kernel's endpoint that stands for it, which has the price. In place of `model`. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  /** What an endpoint must be capable of to be asked. */
  readonly capabilities?: readonly string[];
  readonly prefer?: RoutePreference;
  /** Put before every prompt and conversation. */
  readonly system?: string;
  /** Where the input names none. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** A longer answer is an error; a million by default. */
  readonly maxAnswerChars?: number;
  /** False asks for the answer whole (`doGenerate`). */
  readonly streaming?: boolean;
}

/**
 * An operator of kind `llm` that asks a model. Its call reports `usage` with tokens, cost by the endpoint's price per
 * million, and the provider's response id; it ends with its signal. Errors: those of `route`, MODEL_RATE_LIMITED,
 * MODEL_UNAVAILABLE, MODEL_STREAM_CUT, MODEL_ANSWER_EMPTY and MODEL_ANSWER_INVALID (transient), MODEL_ACCESS_REFUSED,
 * MODEL_UNKNOWN, MODEL_UNSUPPORTED, MODEL_ANSWER_WITHHELD, MODEL_ANSWER_TOO_LONG and MODEL_FAILED (dependency),
 * MODEL_REQUEST_REFUSED (validation).
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when metadata or models are not valid.
 */
export function llmOperator<const N extends string>(options: LlmOperatorOptions<N>): Operator<LlmInput, LlmAnswer, N> {
  requireKnownKeys(options, known, { what: "llmOperator", source: llmRef });
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
const known = {
  name: 0,
  version: 0,
  description: 0,
  effect: 0,
  timeoutSec: 0,
  retry: 0,
  policyTags: 0,
  riskLevel: 0,
  estimatedCost: 0,
  resources: 0,
  limits: 0,
  model: 0,
  price: 0,
  models: 0,
  capabilities: 0,
  prefer: 0,
  system: 0,
  maxOutputTokens: 0,
  temperature: 0,
  maxAnswerChars: 0,
  streaming: 0,
} satisfies KeysOf<Required<LlmOperatorOptions>>;

/** Who is asked: the model, its name for people and budgets, and its price. */
interface Chosen extends Pick<ModelEndpoint, "name" | "price"> {
  readonly model: LanguageModelV4;
}
type Choose = (call: OperatorCall<LlmInput>) => Chosen | Promise<Chosen>;

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH where there is no model, or one beside others. */
function chooserOf({ model, price, ...options }: LlmOperatorOptions): Choose {
  if (model === undefined && price !== undefined) refuseOptions("the price of a routed model stands with its endpoint");
  if (model === undefined) return chooseRouted(checkModels(options.models), options);
  if (options.models !== undefined || options.prefer !== undefined || options.capabilities !== undefined)
    refuseOptions("`model` is asked without routes: `models`, `capabilities` and `prefer` choose among several");
  const { model: only } = checkModels({ model });
  const chosen = { model: only as LanguageModelV4, name: model.modelId, price: checkPrice(price) };
  return () => chosen;
}

const checkPrice = (price: ModelPrice | undefined): ModelPrice | undefined =>
  price && readStrictly(ModelPrice, price, { what: "llmOperator: price", source: llmRef });

const refuseOptions = (problem: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", problem, llmRef));

type Models = Readonly<Record<string, LanguageModelV4>>;

function checkModels(models: Models | undefined): Models {
  const entries = Object.entries(models ?? {});
  const wrong = entries.find(([, model]) => model?.specificationVersion !== "v4");
  if (entries.length === 0) refuseOptions("there is no model");
  if (wrong !== undefined) refuseOptions(`the model of ${wrong[0]} is no LanguageModelV4`);
  return Object.freeze(Object.fromEntries(entries));
}

const chooseRouted =
  (models: Models, options: LlmOperatorOptions): Choose =>
  async (call) => {
    const { endpoint } = await call.route(describeNeed(call.input, { ...options, models }));
    return { ...endpoint, model: models[endpoint.name] as LanguageModelV4 };
  };

async function answerCall(
  call: OperatorCall<LlmInput>,
  choose: Choose,
  options: LlmOperatorOptions,
): Promise<z.input<typeof LlmOutput>> {
  const chosen = await choose(call);
  call.usage({ model: chosen.name });
  const answer = await askModel(call, chosen, options);
  const data = requireAnswer(answer, chosen.name);
  return { data, output_text: data.text, status: "COMPLETED" };
}

function describeNeed(
  input: LlmInput,
  { models, capabilities = [], prefer, system = "", ...rest }: LlmOperatorOptions & { readonly models: Models },
) {
  const expected = Math.ceil((system.length + charsOf(input)) / charsPerToken);
  return {
    capabilities: [...capabilities],
    expected_tokens: expected + (input.max_output_tokens ?? rest.maxOutputTokens ?? 0),
    among: Object.keys(models),
    ...(prefer === undefined ? {} : { prefer }),
  } satisfies RouteQuestion;
}

/** A rough measure, for budgets only: what was used is counted by the model. */
const charsPerToken = 4;

const charsOf = ({ prompt = "", messages = [] }: Said): number =>
  messages.reduce((sum, { content }) => sum + content.length, prompt.length);

interface Said {
  readonly prompt?: string;
  readonly messages?: readonly { readonly content: string }[];
}

/** @throws OperatorError, or the reason of the call's signal. */
async function askModel(
  call: OperatorCall<LlmInput>,
  chosen: Chosen,
  options: LlmOperatorOptions,
): Promise<ModelAnswer> {
  const { signal } = call;
  signal.throwIfAborted();
  const { model, name } = chosen;
  const asked = describeCall(call, options);
  const { provider } = model;
  const onTold = (answer: ModelAnswer): void => reportUsage(call, chosen, { ...answer, provider });
  const reading = { signal, maxChars: options.maxAnswerChars ?? 1_000_000, onText: call.stream, onTold };
  try {
    if (options.streaming === false) return readWhole(await orAborted(model.doGenerate(asked), signal), reading);
    return await readStream((await orAborted(model.doStream(asked), signal)).stream, reading);
  } catch (thrown) {
    // What was told to stop failed because of that.
    signal.throwIfAborted();
    throw modelError(thrown, name);
  }
}

function describeCall(
  { input, signal }: OperatorCall<LlmInput>,
  { system, maxOutputTokens, temperature }: LlmOperatorOptions,
): LanguageModelV4CallOptions {
  return {
    prompt: promptOf(input, system),
    maxOutputTokens: input.max_output_tokens ?? maxOutputTokens,
    temperature: input.temperature ?? temperature,
    abortSignal: signal,
  };
}

function promptOf({ prompt, messages }: LlmInput, system: string | undefined): LanguageModelV4Prompt {
  const said = messages ?? [{ role: "user" as const, content: prompt ?? "" }];
  const all = system === undefined ? said : [{ role: "system" as const, content: system }, ...said];
  return all.map(({ role, content }) =>
    role === "system" ? { role, content } : { role, content: [{ type: "text", text: content }] },
  );
}

function reportUsage(
  call: OperatorCall<LlmInput>,
  { name, price }: Chosen,
  { usage, response_id, provider }: ModelAnswer & { readonly provider: string },
): void {
  const read = countOf(usage?.inputTokens.total);
  const written = countOf(usage?.outputTokens.total);
  call.usage({
    model: name,
    ...(usage === null ? {} : { tokens: { in: read, out: written, total: read + written } }),
    ...(usage === null || price === undefined
      ? {}
      : { cost: { total: (read * price.in + written * price.out) / 1_000_000 } }),
    ...(response_id === null ? {} : { trace: { trace_id: response_id, trace_type: provider } }),
  });
}

/** What a provider does not tell counts as none. */
const countOf = (tokens: number | undefined): number =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;

/** @throws OperatorError where there is no answer. */
function requireAnswer({ text, finish }: ModelAnswer, model: string): LlmAnswer {
  if (finish === null) return refuse("MODEL_STREAM_CUT", `${model}: the stream ended before the answer did`);
  const finish_reason = finish.unified;
  if (finish_reason === "error" || finish_reason === "interrupted")
    return refuse("MODEL_STREAM_CUT", `${model}: the answer ended with ${finish.raw ?? finish_reason}`);
  if (text.trim() !== "") return { text, finish_reason, model };
  if (finish_reason === "content-filter") return refuse("MODEL_ANSWER_WITHHELD", `${model}: the provider withheld it`);
  return refuse("MODEL_ANSWER_EMPTY", `${model}: the answer has no text (${finish_reason})`);
}

function refuse(code: string, message: string): never {
  const category = code === "MODEL_ANSWER_WITHHELD" ? "dependency" : "transient";
  throw operatorError({ code, category, message });
}
