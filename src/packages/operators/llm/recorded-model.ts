/**
 * A model's conversation in a file: it is recorded while a real model answers, and replayed without the model in
 * tests.
 *
 * Owns: the file's shape, and the kept parts of an exchange. Never: keeps a header, an address, or a body as it went
 * over the wire.
 * 1.  An exchange is kept when it has ended, as an answer, a stream or a failure; the file is whole after each.
 * 2.  A replayed question equals the recorded one word for word; a question that was not recorded is an error that
 *     says so.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { operatorError } from "../../../define/define-operator.ts";
import { decodeUtf8 } from "../../../protocol/decode-utf8.ts";
import { Model } from "./ask-model.ts";

/** The members of an error that show its kind (model-error.ts). */
const Failure = z.strictObject({
  name: z.string(),
  message: z.string(),
  statusCode: z.int().optional(),
  isRetryable: z.boolean().optional(),
  responseHeaders: z.record(z.string(), z.string()).optional(),
});
type Failure = z.infer<typeof Failure>;

const loose = z.looseObject({});
const Exchange = z.strictObject({
  asked: loose,
  /** The result of `doGenerate`. */
  generated: loose.optional(),
  /** The parts of `doStream`, to the end or to the failure. */
  streamed: z.array(z.looseObject({ type: z.string() })).optional(),
  failed: Failure.optional(),
});
type Exchange = z.infer<typeof Exchange>;

const Recording = z.strictObject({ provider: z.string(), modelId: z.string(), exchanges: z.array(Exchange) });

const recordRef = moduleRef(0, "validation", "recorded_model");

/** Returns a value as it is once it has been written and read. */
const toPlain = (value: unknown) => JSON.parse(JSON.stringify(value));

const whatIsAsked = (options: LanguageModelV4CallOptions) => {
  const { prompt, tools, toolChoice, maxOutputTokens, temperature } = options;
  return toPlain({ prompt, tools, toolChoice, maxOutputTokens, temperature });
};

/**
 * Returns the model, whose exchanges are kept in the file at `path`, which is written anew. A test that needs no
 * provider gives the file to `replayModel`. It holds prompts and answers as they are: look through it before it is
 * shared.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for what is no model.
 */
export function recordModel(model: LanguageModelV4, path: string): LanguageModelV4 {
  readStrictly(Model, model, { what: "recordModel: model", source: recordRef });
  const { provider, modelId, supportedUrls } = model;
  const exchanges: Exchange[] = [];
  const keep = (options: LanguageModelV4CallOptions, came: object): void => {
    exchanges.push({ asked: whatIsAsked(options), ...toPlain(came) });
    writeFileSync(`${path}.part`, `${JSON.stringify({ provider, modelId, exchanges }, null, 2)}\n`);
    renameSync(`${path}.part`, path);
  };
  const answered = <T>(options: LanguageModelV4CallOptions, answer: PromiseLike<T>): Promise<T> =>
    Promise.resolve(answer).catch((thrown: unknown) => {
      keep(options, { failed: failureOf(thrown) });
      throw thrown;
    });
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls,
    async doGenerate(options) {
      const result = await answered(options, model.doGenerate(options));
      keep(options, { generated: withoutWire(result) });
      return result;
    },
    async doStream(options) {
      const result = await answered(options, model.doStream(options));
      const end = (streamed: LanguageModelV4StreamPart[], failed?: Failure) =>
        keep(options, { streamed, ...(failed && { failed }) });
      return { ...result, stream: ReadableStream.from(listen(result.stream, end)) };
    },
  };
}

const withoutWire = ({ content, finishReason, usage, warnings, response }: LanguageModelV4GenerateResult) => {
  const { id, modelId } = response ?? {};
  return { content, finishReason, usage, warnings, response: { id, modelId } };
};

/** Returns the part to keep; null for one that repeats the wire. */
function partToKeep(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart | null {
  if (part.type === "raw") return null;
  if (part.type === "error") return { ...part, error: failureOf(part.error) };
  return part.type === "response-metadata" ? { ...part, timestamp: undefined } : part;
}

async function* listen(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  end: (parts: LanguageModelV4StreamPart[], failed?: Failure) => void,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const parts: LanguageModelV4StreamPart[] = [];
  let failed: Failure | undefined;
  try {
    for await (const part of stream) {
      const kept = partToKeep(part);
      if (kept !== null) parts.push(kept);
      yield part;
    }
  } catch (thrown) {
    failed = failureOf(thrown);
    throw thrown;
  } finally {
    end(parts, failed);
  }
}

/**
 * The statuses of refused access. The message of such an error is not recorded, since it may hold a part of the key.
 */
const ofAccess: readonly unknown[] = [401, 402, 403];
/** The headers that tell when to try again. */
const pauses = ["retry-after", "retry-after-ms", "date"];

function failureOf(thrown: unknown): Failure {
  const { name, message, statusCode, isRetryable, responseHeaders } = Object(thrown) as Partial<Failure>;
  const headers = Object.entries(responseHeaders ?? {}).filter(([header]) => pauses.includes(header));
  return {
    name: String(name ?? "Error"),
    message: ofAccess.includes(statusCode) ? "access was refused" : String(message ?? thrown),
    ...(typeof statusCode === "number" && { statusCode }),
    ...(typeof isRetryable === "boolean" && { isRetryable }),
    ...(headers.length > 0 && { responseHeaders: Object.fromEntries(headers) }),
  };
}

const errorOf = ({ message, ...shape }: Failure): Error => Object.assign(new Error(message), shape);

/**
 * Creates a model that repeats the conversation in the file at `path`: each exchange once, in its order. A question
 * that was not recorded fails its call with MODEL_NOT_RECORDED.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a file that holds no conversation.
 */
export function replayModel(path: string): LanguageModelV4 {
  const { provider, modelId, exchanges } = readRecording(path);
  const left = new Set(exchanges);
  const find = (options: LanguageModelV4CallOptions, isWanted: (exchange: Exchange) => boolean): Exchange => {
    const asked = whatIsAsked(options);
    const found = [...left].find((one) => isWanted(one) && isDeepStrictEqual(one.asked, asked));
    if (found === undefined) return refuseUnknown(path, exchanges.length - left.size);
    left.delete(found);
    return found;
  };
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      const { generated, failed } = find(options, ({ streamed }) => streamed === undefined);
      if (failed !== undefined) throw errorOf(failed);
      return generated as unknown as LanguageModelV4GenerateResult;
    },
    async doStream(options) {
      const { streamed, failed } = find(options, ({ generated }) => generated === undefined);
      if (streamed === undefined && failed !== undefined) throw errorOf(failed);
      return { stream: ReadableStream.from(describeAgain(streamed ?? [], failed)) };
    },
  };
}

function* describeAgain(
  parts: NonNullable<Exchange["streamed"]>,
  failed: Failure | undefined,
): Generator<LanguageModelV4StreamPart> {
  for (const part of parts) {
    const reported = part.type === "error" ? { ...part, error: errorOf(part["error"] as Failure) } : part;
    yield reported as unknown as LanguageModelV4StreamPart;
  }
  if (failed !== undefined) throw errorOf(failed);
}

function readRecording(path: string): z.infer<typeof Recording> {
  readStrictly(z.string(), path, { what: "replayModel: path", source: recordRef });
  let recording: unknown;
  try {
    recording = JSON.parse(decodeUtf8(readFileSync(path)));
  } catch (thrown) {
    const message = `${path} holds no recorded conversation, which recordModel makes: ${(thrown as Error).message}`;
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, recordRef, { detail: { path } }));
  }
  return readStrictly(Recording, recording, { what: path, source: recordRef });
}

function refuseUnknown(path: string, after: number): never {
  throw operatorError({
    code: "MODEL_NOT_RECORDED",
    category: "validation",
    message: `after ${after} exchanges of the recorded conversation something else is asked: record it again`,
    details: { path, after },
  });
}
