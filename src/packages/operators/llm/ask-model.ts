/**
 * One call of a model: the model that is asked, the call itself, and its usage.
 *
 * Owns: the choice (one model, or of several the one whose endpoint the kernel's router names), which ends are ends,
 * the usage that is reported, and the estimate before the call. Never: retries; imports a provider: models are values
 * of LanguageModelV4 of @ai-sdk/provider.
 * 1.  Of several models one is called after the decision for its endpoint is in the ledger.
 * 2.  An end without an answer is an error: a cut or empty stream is no answer.
 * 3.  Tokens and cost are reported as soon as the model has stated them, also if its answer is then refused.
 */

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { type ModelEndpoint, ModelPrice, RoutePreference } from "../../../contract/model-route.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { priceOf } from "../../../contract/money.ts";
import type { CallEstimate, OperatorCall } from "../../../contract/operator.ts";
import { operatorError } from "../../../define/define-operator.ts";
import { modelError } from "./model-error.ts";
import { type ModelAnswer, orAborted, readStream, readWhole } from "./read-answer.ts";

/** The schema of a model. */
export const Model = z.custom<LanguageModelV4>(
  (given) => (given as LanguageModelV4 | null)?.specificationVersion === "v4",
  "is no LanguageModelV4",
);

export const ModelChoice = z.strictObject({
  /** The one model that is asked, without routes. In place of `models`. */
  model: Model.optional(),
  /** The price of a million tokens of `model`, read and written: calls then report their cost. */
  price: ModelPrice.optional(),
  /** The models by the names of their endpoints in the kernel, which have the price. It replaces `model`. */
  models: z.record(z.string(), Model).readonly().optional(),
  /** The capabilities that an endpoint must have. */
  capabilities: z.array(z.string()).readonly().optional(),
  /** The preference of the kernel's router for these calls. */
  prefer: RoutePreference.optional(),
});
/** The model that is asked: one, or one of several by the kernel's routes. */
export interface ModelChoice extends Readonly<z.input<typeof ModelChoice>> {}

export const AskOptions = z.strictObject({
  /** The most tokens that the model may write; its own limit by default. */
  maxOutputTokens: z.number().optional(),
  /** The temperature that is passed to the model; its own by default. */
  temperature: z.number().optional(),
  /** An answer of more characters, in its text and its calls of tools together, is an error; a million by default. */
  maxAnswerChars: z.int().positive().optional(),
  /** False asks for the answer whole (`doGenerate`). */
  streaming: z.boolean().optional(),
});
/** The settings of a model call, and the most that is taken of an answer. */
export interface AskOptions extends Readonly<z.input<typeof AskOptions>> {}

/** The chosen model, its name for people and budgets, and its price. */
export interface Chosen extends Pick<ModelEndpoint, "name" | "price"> {
  readonly model: LanguageModelV4;
}
export type Choose = (call: OperatorCall, need: Need) => Chosen | Promise<Chosen>;

/** The question that is going to be asked. */
export interface Need {
  readonly prompt: LanguageModelV4Prompt;
  readonly maxOutputTokens?: number | undefined;
}

type Models = NonNullable<ModelChoice["models"]>;

const askRef = moduleRef(0, "validation", "model");
const refuseOptions = (problem: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", problem, askRef));

/**
 * Returns the choice. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if there is no model, or one beside
 * others.
 */
export function chooserOf({ model, price, models, capabilities, prefer }: ModelChoice): Choose {
  if (model === undefined) {
    if (price !== undefined) refuseOptions("the price of a routed model stands with its endpoint");
    if (models === undefined || Object.keys(models).length === 0) return refuseOptions("there is no model");
    return chooseRouted(Object.freeze({ ...models }), { capabilities, prefer });
  }
  if (models !== undefined || prefer !== undefined || capabilities !== undefined)
    refuseOptions("`model` is asked without routes: `models`, `capabilities` and `prefer` choose among several");
  const chosen: Chosen = { model, name: model.modelId, price };
  return () => chosen;
}

/** A rough measure, for budgets only: what was used is counted by the model. */
const charsPerToken = 4;

function chooseRouted(
  models: Models,
  { capabilities = [], prefer }: Pick<ModelChoice, "capabilities" | "prefer">,
): Choose {
  return async (call, { prompt, maxOutputTokens = 0 }) => {
    const { endpoint } = await call.route({
      capabilities: [...capabilities],
      expected_tokens: Math.ceil(charsOf(prompt) / charsPerToken) + maxOutputTokens,
      among: Object.keys(models),
      ...(prefer === undefined ? {} : { prefer }),
    });
    return { ...endpoint, model: models[endpoint.name] as LanguageModelV4 };
  };
}

interface Stated extends Pick<ModelChoice, "price"> {
  readonly estimatedCost?: number | undefined;
  readonly resources?: { readonly tokens?: number | undefined } | undefined;
}

/**
 * Returns the estimate of a call that reads so many characters and may write so many tokens, without the amounts that
 * the author of its operator states; none if the tokens that it may write are not limited.
 */
export function estimateCall(
  chars: number,
  maxOutputTokens: number | undefined,
  { price, estimatedCost, resources }: Stated,
): CallEstimate {
  if (maxOutputTokens === undefined) return {};
  const read = Math.ceil(chars / charsPerToken);
  return {
    ...(resources?.tokens === undefined && { tokens: read + maxOutputTokens }),
    ...(estimatedCost === undefined &&
      price !== undefined && { money: priceOf([read, price.in], [maxOutputTokens, price.out]) }),
  };
}

export const charsOf = (prompt: LanguageModelV4Prompt): number =>
  prompt
    .flatMap((message): readonly unknown[] => (message.role === "system" ? [message.content] : message.content))
    .reduce<number>((sum, part) => sum + charsOfPart(part), 0);

function charsOfPart(part: unknown): number {
  if (typeof part === "string") return part.length;
  const { text } = part as { readonly text?: unknown };
  return typeof text === "string" ? text.length : JSON.stringify(part).length;
}

export interface ModelRequest
  extends AskOptions,
    Pick<LanguageModelV4CallOptions, "prompt" | "tools" | "toolChoice" | "responseFormat"> {}

/** Asks a model. @throws OperatorError, or the reason of the call's signal. */
export async function askModel(call: OperatorCall, chosen: Chosen, asked: ModelRequest): Promise<ModelAnswer> {
  const { signal } = call;
  signal.throwIfAborted();
  const { model, name } = chosen;
  const { streaming = true, maxAnswerChars = 1_000_000, ...rest } = asked;
  const options = { ...rest, abortSignal: signal };
  const onAnswer = (answer: ModelAnswer): void => reportUsage(call, chosen, answer);
  const reading = { signal, maxChars: maxAnswerChars, onText: call.stream, onAnswer };
  call.usage({ model: name });
  try {
    if (!streaming) return readWhole(await orAborted(model.doGenerate(options), signal), reading);
    return await readStream((await orAborted(model.doStream(options), signal)).stream, reading);
  } catch (thrown) {
    // What was told to stop failed because of that.
    signal.throwIfAborted();
    throw modelError(thrown, name);
  }
}

function reportUsage(call: OperatorCall, { name, price, model }: Chosen, { usage, response_id }: ModelAnswer): void {
  const read = countOf(usage?.inputTokens.total);
  const written = countOf(usage?.outputTokens.total);
  call.usage({
    model: name,
    ...(usage === null ? {} : { tokens: { in: read, out: written, total: read + written } }),
    ...(usage === null || price === undefined
      ? {}
      : { cost: { total: priceOf([read, price.in], [written, price.out]) } }),
    ...(response_id === null ? {} : { trace: { trace_id: response_id, trace_type: model.provider } }),
  });
}

/** Returns a count of tokens; an unreported one is zero. */
const countOf = (tokens: number | undefined): number =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;

export type EndReason = "stop" | "length" | "content-filter" | "tool-calls" | "other";

/**
 * Returns how the answer ended; `isEnough` says that there is one without text. @throws OperatorError where there is
 * none.
 */
export function requireEnd({ text, finish }: ModelAnswer, model: string, isEnough = false): EndReason {
  if (finish === null) return refuse("MODEL_STREAM_CUT", `${model}: the stream ended before the answer did`);
  const reason = finish.unified;
  if (reason === "error" || reason === "interrupted")
    return refuse("MODEL_STREAM_CUT", `${model}: the answer ended with ${reason}`, {
      provider_message: finish.raw ?? reason,
    });
  if (isEnough || text.trim() !== "") return reason;
  if (reason === "content-filter") return refuse("MODEL_ANSWER_WITHHELD", `${model}: the provider withheld it`);
  return refuse("MODEL_ANSWER_EMPTY", `${model}: the answer has no text (${reason})`);
}

function refuse(code: string, message: string, details: JsonObject = {}): never {
  const category = code === "MODEL_ANSWER_WITHHELD" ? "dependency" : "transient";
  throw operatorError({ code, category, message, details });
}
