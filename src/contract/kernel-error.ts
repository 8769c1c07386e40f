// KernelError: the record of a failure, its maker, and the one Error class that carries it (seed 000).
// Owns: the code convention, categories and severities, the frozen record, KernelErrorException.
// Never: decides what happens next; retry_eligible informs the caller. The catalogue is error-codes.ts, the convenience
// factories and the executor view are error.ts.
// Invariants
// 1. A KernelError is frozen and its code obeys T<tier>_<MODULE>_<REASON>.
// 2. cause leads from the outermost failure to the root, whose cause is null.

import { z } from "zod";
import { deepFreeze, JsonObject } from "./json.ts";
import { isModuleRef, ModuleRef, moduleRef } from "./module-ref.ts";

/** input, processing, external, resource or policy. */
export const ErrorCategory = z.enum(["input", "processing", "external", "resource", "policy"]);
export type ErrorCategory = z.infer<typeof ErrorCategory>;

/** transient: another attempt will probably do; degraded: work goes on at lower quality; fatal: it cannot go on. */
export const Severity = z.enum(["transient", "degraded", "fatal"]);
export type Severity = z.infer<typeof Severity>;

export const errorCodePattern: RegExp = /^T[0-7](?:_[A-Z0-9]+){2,}$/;

export type KernelError = {
  readonly code: string;
  readonly category: ErrorCategory;
  readonly severity: Severity;
  readonly message: string;
  readonly source: ModuleRef;
  readonly retry_eligible: boolean;
  readonly detail: JsonObject;
  readonly cause: KernelError | null;
};

type KernelErrorInput = Omit<KernelError, "detail" | "cause"> & {
  readonly detail?: JsonObject | undefined;
  readonly cause?: KernelErrorInput | null | undefined;
};

/** Parses to a frozen KernelError; detail defaults to {} and cause to null. */
export const KernelError: z.ZodType<KernelError, KernelErrorInput> = z
  .object({
    code: z.string().regex(errorCodePattern),
    category: ErrorCategory,
    severity: Severity,
    message: z.string(),
    source: ModuleRef,
    retry_eligible: z.boolean(),
    detail: JsonObject.default({}),
    get cause(): z.ZodType<KernelError | null, KernelErrorInput | null | undefined> {
      return z.union([KernelError, z.null()]).default(null);
    },
  })
  .overwrite(deepFreeze);

/** Carries a KernelError where a throw is the language's way: inside a tier, and out of the in-process API. */
export class KernelErrorException extends Error {
  readonly error: KernelError;

  constructor(error: KernelError) {
    super(`${error.code}: ${error.message}`);
    this.name = "KernelErrorException";
    this.error = error;
  }
}

/** Throws the error in its carrier. */
export function raise(error: KernelError): never {
  throw new KernelErrorException(error);
}

/**
 * Builds a frozen KernelError; `detail` is frozen in place (seed 000, create_error). A code that breaks the convention
 * is refused with a KernelErrorException of category input.
 */
export function createError(
  code: string,
  category: ErrorCategory,
  severity: Severity,
  message: string,
  source: ModuleRef,
  retry = false,
  detail: JsonObject | null = null,
  cause: KernelError | null = null,
): KernelError {
  if (!errorCodePattern.test(code)) refuseCode(code);
  return deepFreeze({
    code,
    category,
    severity,
    message,
    source: Object.isFrozen(source) ? source : { ...source },
    retry_eligible: retry,
    detail: detail ?? {},
    cause,
  });
}

const createErrorRef = moduleRef(0, "errors", "create_error");

function refuseCode(code: string): never {
  const message = `error code ${JSON.stringify(code)} is not T<tier>_<MODULE>_<REASON>`;
  raise(createError("T0_VALIDATION_SCHEMA_MISMATCH", "input", "transient", message, createErrorRef, false, { code }));
}

/** Tells a KernelError from the other half of a union (Signal | KernelError, Result | KernelError). */
export function isKernelError(value: unknown): value is KernelError {
  if (typeof value !== "object" || value === null) return false;
  const error = value as Partial<KernelError>;
  return (
    typeof error.code === "string" &&
    errorCodePattern.test(error.code) &&
    typeof error.message === "string" &&
    typeof error.retry_eligible === "boolean" &&
    isModuleRef(error.source)
  );
}
