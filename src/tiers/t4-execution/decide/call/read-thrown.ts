/**
 * Reads a thrown value of an operator or a hook as the error that is recorded: its own operator error, a KernelError,
 * or a plain throw.
 *
 * 1.  The thrown value is kept in `detail.failure`: name, code, causes and members, bounded and without secrets.
 * 2.  If a member of an operator error is not valid, the others are kept and the invalid member is named.
 */
import {
  boundError,
  ExecutorError,
  fromExecutorError,
  isKernelError,
  type KernelError,
  KernelErrorException,
} from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { type JsonObject, toJson } from "../../../../contract/json.ts";
import { describeThrown, explainThrown } from "../../../../contract/thrown.ts";
import { messageOf } from "../../../../engine/actors/within.ts";
import { invokerRef } from "./answer-key.ts";

/** Returns the KernelError of a thrown value; `convert` makes it from an operator error. Never throws. */
export function readThrown(thrown: unknown, convert: Convert = fromExecutorError): KernelError {
  try {
    return identify(thrown, convert);
  } catch (unreadable) {
    // Reading the value threw, or it carries no JSON: it can be neither kept nor shown.
    return kernelError("T4_TOOL_EXECUTION_FAILED", "it failed with what cannot be shown", invokerRef, {
      detail: { thrown: messageOf(unreadable), unstructured: true },
    });
  }
}

type Convert = (error: ExecutorError) => KernelError;

function identify(thrown: unknown, convert: Convert): KernelError {
  if (thrown instanceof KernelErrorException && isKernelError(thrown.error)) return readOurs(thrown.error);
  const carried = (thrown as { readonly executorError?: unknown } | null)?.executorError;
  if (typeof carried === "object" && carried !== null) return readOperatorError(carried, thrown, convert);
  const message = explainThrown(thrown);
  const detail = { thrown: message, ...failureOf(thrown) };
  const isTimeout = thrown instanceof Error && thrown.name === "TimeoutError";
  if (isTimeout) return kernelError("T4_TOOL_TIMEOUT", message, invokerRef, { detail: failureOf(thrown) });
  return kernelError("T4_TOOL_EXECUTION_FAILED", message, invokerRef, { detail: { ...detail, unstructured: true } });
}

function readOurs(error: KernelError): KernelError {
  const bounded = boundError(error);
  return { ...bounded, detail: toJson(bounded.detail) as JsonObject };
}

const failureOf = (thrown: unknown): JsonObject => {
  const failure = describeThrown(thrown);
  return failure === null ? {} : { failure };
};

/**
 * Reads an operator's own error. An invalid member is left out, and named in message and details. An error without a
 * known category does not say what was done, so it counts as a plain throw.
 */
function readOperatorError(carried: object, thrown: unknown, convert: Convert): KernelError {
  const { details, ...given } = carried as { readonly details?: unknown } & Readonly<Record<string, unknown>>;
  const refused: Record<string, string> = {};
  const read = readMembers(given, refused);
  const kept = { ...readDetails(details, refused), ...failureOf(thrown) };
  const names = Object.entries(refused).map(([member, problem]) => `${member} was refused: ${problem}`);
  if (names.length === 0) return convert({ ...read, details: kept });
  const message = `${read.message} (${names.join("; ")})`;
  const named = { ...kept, refused_members: refused };
  if (refused["category"] === undefined) return convert({ ...read, message, details: named });
  const detail = { ...named, thrown: message, unstructured: true };
  return kernelError("T4_TOOL_EXECUTION_FAILED", message, invokerRef, { detail });
}

const { shape } = ExecutorError.unwrap();

/** Parses each member by its own schema; an invalid one gets its default and is added to `refused`. */
function readMembers(given: Readonly<Record<string, unknown>>, refused: Record<string, string>) {
  const member = <T>(name: keyof typeof shape, otherwise: T): T => {
    if (given[name] === undefined) return otherwise;
    const parsed = shape[name].safeParse(given[name]);
    if (parsed.success) return parsed.data as T;
    refused[name] = `${showValue(given[name])}: ${parsed.error.issues[0]?.message ?? "not valid"}`;
    return otherwise;
  };
  const category = member<ExecutorError["category"]>("category", "dependency");
  return {
    code: member("code", "OPERATOR_ERROR"),
    message: member("message", "the operator failed"),
    retryable: member("retryable", category === "transient" || category === "timeout"),
    retry_after_ms: member<number | null>("retry_after_ms", null),
    category,
  };
}

const showValue = (value: unknown): string => (typeof value === "object" ? typeof value : String(value).slice(0, 100));

function readDetails(details: unknown, refused: Record<string, string>): JsonObject {
  if (details === undefined) return {};
  try {
    const kept = toJson(details);
    if (typeof kept === "object" && kept !== null && !Array.isArray(kept)) return kept as JsonObject;
    refused["details"] = "it is no object";
  } catch (thrown) {
    refused["details"] = messageOf(thrown);
  }
  return {};
}
