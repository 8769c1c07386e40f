/**
 * Result: the return value of every kernel function.
 *
 * Owns: the status, the metrics, the four makers, and the check that status, signals and error agree. Never: decides
 * how a consumer uses it. Invariant: ok has no error; partial has signals and an error; error has an error; skip has
 * neither.
 */
import { z } from "zod";
import { kernelError } from "./error-codes.ts";
import { isKernelError, KernelError } from "./kernel-error.ts";
import { isModuleRef, ModuleRef, moduleRef } from "./module-ref.ts";
import { Signal, validateSignal } from "./signal.ts";

/** The status of a tier's answer. */
export const ResultStatus = z.enum(["ok", "partial", "error", "skip"]);
export type ResultStatus = z.infer<typeof ResultStatus>;

/** duration_ms is wall time in milliseconds; token_count is 0 without a model call. */
export const Metrics = z
  .object({
    duration_ms: z.number().default(0),
    token_count: z.int().default(0),
    cache_hit: z.boolean().default(false),
    module_ref: ModuleRef,
  })
  .readonly();
export type Metrics = z.infer<typeof Metrics>;

/** `reason` states why a function was skipped; other results lack the key. */
export const Result = z
  .object({
    status: ResultStatus,
    signals: z.array(Signal).readonly().default([]),
    error: KernelError.nullable().default(null),
    metrics: Metrics,
    reason: z.string().nullish(),
  })
  .readonly();
export type Result = z.infer<typeof Result>;

const unmeasured = {};

/** Makes the metrics of one call: zeros except for the `measured` values. */
export function metricsOf(ref: ModuleRef, measured: Partial<Omit<Metrics, "module_ref">> = unmeasured): Metrics {
  const { duration_ms = 0, token_count = 0, cache_hit = false } = measured;
  return Object.freeze({ duration_ms, token_count, cache_hit, module_ref: ref });
}

/** Makes a full success. */
export function ok(signals: readonly Signal[], metrics: Metrics): Result {
  const given = Object.isFrozen(signals) ? signals : Object.freeze([...signals]);
  return Object.freeze({ status: "ok", signals: given, error: null, metrics });
}

/** Makes a partial success: some signals, and the error that withheld the rest. */
export function partial(signals: readonly Signal[], error: KernelError, metrics: Metrics): Result {
  return Object.freeze({ status: "partial", signals: Object.freeze([...signals]), error, metrics });
}

const none: readonly Signal[] = Object.freeze([]);

/** Makes a failure, without signals. */
export function fail(error: KernelError, metrics: Metrics): Result {
  return Object.freeze({ status: "error", signals: none, error, metrics });
}

/** Makes the result of a function that was skipped on purpose; the `reason` stays readable. */
export function skip(reason: string, metrics: Metrics): Result {
  return Object.freeze({ status: "skip", signals: none, error: null, metrics, reason });
}

const validateRef = moduleRef(0, "validation", "validate_result");

/**
 * Returns the same reference if the Result is consistent and each of its signals is valid; else, without throwing, an
 * input KernelError. A failing signal's error is the cause, and detail names its id and index.
 */
export function validateResult(result: Result): Result | KernelError {
  const problem = findShapeProblem(result) ?? findStatusProblem(result);
  if (problem !== null) return kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `result: ${problem}`, validateRef);
  return findSignalError(result.signals) ?? result;
}

function findShapeProblem(result: Result): string | null {
  if (typeof result !== "object" || result === null) return "not an object";
  if (!Array.isArray(result.signals)) return "signals is not a list";
  if (result.error !== null && !isKernelError(result.error)) return "error is neither null nor a KernelError";
  return isMetrics(result.metrics) ? null : "metrics are missing or malformed";
}

function isMetrics(metrics: Partial<Metrics> | null | undefined): boolean {
  if (typeof metrics !== "object" || metrics === null) return false;
  const { duration_ms, token_count, cache_hit } = metrics;
  const typed = typeof duration_ms === "number" && Number.isInteger(token_count) && typeof cache_hit === "boolean";
  return typed && isModuleRef(metrics.module_ref);
}

function findStatusProblem({ status, signals, error }: Result): string | null {
  switch (status) {
    case "ok":
      return error === null ? null : "status ok has an error";
    case "partial":
      return error !== null && signals.length > 0 ? null : "status partial needs a signal and an error";
    case "error":
      return error === null ? "status error has no error" : null;
    case "skip":
      return signals.length === 0 && error === null ? null : "status skip has signals or an error";
    default:
      return "unknown status";
  }
}

function findSignalError(signals: readonly Signal[]): KernelError | null {
  for (let index = 0; index < signals.length; index += 1) {
    const signal = signals[index] as Signal;
    const checked = validateSignal(signal);
    if (checked !== signal) return signalError(checked as KernelError, index);
  }
  return null;
}

function signalError(cause: KernelError, index: number): KernelError {
  const detail = { ...cause.detail, index };
  const message = `result: signal ${index} is invalid: ${cause.message}`;
  return kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, validateRef, { detail, cause });
}
