/**
 * Signal: the atomic, immutable unit of communication between tiers, and the only ways to get one.
 *
 * Owns: the envelope schema, the brand, the seven factories, revival from JSON, and validation. Never: routes
 * anything. Bodies by kind are signal-body.ts, tags are signal-tags.ts.
 * 1.  Only this file makes a branded Signal: through a factory, which draws one id, or out of decoded data.
 * 2.  A Signal is frozen with its body and tags. An object that is passed as a body is frozen in place, not copied.
 * 3.  A Signal made of JSON values survives JSON without loss; binary stream chunks are kept as base64.
 */
import { z } from "zod";
import { ambientNow } from "./ambient.ts";
import { kernelError } from "./error-codes.ts";
import { generateId, type IdSource } from "./ids.ts";
import { instantText } from "./instant.ts";
import { deepFreeze, isPlainObject, JsonObject } from "./json.ts";
import { type KernelError, raise } from "./kernel-error.ts";
import { isModuleRef, ModuleRef, moduleRef } from "./module-ref.ts";
import { findBodyProblem, SignalKind } from "./signal-body.ts";
import { findTagProblem, Tags } from "./signal-tags.ts";

export { SignalKind } from "./signal-body.ts";
export { Tags } from "./signal-tags.ts";

const envelope = z.object({
  id: z.string().min(1),
  kind: SignalKind,
  body: JsonObject,
  origin: ModuleRef,
  trace_id: z.string().min(1),
  tags: Tags.default({}),
  created_at: z.iso.datetime(),
  parent_id: z.string().nullable().default(null),
});

/** A Signal as plain data: it is the content of JSON, and is not accepted in place of a Signal. */
export type SignalData = z.infer<typeof envelope>;
export type SignalInput = z.input<typeof envelope>;

/** The class behind the brand. Only its type is exported: an instance comes from a factory or the schema. */
export class SignalRecord {
  readonly #brand = true;
  readonly id: string;
  readonly kind: SignalKind;
  readonly body: JsonObject;
  readonly origin: ModuleRef;
  readonly trace_id: string;
  readonly tags: Tags;
  /** UTC instant, ISO 8601, ending in Z. */
  readonly created_at: string;
  readonly parent_id: string | null;

  constructor(
    id: string,
    kind: SignalKind,
    body: JsonObject,
    origin: ModuleRef,
    traceId: string,
    tags: Tags,
    createdAt: string,
    parentId: string | null,
  ) {
    this.id = id;
    this.kind = kind;
    this.body = deepFreeze(body);
    this.origin = Object.isFrozen(origin) ? origin : Object.freeze({ ...origin });
    this.trace_id = traceId;
    this.tags = Object.freeze(tags);
    this.created_at = createdAt;
    this.parent_id = parentId;
    Object.freeze(this);
  }

  static isBranded(value: unknown): value is SignalRecord {
    return typeof value === "object" && value !== null && #brand in value;
  }
}

export type Signal = SignalRecord;

/**
 * The envelope schema; parsing yields a branded Signal. It does not look into the body: validateSignal does. Takes
 * ownership of the data's body and tags.
 */
export const Signal = envelope.overwrite(
  ({ id, kind, body, origin, trace_id, tags, created_at, parent_id }) =>
    new SignalRecord(id, kind, body, origin, trace_id, tags, created_at, parent_id),
) as unknown as z.ZodType<Signal, SignalInput>;

/** Returns whether a factory or the schema made a value; false for any literal, however well formed. */
export function isSignal(value: unknown): value is Signal {
  return SignalRecord.isBranded(value);
}

/** The options of the factories of Signals. */
export type SignalOptions = { readonly tags?: Tags | null; readonly parentId?: string | null };

/**
 * The seven factories of Signals, on one source of ids and time. All throw an input KernelErrorException on bad tags.
 */
export type SignalFactory = {
  createSignal(
    kind: SignalKind,
    body: JsonObject,
    origin: ModuleRef,
    traceId: string,
    tags?: Tags | null,
    parentId?: string | null,
  ): Signal;
  createTextSignal(
    text: string,
    origin: ModuleRef,
    traceId: string,
    tags?: Tags | null,
    options?: SignalOptions,
  ): Signal;
  createDataSignal(
    data: unknown,
    schema: string,
    origin: ModuleRef,
    traceId: string,
    tags?: Tags | null,
    options?: SignalOptions,
  ): Signal;
  createFileSignal(
    fileId: string,
    fileType: string,
    path: string | null,
    origin: ModuleRef,
    traceId: string,
    options?: SignalOptions,
  ): Signal;
  createCommandSignal(
    action: string,
    target: ModuleRef,
    origin: ModuleRef,
    traceId: string,
    payload?: JsonObject | null,
    options?: SignalOptions,
  ): Signal;
  createErrorSignal(error: KernelError, origin: ModuleRef, traceId: string, options?: SignalOptions): Signal;
  createStreamSignal(
    chunk: string | Uint8Array,
    sequence: number,
    final: boolean,
    origin: ModuleRef,
    traceId: string,
    options?: SignalOptions,
  ): Signal;
};

/** Factories on the given ids and clock (epoch ms). Each Signal draws exactly one id, of entity type "signal". */
export function createSignalFactory({ ids, now }: { ids: IdSource; now(): number }): SignalFactory {
  const createSignal: SignalFactory["createSignal"] = (kind, body, origin, traceId, tags, parentId) =>
    new SignalRecord(
      ids.next("signal"),
      kind,
      kind === "stream" ? encodeChunk(body) : body,
      origin,
      traceId,
      mergeTags(origin, tags),
      instantText(now()),
      parentId ?? null,
    );
  return { createSignal, ...deriveFactories(createSignal) };
}

function deriveFactories(create: SignalFactory["createSignal"]): Omit<SignalFactory, "createSignal"> {
  return {
    createTextSignal: (text, origin, traceId, tags, options) =>
      create("text", { text }, origin, traceId, addTags(tags, options), options?.parentId),
    createDataSignal: (data, schema, origin, traceId, tags, options) =>
      create("data", toDataBody(data, schema), origin, traceId, addTags(tags, options), options?.parentId),
    createFileSignal: (fileId, fileType, path, origin, traceId, options) => {
      const body = { file_id: fileId, file_type: fileType, path };
      return create("file", body, origin, traceId, options?.tags, options?.parentId);
    },
    createCommandSignal: (action, target, origin, traceId, payload, options) => {
      const body = { ...payload, action, target: { ...target } };
      return create("command", body, origin, traceId, options?.tags, options?.parentId);
    },
    createErrorSignal: (error, origin, traceId, options) => {
      const tags = { source_type: "system", ...options?.tags };
      return create("data", { data: error, schema: "KernelError" }, origin, traceId, tags, options?.parentId);
    },
    createStreamSignal: (chunk, sequence, final, origin, traceId, options) =>
      create("stream", { chunk, sequence, final }, origin, traceId, options?.tags, options?.parentId),
  };
}

function addTags(tags: Tags | null | undefined, options: SignalOptions | undefined): Tags | null | undefined {
  return options?.tags ? { ...tags, ...options.tags } : tags;
}

// JSON has no undefined, and a DATA body without data would be refused at the next door.
function toDataBody(data: unknown, schema: string): JsonObject {
  if (Array.isArray(data)) return { data, schema, count: data.length };
  return { data: data === undefined ? null : data, schema };
}

function encodeChunk(body: JsonObject): JsonObject {
  const { chunk } = body;
  if (!(chunk instanceof Uint8Array)) return body;
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("base64");
  return { ...body, chunk: text, encoding: "base64" };
}

const createRef = moduleRef(0, "signal", "create_signal");

const plainTags = new WeakMap<ModuleRef, Tags>();

/** Returns the tags of a Signal that brings none: one object for all Signals of an origin. */
function tagsOf(origin: ModuleRef): Tags {
  const known = plainTags.get(origin);
  if (known !== undefined) return known;
  const tags = Object.freeze({ tier: String(origin.tier), module: origin.module });
  if (Object.isFrozen(origin)) plainTags.set(origin, tags);
  return tags;
}

// The origin's tags come first; those of the caller win.
function mergeTags(origin: ModuleRef, tags: Tags | null | undefined): Tags {
  if (!tags) return tagsOf(origin);
  const problem = findTagProblem(tags);
  if (problem !== null) {
    raise(
      kernelError("T0_VALIDATION_SCHEMA_MISMATCH", problem.reason, createRef, { detail: { invalid: [problem.key] } }),
    );
  }
  return { ...tagsOf(origin), ...tags };
}

/** The factories on the ambient clock and random source; a kernel binds its own. */
export const ambientSignals: SignalFactory = createSignalFactory({ ids: { next: generateId }, now: ambientNow });

/** createSignal(kind, body, origin, traceId, tags?, parentId?): the universal factory. */
export const createSignal: SignalFactory["createSignal"] = ambientSignals.createSignal;
/** Body {text}. */
export const createTextSignal: SignalFactory["createTextSignal"] = ambientSignals.createTextSignal;
/** Body {data, schema}, and count when data is a list. */
export const createDataSignal: SignalFactory["createDataSignal"] = ambientSignals.createDataSignal;
/** Body {file_id, file_type, path}: a reference, never content. */
export const createFileSignal: SignalFactory["createFileSignal"] = ambientSignals.createFileSignal;
/** Body {...payload, action, target}. */
export const createCommandSignal: SignalFactory["createCommandSignal"] = ambientSignals.createCommandSignal;
/** Body {data: error, schema: "KernelError"}, tag source_type system. */
export const createErrorSignal: SignalFactory["createErrorSignal"] = ambientSignals.createErrorSignal;
/** Body {chunk, sequence, final}, and encoding "base64" for bytes. */
export const createStreamSignal: SignalFactory["createStreamSignal"] = ambientSignals.createStreamSignal;

/** Returns the chunk of a STREAM Signal as it was given: text or bytes. */
export function streamChunk(signal: Signal): string | Uint8Array {
  const { chunk, encoding } = signal.body;
  if (chunk instanceof Uint8Array) return chunk;
  return encoding === "base64" ? new Uint8Array(Buffer.from(String(chunk), "base64")) : String(chunk);
}

/**
 * Returns a branded Signal made of decoded JSON, with its own id: none is drawn. It takes ownership of the data. Throws
 * an input KernelErrorException if the envelope or the body does not conform.
 */
export function reviveSignal(data: unknown): Signal {
  const parsed = Signal.safeParse(data);
  if (!parsed.success) raise(envelopeError(data, parsed.error));
  const checked = validateSignal(parsed.data);
  return isSignal(checked) ? checked : raise(checked);
}

const validateRef = moduleRef(0, "validation", "validate_signal");

/**
 * Returns the same reference if envelope and body conform, else, without throwing, an input KernelError with code
 * T0_VALIDATION_SCHEMA_MISMATCH whose detail lists the `missing` and the `invalid` keys. An unbranded object is checked
 * in full; conformity does not make it a Signal.
 */
export function validateSignal(signal: Signal): Signal | KernelError {
  if (!isSignal(signal)) {
    const parsed = envelope.safeParse(signal);
    if (!parsed.success) return envelopeError(signal, parsed.error);
  } else if (!hasSoundEnvelope(signal)) {
    return envelopeError(signal, envelope.safeParse(signal).error);
  }
  const problem = findBodyProblem(signal.kind, signal.body);
  return problem === null ? signal : mismatch(signal, problem);
}

// Checks the members that a caller can still get wrong; the factories check tags and stamp ids and times.
function hasSoundEnvelope({ body, origin, trace_id, parent_id }: Signal): boolean {
  return (
    isPlainObject(body) &&
    isModuleRef(origin) &&
    typeof trace_id === "string" &&
    trace_id.length > 0 &&
    (parent_id === null || typeof parent_id === "string")
  );
}

function envelopeError(signal: unknown, error: z.ZodError | undefined): KernelError {
  const record: Readonly<Record<PropertyKey, unknown>> = isPlainObject(signal) || isSignal(signal) ? { ...signal } : {};
  const keys = [...new Set((error?.issues ?? []).map((issue) => String(issue.path[0] ?? "signal")))];
  return mismatch(record, {
    missing: keys.filter((key) => record[key] === undefined),
    invalid: keys.filter((key) => record[key] !== undefined),
  });
}

type Mismatch = { readonly missing: readonly string[]; readonly invalid: readonly string[] };

function mismatch({ id, kind }: { readonly id?: unknown; readonly kind?: unknown }, problem: Mismatch): KernelError {
  const { missing, invalid } = problem;
  const parts = [
    missing.length > 0 && `missing ${missing.join(", ")}`,
    invalid.length > 0 && `invalid ${invalid.join(", ")}`,
  ];
  const message = `${typeof kind === "string" ? kind : "unknown"} signal: ${parts.filter(Boolean).join("; ")}`;
  const detail = { signal_id: toText(id), kind: toText(kind), missing, invalid };
  return kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, validateRef, { detail });
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
