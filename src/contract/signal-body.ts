/**
 * Signal bodies: the required members of each kind.
 *
 * Owns: the five kinds, a schema for each body, and the hand-written check that tier doors run on every Signal.
 * Invariant: the schemas and the hand-written check accept the same bodies. Further keys are always allowed.
 */
import { z } from "zod";
import { isModuleRef, ModuleRef } from "./module-ref.ts";

/** The six kinds of Signals. */
export const SignalKind = z.enum(["text", "data", "file", "command", "stream"]);
export type SignalKind = z.infer<typeof SignalKind>;

type Body = Readonly<Record<string, unknown>>;

export const TextBody = z.looseObject({ text: z.string() });
export type TextBody = z.infer<typeof TextBody>;

/** `count` is the length when data is a list. */
export const DataBody = z.looseObject({ data: z.unknown().refine(isPresent, "required"), schema: z.string() });
export type DataBody = z.infer<typeof DataBody>;

/** A reference, never content. */
export const FileBody = z.looseObject({ file_id: z.string(), file_type: z.string(), path: z.string().nullish() });
export type FileBody = z.infer<typeof FileBody>;

export const CommandBody = z.looseObject({ action: z.string(), target: ModuleRef });
export type CommandBody = z.infer<typeof CommandBody>;

/** Binary chunks are base64 text with encoding "base64". */
export const StreamBody = z.looseObject({
  chunk: z.union([z.string(), z.instanceof(Uint8Array)]),
  sequence: z.int(),
  final: z.boolean(),
  encoding: z.literal("base64").optional(),
});
export type StreamBody = z.infer<typeof StreamBody>;

export const signalBodies = {
  text: TextBody,
  data: DataBody,
  file: FileBody,
  command: CommandBody,
  stream: StreamBody,
} as const;

type Field = { readonly key: string; readonly accepts: (value: unknown) => boolean; readonly optional: boolean };

const fields: ReadonlyMap<unknown, readonly Field[]> = new Map([
  ["text", [required("text", isText)]],
  ["data", [required("data", isPresent), required("schema", isText)]],
  ["file", [required("file_id", isText), required("file_type", isText), optional("path", isTextOrNull)]],
  ["command", [required("action", isText), required("target", isModuleRef)]],
  [
    "stream",
    [
      required("chunk", isChunk),
      required("sequence", Number.isSafeInteger),
      required("final", isBoolean),
      optional("encoding", isBase64),
    ],
  ],
]);

function required(key: string, accepts: (value: unknown) => boolean): Field {
  return { key, accepts, optional: false };
}

function optional(key: string, accepts: (value: unknown) => boolean): Field {
  return { key, accepts, optional: true };
}

/** Keys that are not there, and keys that are there with a value of the wrong kind. */
export type BodyProblem = { readonly missing: readonly string[]; readonly invalid: readonly string[] };

/** Checks a body against its kind; null when it conforms. An unknown kind is a problem with `kind`. */
export function findBodyProblem(kind: unknown, body: Body): BodyProblem | null {
  const expected = fields.get(kind);
  if (expected === undefined) return { missing: [], invalid: ["kind"] };
  for (const field of expected) {
    if (!accepts(field, body)) return collectProblems(expected, body);
  }
  return null;
}

function accepts(field: Field, body: Body): boolean {
  const value = body[field.key];
  return value === undefined ? field.optional : field.accepts(value);
}

function collectProblems(expected: readonly Field[], body: Body): BodyProblem {
  const failing = expected.filter((field) => !accepts(field, body)).map((field) => field.key);
  return {
    missing: failing.filter((key) => body[key] === undefined),
    invalid: failing.filter((key) => body[key] !== undefined),
  };
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isPresent(value: unknown): boolean {
  return value !== undefined;
}

function isChunk(value: unknown): boolean {
  return typeof value === "string" || value instanceof Uint8Array;
}

function isBase64(value: unknown): boolean {
  return value === "base64";
}
