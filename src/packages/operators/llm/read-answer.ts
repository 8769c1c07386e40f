/**
 * A model's answer, streamed or whole, as one record.
 *
 * Owns: the kept parts of an answer, and its bound. Never: judges whether it is an answer; holds a stream after its
 * end.
 * 1.  Reading ends with the signal, whether the model heeds it or not, and the stream is released.
 */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { operatorError } from "../../../define/define-operator.ts";

/** A call of a tool as a model writes it: `name` as it was offered, `input` as JSON. */
export interface WantedCall {
  readonly call_id: string;
  readonly name: string;
  readonly input: string;
}

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly WantedCall[];
  /** Characters of the text and of all calls. */
  readonly chars: number;
  /** Null when the stream ended before the model had. */
  readonly finish: LanguageModelV4FinishReason | null;
  readonly usage: LanguageModelV4Usage | null;
  readonly response_id: string | null;
}

const nothing: ModelAnswer = { text: "", calls: [], chars: 0, finish: null, usage: null, response_id: null };

export interface Reading {
  readonly signal: AbortSignal;
  /** The limit on the characters of the text and of all calls together. */
  readonly maxChars: number;
  readonly onText: (delta: string) => void;
  /** The model has told its id, or what it used. */
  readonly onAnswer: (answer: ModelAnswer) => void;
}

/** Reads the parts to their end. Throws what an error part carries, or what the stream threw. */
export async function readStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reading: Reading,
): Promise<ModelAnswer> {
  const reader = stream.getReader();
  let answer = nothing;
  try {
    for (;;) {
      const { done, value } = await orAborted(reader.read(), reading.signal);
      if (done) return answer;
      answer = takePart(answer, value, reading);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function takePart(answer: ModelAnswer, part: LanguageModelV4StreamPart, reading: Reading): ModelAnswer {
  switch (part.type) {
    case "text-delta":
      return addText(answer, part.delta, reading);
    case "tool-call":
      return addCall(answer, part, reading);
    case "response-metadata":
      return reported({ ...answer, response_id: part.id ?? answer.response_id }, reading);
    case "finish":
      return reported({ ...answer, finish: part.finishReason, usage: part.usage }, reading);
    case "error":
      throw part.error;
    default:
      return answer;
  }
}

function reported(answer: ModelAnswer, { onAnswer }: Reading): ModelAnswer {
  onAnswer(answer);
  return answer;
}

export function readWhole(result: LanguageModelV4GenerateResult, reading: Reading): ModelAnswer {
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const { finishReason: finish, usage, response } = result;
  let answer = reported({ ...nothing, finish, usage, response_id: response?.id ?? null }, reading);
  for (const part of result.content) if (part.type === "tool-call") answer = addCall(answer, part, reading);
  return addText(answer, text, reading);
}

/** Calls that one answer may want: a model that wants more is not read on. */
const maxWanted = 1_000;

/** Adds a call of one of our tools; what a provider executes by itself is none, and is refused. */
function addCall(answer: ModelAnswer, part: LanguageModelV4ToolCall, reading: Reading): ModelAnswer {
  if (part.providerExecuted === true)
    throw operatorError({ code: "MODEL_UNSUPPORTED", category: "dependency", message: "a tool of the provider's own" });
  if (answer.calls.length >= maxWanted) refuseLong(`it wants more than ${maxWanted} calls`, maxWanted);
  const { toolCallId, toolName, input } = part;
  const chars = addChars(answer, toolCallId.length + toolName.length + input.length, reading);
  const wanted = { call_id: toolCallId.toWellFormed(), name: toolName.toWellFormed(), input };
  return { ...answer, chars, calls: [...answer.calls, wanted] };
}

function addText(answer: ModelAnswer, delta: string, reading: Reading): ModelAnswer {
  if (delta === "") return answer;
  const chars = addChars(answer, delta.length, reading);
  reading.onText(delta);
  return { ...answer, chars, text: answer.text + delta };
}

/** Adds to the count. @throws OperatorError MODEL_ANSWER_TOO_LONG. */
function addChars({ chars }: ModelAnswer, more: number, { maxChars }: Reading): number {
  if (chars + more > maxChars) refuseLong(`it has more than ${maxChars} characters`, maxChars);
  return chars + more;
}

function refuseLong(why: string, limit: number): never {
  throw operatorError({
    code: "MODEL_ANSWER_TOO_LONG",
    category: "dependency",
    message: `the answer is too long: ${why}`,
    details: { limit },
  });
}

/**
 * Returns the work's result, or rejects with the signal's reason as soon as it fires: not every model obeys a signal.
 */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const settle = (): void => signal.removeEventListener("abort", abort);
    Promise.resolve(work).then(resolve, reject).finally(settle);
    if (signal.aborted) abort();
  });
}
