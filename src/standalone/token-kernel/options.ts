/**
 * The options of a token kernel: seed, limits, executor; and the answers of an executor.
 *
 * Owns: the defaults of the limits, and reading what a host hands in. Never: runs anything.
 * 1.  Whatever comes from a host is copied as plain JSON and checked whole before any of it counts.
 */
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { hostFunction } from "../../contract/host-object.ts";
import { type Json, JsonObject, JsonValue, toJson } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly, type ShapeOf } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { GovernorLimits, type KernelToken, OwnLabel, TokenDraft } from "../../contract/token.ts";
import { hashEvents, TokenCapture, type TokenSnapshot, verifySnapshots } from "../../contract/token-snapshot.ts";
import { messageOf } from "../../engine/actors/within.ts";
import type { TokenContext } from "./context.ts";

export const tokenRef = moduleRef(4, "token_kernel", "process_next");

const bound = (most: number) => z.int().nonnegative().default(most);

/** The governor's ceilings (null: none), and the bounds of the kernel itself. */
export const TokenKernelLimits = GovernorLimits.extend({
  /** Tokens that may wait at once. */
  max_queued: bound(100_000),
  /** Tokens in the life of a kernel: what ends a chain of tokens that yield for ever. */
  max_submitted: bound(1_000_000),
  /** Characters of JSON in a payload, an output, a detail, a saved state or a value in memory. */
  max_payload_chars: bound(1_000_000),
  /** Keys in memory. */
  max_memory_keys: bound(10_000),
  /** Snapshots: each holds the whole state. */
  max_snapshots: bound(1_000),
}).strict();
export type TokenKernelLimits = z.infer<typeof TokenKernelLimits>;

/**
 * The end of an executor: `Completed`, with an output or without (also as the string alone, or by answering nothing),
 * or `Yielded`, whose work continues in these tokens. A throw is a failure.
 */
export type ExecutionStatus =
  | undefined
  | "Completed"
  | { readonly status: "Completed"; readonly output?: unknown }
  | { readonly status: "Yielded"; readonly tokens: readonly TokenDraft[] };

/** Does the work of a token. */
export type TokenExecutor = (
  token: KernelToken,
  context: TokenContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: an executor that answers nothing has completed
) => ExecutionStatus | void | Promise<ExecutionStatus | void>;

/** The answer of a kernel with this executor: synchronous if the executor never gives a promise. */
export type Answered<E extends TokenExecutor, T> = [Extract<ReturnType<E>, PromiseLike<unknown>>] extends [never]
  ? T
  : T | Promise<T>;

/** The options of a token kernel. */
export interface TokenKernelOptions<E extends TokenExecutor = TokenExecutor> {
  /** Decides what executors draw from `random`; nothing else depends on it. */
  readonly seed: number | string;
  /** Ceilings of the governor, and the bounds of the kernel itself. */
  readonly limits?: z.input<typeof TokenKernelLimits>;
  /** Does the work of each token. */
  readonly executor: E;
  /** Begin where another kernel was captured, under its limits. */
  readonly snapshot?: TokenCapture;
}

const Options = z.strictObject({
  seed: z.union([z.number(), z.string()], "must be a finite number or a text"),
  executor: hostFunction<TokenExecutor>(),
  // The core reads limits, and a capture that may bring others.
  limits: z.custom<NonNullable<TokenKernelOptions["limits"]>>().optional(),
  snapshot: z.custom<TokenCapture>().optional(),
} satisfies ShapeOf<TokenKernelOptions>);
const ReplayOptions = Options.extend({
  capabilities: z.array(z.strictObject({ name: z.string(), limits: z.unknown().optional() })).optional(),
  patienceMs: z.number().positive().optional(),
});

/** Checks options. @throws KernelErrorException (input) for an invalid or unknown option. */
export const checkTokenOptions = (options: TokenKernelOptions): void =>
  void readStrictly(Options, options, { what: "createTokenKernel", source: tokenRef });

/** Checks options of a replay. @throws as checkTokenOptions. */
export const checkReplayOptions = (options: TokenKernelOptions): void =>
  void readStrictly(ReplayOptions, options, { what: "replayTokens", source: tokenRef });

export type ReadDraft = Omit<z.output<typeof TokenDraft>, "id">;

/** Reads a draft. @throws KernelErrorException (input) for a value that is not JSON, or that the schema refuses. */
export function readDraft(draft: unknown, { max_payload_chars }: TokenKernelLimits): ReadDraft {
  const { id: _ignored, ...read } = parse(TokenDraft, copyJson(draft, "a token"), "a token");
  requireSize(read.payload, max_payload_chars, "payload");
  return read;
}

/** Returns a copy as plain JSON, no larger than the limit. @throws KernelErrorException (input) */
export function readJson(value: unknown, { max_payload_chars }: TokenKernelLimits, what: string): Json {
  const copy = copyJson(value, what);
  requireSize(copy, max_payload_chars, what);
  return copy;
}

const CompletedStatus = z.object({ status: z.literal("Completed"), output: z.unknown().optional() });
const YieldedStatus = z.object({ status: z.literal("Yielded"), tokens: z.array(z.unknown()).min(1) });
const AnyStatus = z.discriminatedUnion("status", [CompletedStatus, YieldedStatus]);

/** Reads an executor's answer. @throws KernelErrorException (input) for an answer that is no status. */
export function readStatus(answer: unknown): z.infer<typeof AnyStatus> {
  if (answer === undefined || answer === "Completed") return { status: "Completed" };
  return parse(AnyStatus, answer, "an executor's answer");
}

const Custom = z.object({ label: OwnLabel, detail: JsonObject });
const Memory = z.object({ key: z.string(), value: JsonValue });

/** Reads an executor's own event. @throws KernelErrorException (input) */
export const readCustom = (custom: unknown, limits: TokenKernelLimits): z.infer<typeof Custom> =>
  parse(Custom, readJson(custom, limits, "an event"), "an event");

/** Reads an executor's memory entry. @throws KernelErrorException (input) */
export const readMemory = (entry: unknown, limits: TokenKernelLimits): z.infer<typeof Memory> =>
  parse(Memory, readJson(entry, limits, "memory"), "memory");

/** Reads limits. @throws KernelErrorException (input) for an invalid or unknown limit. */
export function readLimits(limits: unknown): TokenKernelLimits {
  return readStrictly(TokenKernelLimits, limits ?? {}, { what: "limits", source: tokenRef });
}

/**
 * Reads a capture. @throws KernelErrorException (input) for a capture that is malformed, broken, or of another seed.
 */
export function readCapture(capture: unknown, seed: number | string): TokenCapture {
  const read = parse(TokenCapture, copyJson(capture, "a snapshot"), "a snapshot", "T4_TOKEN_RECORD_INVALID");
  const broken = verifySnapshots(read.snapshots);
  if (broken !== null) refuseRecord(`snapshot ${broken.index} is not what was sealed`, { ...broken });
  if (read.seed !== seed) refuseRecord("the snapshot is of another seed", { expected: seed, actual: read.seed });
  const { timestamp: now, events_hash } = read.snapshots.at(-1) as TokenSnapshot;
  const events = read.events.filter(({ timestamp }) => timestamp <= now);
  if (hashEvents(events) !== events_hash)
    refuseRecord(`the events up to ${now} are not those of the snapshot`, { timestamp: now });
  return { ...read, events };
}

export function refuseRecord(message: string, detail: Readonly<Record<string, unknown>>): never {
  raise(kernelError("T4_TOKEN_RECORD_INVALID", message, tokenRef, { detail }));
}

export function refuseLimit(limit: keyof TokenKernelLimits, value: number | null): never {
  raise(kernelError("T4_TOKEN_LIMIT_REACHED", `${limit} is ${value}`, tokenRef, { detail: { limit, value } }));
}

/** Refuses a request of a host or an executor at the wrong moment. */
export function refuseNow(message: string, detail: Readonly<Record<string, unknown>> = {}): never {
  raise(kernelError("T4_TOKEN_STATE_CONFLICT", message, tokenRef, { detail }));
}

type Refusal = "T0_VALIDATION_SCHEMA_MISMATCH" | "T4_TOKEN_RECORD_INVALID";

function parse<S extends z.ZodType>(
  schema: S,
  value: unknown,
  what: string,
  code: Refusal = "T0_VALIDATION_SCHEMA_MISMATCH",
): z.output<S> {
  return readStrictly(schema, value, { what: `${what} is not well formed`, source: tokenRef, code });
}

/** Deeper than a payload may be by itself: a snapshot holds payloads. */
const maxDepth = 128;

function copyJson(value: unknown, what: string): Json {
  try {
    return toJson(value, maxDepth);
  } catch (thrown) {
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${what} is not JSON: ${messageOf(thrown)}`, tokenRef));
  }
}

function requireSize(value: Json, most: number, what: string): void {
  const size = JSON.stringify(value).length;
  if (size <= most) return;
  raise(
    kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `${what}: ${size} characters of JSON, ${most} allowed`, tokenRef, {
      detail: { limit: most, size, what },
    }),
  );
}
