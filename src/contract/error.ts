/**
 * Operations on errors: the convenience factories, wrapping, escalation, and the executor's view.
 *
 * Owns: derived codes, the total mapping between KernelError and ExecutorError, the retry decision. Never: throws,
 * except raise(). The record itself is defined in kernel-error.ts and exported from here as well.
 * 1.  fromExecutorError and toExecutorError are total and keep code, message, details, hint and the retry decision.
 * 2.  Members of an executor error that a KernelError lacks are in detail.executor, which takes precedence on the way
 *     back.
 * 3.  The category decides on retries; only `dependency` lets the error's own flag decide.
 */
import { z } from "zod";
import { type ErrorCode, errorCodes, isErrorCode } from "./error-codes.ts";
import { JsonObject } from "./json.ts";
import { createError, describeError, type ErrorCategory, errorCodePattern, KernelError } from "./kernel-error.ts";
import { type ModuleRef, moduleRef } from "./module-ref.ts";

export {
  boundError,
  capText,
  createError,
  ErrorCategory,
  errorCodePattern,
  isKernelError,
  KernelError,
  KernelErrorException,
  messageOf,
  raise,
  Severity,
} from "./kernel-error.ts";

/** The options of the error makers: another code, a cause, a retry decision. */
export type ErrorOptions = {
  readonly code?: string;
  readonly cause?: KernelError | null;
  readonly retry?: boolean;
};

/** Makes an error of category input, severity transient, code T<tier>_<MODULE>_INVALID_INPUT. */
export function inputError(
  message: string,
  source: ModuleRef,
  detail?: JsonObject | null,
  options: ErrorOptions = {},
): KernelError {
  const { code = deriveCode(source, "INVALID_INPUT"), retry, cause } = options;
  return createError(code, "input", "transient", message, source, retry, detail, cause);
}

/** Makes an error of category processing, severity degraded, code …_PROCESSING_FAILED. */
export function processingError(
  message: string,
  source: ModuleRef,
  detail?: JsonObject | null,
  cause?: KernelError | null,
  options: ErrorOptions = {},
): KernelError {
  const { code = deriveCode(source, "PROCESSING_FAILED"), retry } = options;
  return createError(code, "processing", "degraded", message, source, retry, detail, cause ?? options.cause);
}

/**
 * Makes an error of category external, severity transient if it may be retried, else degraded, code …_EXTERNAL_FAILED.
 */
export function externalError(
  message: string,
  source: ModuleRef,
  retry: boolean,
  detail?: JsonObject | null,
  options: Omit<ErrorOptions, "retry"> = {},
): KernelError {
  const { code = deriveCode(source, "EXTERNAL_FAILED"), cause } = options;
  return createError(code, "external", retry ? "transient" : "degraded", message, source, retry, detail, cause);
}

/** Makes an error of category resource, severity fatal, code …_RESOURCE_EXHAUSTED. */
export function resourceError(
  message: string,
  source: ModuleRef,
  detail?: JsonObject | null,
  options: ErrorOptions = {},
): KernelError {
  const { code = deriveCode(source, "RESOURCE_EXHAUSTED"), retry, cause } = options;
  return createError(code, "resource", "fatal", message, source, retry, detail, cause);
}

/** Makes an error of category policy, severity fatal, never retryable, code …_POLICY_VIOLATION. */
export function policyError(
  message: string,
  source: ModuleRef,
  detail?: JsonObject | null,
  options: Omit<ErrorOptions, "retry"> = {},
): KernelError {
  const { code = deriveCode(source, "POLICY_VIOLATION"), cause } = options;
  return createError(code, "policy", "fatal", message, source, false, detail, cause);
}

function deriveCode(source: ModuleRef, reason: string): string {
  const module = source.module.toUpperCase().match(/[A-Z0-9]+/g) ?? ["MODULE"];
  return `T${source.tier}_${module.join("_")}_${reason}`;
}

/** `unrecoverable`: the outer tier states that it cannot go on, so the wrapper is fatal and not retryable. */
export type WrapOptions = { readonly unrecoverable?: boolean; readonly detail?: JsonObject | null };

/**
 * Wraps an error as the cause of an outer one, which takes over category, severity and retry decision. The default
 * message names the outer function and the inner failure.
 */
export function wrapError(
  outerCode: string,
  inner: KernelError,
  source: ModuleRef,
  message?: string | null,
  options: WrapOptions = {},
): KernelError {
  const severity = options.unrecoverable ? "fatal" : inner.severity;
  const retry = inner.retry_eligible && !options.unrecoverable;
  const text = message ?? `${outerCode} in ${source.module}.${source.function}, caused by ${describeError(inner)}`;
  return createError(outerCode, inner.category, severity, text, source, retry, options.detail, inner);
}

/** The code of a received error and the module that receives it, by tier (a module name belongs to one tier). */
const receivers: readonly (readonly [ErrorCode, string] | undefined)[] = [
  undefined,
  ["T1_ESCALATION_UNHANDLED", "classification"],
  ["T2_ESCALATION_UNHANDLED", "context"],
  ["T3_ESCALATION_UNHANDLED", "planner"],
  ["T4_ESCALATION_UNHANDLED", "ooda_loop"],
  ["T5_ESCALATION_UNHANDLED", "ego"],
  ["T6_ESCALATION_UNHANDLED", "activation_router"],
  ["T7_ESCALATION_UNHANDLED", "team_orchestrator"],
];

/**
 * Returns the error as the next higher tier receives it: wrapped once, with that tier as source. An error of T7, the
 * highest tier, is returned unchanged.
 */
export function escalate(error: KernelError): KernelError {
  const tier = error.source.tier + 1;
  const receiver = receivers[tier];
  if (receiver === undefined) return error;
  const [code, module] = receiver;
  const message = `tier ${tier} received what tier ${tier - 1} could not handle: ${describeError(error)}`;
  const detail = { from_tier: tier - 1, to_tier: tier };
  return wrapError(code, error, moduleRef(tier, module, "escalate"), message, { detail });
}

export const ExecutorErrorCategory = z.enum([
  "validation",
  "authorization",
  "policy_denied",
  "transient",
  "dependency",
  "operator_bug",
  "timeout",
]);
export type ExecutorErrorCategory = z.infer<typeof ExecutorErrorCategory>;

/** The longest pause that an operator may ask for before the next attempt: a year. */
export const maxRetryAfterMs = 31_536_000_000;

/** The operator's and executor's view of an error. retry_after_ms is in milliseconds. */
export const ExecutorError = z
  .object({
    code: z.string(),
    message: z.string(),
    retryable: z.boolean(),
    retry_after_ms: z.int().min(0).max(maxRetryAfterMs).nullable().default(null),
    category: ExecutorErrorCategory,
    details: JsonObject.default({}),
  })
  .readonly();
export type ExecutorError = z.infer<typeof ExecutorError>;

/**
 * Returns whether the call may be tried again. A KernelError states it; for an ExecutorError the category decides:
 * transient and timeout yes, dependency by its flag, all others no.
 */
export function isRetryable(error: KernelError | ExecutorError): boolean {
  if ("retry_eligible" in error) return error.retry_eligible;
  if (error.category === "dependency") return error.retryable;
  return error.category === "transient" || error.category === "timeout";
}

// The content of detail.executor. `shadowed` is a member "executor" of the operator's own details.
const ExecutorTrace = z.object({
  code: z.string(),
  category: ExecutorErrorCategory,
  retry_after_ms: z.int().min(0).max(maxRetryAfterMs).nullable(),
  shadowed: z.unknown().optional(),
});
type ExecutorTrace = z.infer<typeof ExecutorTrace>;

/** Returns the executor's view of a KernelError. */
export function toExecutorError(error: KernelError): ExecutorError {
  const { trace, details } = readDetail(error.detail);
  return {
    code: trace?.code ?? error.code,
    message: error.message,
    retryable: error.retry_eligible,
    retry_after_ms: trace?.retry_after_ms ?? null,
    category: trace !== null && agrees(trace.category, error) ? trace.category : categorize(error),
    details,
  };
}

function agrees(category: ExecutorErrorCategory, { retry_eligible }: KernelError): boolean {
  return category === "dependency" || (category === "transient" || category === "timeout") === retry_eligible;
}

function readDetail(detail: JsonObject): { readonly trace: ExecutorTrace | null; readonly details: JsonObject } {
  const trace = Object.hasOwn(detail, "executor") ? ExecutorTrace.safeParse(detail["executor"]).data : undefined;
  if (trace === undefined) return { trace: null, details: detail };
  const { executor: _, ...rest } = detail;
  return { trace, details: trace.shadowed === undefined ? rest : { ...rest, executor: trace.shadowed } };
}

function categorize(error: KernelError): ExecutorErrorCategory {
  return error.retry_eligible ? categorizeRetryable(error) : categorizeFinal(error);
}

function categorizeRetryable({ category, severity, code }: KernelError): ExecutorErrorCategory {
  if (category === "external" && severity === "transient") return code.endsWith("TIMEOUT") ? "timeout" : "transient";
  if (category === "external" || (severity === "degraded" && canBeDependency(category))) return "dependency";
  return "transient";
}

function canBeDependency(category: ErrorCategory): boolean {
  return category === "resource" || category === "processing";
}

function categorizeFinal(error: KernelError): ExecutorErrorCategory {
  switch (error.category) {
    case "input":
      return "validation";
    case "policy":
      return /_AUTH[ZN]_/.test(error.code) ? "authorization" : "policy_denied";
    case "external":
      return "dependency";
    case "resource":
      return error.severity === "fatal" ? "policy_denied" : "dependency";
    case "processing":
      return categorizeProcessing(error);
  }
}

// A broken plan is the plan's fault: without an operator, an alert about an operator would be false.
function categorizeProcessing(error: KernelError): ExecutorErrorCategory {
  if (error.severity !== "fatal") return "dependency";
  const named = typeof error.detail["operator"] === "string" || error.code === "T4_OPERATOR_BUG";
  return named && error.source.tier === 4 ? "operator_bug" : "validation";
}

const kernelCodes: Readonly<Record<ExecutorErrorCategory, ErrorCode>> = {
  validation: "T0_VALIDATION_SCHEMA_MISMATCH",
  authorization: "T5_AUTHZ_FORBIDDEN",
  policy_denied: "T5_POLICY_DENIED",
  transient: "T4_TOOL_EXECUTION_FAILED",
  dependency: "T4_DEPENDENCY_FAILED",
  operator_bug: "T4_OPERATOR_BUG",
  timeout: "T4_TOOL_TIMEOUT",
};

const operatorRef = moduleRef(4, "operator", "invoke");

/**
 * Returns the KernelError for an executor's error. A kernel code is kept, with its catalogue row if that agrees with
 * the category; any other code becomes the category's code, or T4_OPERATOR_<CODE> when transient.
 */
export function fromExecutorError(error: ExecutorError, source: ModuleRef = operatorRef): KernelError {
  const code = errorCodePattern.test(error.code) ? error.code : toKernelCode(error);
  const rows = [...(isErrorCode(code) ? [errorCodes[code]] : []), errorCodes[kernelCodes[error.category]]];
  const plain = rows.map((row) => build(code, row, error, source));
  return plain.find((candidate) => rendersAs(candidate, error)) ?? withTrace(plain[plain.length - 1]!, error);
}

function toKernelCode({ code, category }: ExecutorError): string {
  return (category === "transient" ? toOwnCode(code) : null) ?? kernelCodes[category];
}

/** Returns a code in the operators' code space; null if the code holds no letter or digit. */
function toOwnCode(code: string): string | null {
  const words = code.toUpperCase().match(/[A-Z0-9]+/g);
  return words === null ? null : `T4_OPERATOR_${words.join("_")}`;
}

/**
 * Returns the KernelError for an error that an operator threw. Only T5 may report policy, people and budget: an
 * operator's `authorization`, `policy_denied` or T5 code becomes T4_OPERATOR_<CODE>, with the original in
 * `detail.executor`.
 */
export function fromOperatorError(error: ExecutorError): KernelError {
  const isOwn = error.category !== "authorization" && error.category !== "policy_denied";
  if (isOwn && !error.code.startsWith("T5_")) return fromExecutorError(error);
  const row = errorCodes[isRetryable(error) ? "T4_TOOL_EXECUTION_FAILED" : "T4_DEPENDENCY_FAILED"];
  return withTrace(build(toOwnCode(error.code) ?? "T4_DEPENDENCY_FAILED", row, error, operatorRef), error);
}

function build(
  code: string,
  row: Pick<KernelError, "category" | "severity">,
  error: ExecutorError,
  source: ModuleRef,
): KernelError {
  const retry = isRetryable(error);
  return createError(code, row.category, row.severity, error.message, source, retry, error.details);
}

function rendersAs(candidate: KernelError, error: ExecutorError): boolean {
  const view = toExecutorError(candidate);
  return (
    view.details === error.details &&
    view.code === error.code &&
    view.category === error.category &&
    view.retry_after_ms === error.retry_after_ms
  );
}

function withTrace(plain: KernelError, error: ExecutorError): KernelError {
  const { code, category, retry_after_ms, details } = error;
  const shadowed = Object.hasOwn(details, "executor") ? { shadowed: details["executor"] } : {};
  return KernelError.parse({
    ...plain,
    detail: { ...details, executor: { code, category, retry_after_ms, ...shadowed } },
  });
}
