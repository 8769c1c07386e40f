/**
 * Strict reading of objects that a host, a package or a planner wrote: an unknown key is an error that names the key
 * that may have been meant.
 *
 * Owns: the text of such an error. Never: decides which keys are known; strict schemas do.
 * 1.  Every problem has its path; for an unknown key the path ends in that key.
 * 2.  All problems are reported at once, in the message and in `detail.problems`.
 */
import type { z } from "zod";
import { type ErrorCode, kernelError } from "./error-codes.ts";
import { fieldErrorsOf } from "./field-error.ts";
import type { JsonObject } from "./json.ts";
import { messageOf, raise } from "./kernel-error.ts";
import type { ModuleRef } from "./module-ref.ts";

/** One thing that is wrong: where, as `steps.0.gates`, and why. */
export interface Problem extends JsonObject {
  readonly path: string;
  readonly problem: string;
}

/**
 * The name of the object that is read, for people; its reader; the code of the refusal, T0_VALIDATION_SCHEMA_MISMATCH
 * by default.
 */
export interface Reading {
  readonly what: string;
  readonly source: ModuleRef;
  readonly code?: ErrorCode;
}

/**
 * The shape of the schema of `T`: all keys of the interface and no others, each of its type. Options with type
 * parameters need it (`z.strictObject({ … } satisfies ShapeOf<Options>)`); the types of all others are inferred from
 * their schemas.
 */
export type ShapeOf<T> = { readonly [K in keyof T]-?: z.ZodType<unknown, T[K]> };

/** Reads a value with a strict schema. @throws KernelErrorException that lists every problem. */
export function readStrictly<S extends z.ZodType>(schema: S, value: unknown, reading: Reading): z.output<S> {
  const read = look(() => {
    const { data, error } = schema.safeParse(value, { error: explainKeys });
    return { data, problems: error === undefined ? [] : problemsOf(error) };
  }, reading);
  return read.problems.length === 0 ? (read.data as z.output<S>) : refuseProblems(read.problems, reading);
}

/**
 * Returns the plain JSON of a request as its schema reads it. `at` is the path of the value in the body; the refusal
 * has the path of each problem in `detail.problems`, and its JSON pointer in `detail.errors`.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH that lists every problem.
 */
export function readRequest<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { what, source, at = [] }: Omit<Reading, "code"> & { readonly at?: readonly string[] },
): z.output<S> {
  const { data, error } = schema.safeParse(value, { error: explainKeys });
  if (error === undefined) return data;
  const problems = problemsOf(error);
  const issues = problems.map(({ path }) => path);
  return refuseProblems(problems, { what, source }, { issues, errors: fieldErrorsOf(error, at) });
}

/** Runs a reading of a host's value, whose getters, proxies and schemas may throw anything. */
function look<T>(reading: () => T, why: Reading): T {
  try {
    return reading();
  } catch (thrown) {
    return refuseProblems([{ path: "", problem: `it cannot be read: ${messageOf(thrown)}` }], why);
  }
}

/** Returns those of these functions that a host's object has, each bound to the object. */
export function boundMembers<T extends object>(own: T, known: Readonly<Record<keyof T, unknown>>): Partial<T> {
  const found = Object.keys(known).flatMap((name) => {
    const member: unknown = own[name as keyof T];
    return typeof member === "function" ? [[name, member.bind(own)]] : [];
  });
  return Object.fromEntries(found) as Partial<T>;
}

/** Raises all problems as one error. @throws KernelErrorException always. */
function refuseProblems(
  problems: readonly Problem[],
  { what, source, code }: Reading,
  more: Readonly<Record<string, unknown>> = {},
): never {
  const list = problems.map(({ path, problem }) => (path === "" ? problem : `${path}: ${problem}`)).join("; ");
  raise(
    kernelError(code ?? "T0_VALIDATION_SCHEMA_MISMATCH", `${what}: ${list}`, source, {
      detail: { problems: problems.map((one) => ({ ...one })), ...more },
    }),
  );
}

/** Returns the problems that a schema found; each unknown key is a problem of its own. */
export const problemsOf = (error: z.ZodError): readonly Problem[] => error.issues.flatMap(describeIssue);

function describeIssue(issue: z.core.$ZodIssue): readonly Problem[] {
  if (issue.code !== "unrecognized_keys") return [{ path: joinPath(issue.path), problem: issue.message }];
  const lines = issue.message.split("\n");
  return issue.keys.map((key, i) => ({ path: joinPath([...issue.path, key]), problem: lines[i] as string }));
}

const joinPath = (path: readonly PropertyKey[]): string => path.map(String).join(".");

/** Maps zod's issues (an error map): one line for each unknown key, with the key that may have been meant. */
export function explainKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys") return undefined;
  const { def } = (issue.inst as z.core.$ZodType)._zod;
  const known = "shape" in def ? Object.keys(def.shape as object) : [];
  return (issue.keys as readonly string[]).map((key) => describeUnknown(key, known)).join("\n");
}

function describeUnknown(key: string, known: readonly string[]): string {
  const meant = nearestOf(key, known);
  return meant === null ? "there is no such key" : `there is no such key; did you mean "${meant}"?`;
}

const most = 64;

/** Returns the known word with the smallest edit distance; null if none is near. Case, `_` and `-` are ignored. */
export function nearestOf(word: string, known: readonly string[]): string | null {
  const plain = plainWord(word);
  if (plain.length > most) return null;
  const near = known
    .map((name) => ({ name, away: distance(plain, plainWord(name)) }))
    .filter(({ name, away }) => away <= Math.floor(Math.max(plain.length, name.length) / 3))
    .sort((a, b) => a.away - b.away);
  return near[0]?.name ?? null;
}

const plainWord = (word: string): string => word.replace(/[_-]/g, "").toLowerCase();

/** Letters to add, drop, change or swap with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let older: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]),
      );
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(swapped ? Math.min(cost, (older[j - 2] ?? 0) + 1) : cost);
    }
    older = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
