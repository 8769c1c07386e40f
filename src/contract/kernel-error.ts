/**
 * KernelError: the record of a failure, its maker, and the one Error class that carries it.
 *
 * Owns: the code convention, categories and severities, the frozen record, KernelErrorException. Never: decides what
 * happens next; retry_eligible informs the caller. The catalogue is error-codes.ts, the convenience factories and the
 * executor view are error.ts.
 * 1.  A KernelError is frozen and its code obeys T<tier>_<MODULE>_<REASON>.
 * 2.  cause leads from the outermost failure to the root, whose cause is null.
 * 3.  Errors of createError are bounded: a text has at most maxErrorChars, a chain at most maxCauses. Of a longer
 *     chain the outermost errors and the root are kept. A parse refuses longer ones.
 */
import { z } from "zod";
import { deepFreeze, isPlainObject, JsonObject } from "./json.ts";
import { isModuleRef, ModuleRef, moduleRef } from "./module-ref.ts";

/** input, processing, external, resource or policy. */
export const ErrorCategory = z.enum(["input", "processing", "external", "resource", "policy"]);
export type ErrorCategory = z.infer<typeof ErrorCategory>;

/**
 * transient: another attempt will probably succeed; degraded: work continues at lower quality; fatal: it cannot
 * continue.
 */
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

/**
 * The limit on the characters of a message, and of an error's text inside another error's message; the cause holds the
 * rest.
 */
export const maxErrorChars = 4_000;
const maxNestedChars = 500;
/** Causes behind an error. */
export const maxCauses = 32;

const KernelErrorRecord: z.ZodType<KernelError, KernelErrorInput> = z
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

/** Parses to a frozen KernelError; detail defaults to {} and cause to null. Refuses more than maxCauses causes. */
export const KernelError = z.preprocess((value, context) => {
  if (isPlainObject(value) && isTooDeep(value["cause"]))
    context.addIssue({ code: "custom", message: `an error has at most ${maxCauses} causes`, path: ["cause"] });
  return value;
}, KernelErrorRecord) as unknown as z.ZodType<KernelError, KernelErrorInput>;

function isTooDeep(cause: unknown): boolean {
  let left = maxCauses;
  for (let at = cause; isPlainObject(at); at = at["cause"]) {
    if (left === 0) return true;
    left -= 1;
  }
  return false;
}

/** Returns an error's text, cut to the limit. */
export const capText = (text: string, most = maxErrorChars): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;

/** Returns an error as text for another error's message. */
export const describeError = ({ code, message }: KernelError): string => `${code}: ${capText(message, maxNestedChars)}`;

/** Returns the error within its bounds (invariant 3); the same reference if it is bounded already. */
export function boundError(error: KernelError): KernelError {
  const message = capText(error.message);
  const cause = boundCauses(error.cause ?? null);
  return message === error.message && cause === error.cause ? error : deepFreeze({ ...error, message, cause });
}

function boundCauses(cause: KernelError | null): KernelError | null {
  if (cause === null || (!isTooDeep(cause) && isShort(cause))) return cause;
  const kept: KernelError[] = [];
  let root = cause;
  // A chain that leads back to itself ends where it begins anew.
  const seen = new Set<KernelError>();
  for (let at: KernelError | null = cause; at !== null && !seen.has(at); at = at.cause ?? null) {
    if (kept.length < maxCauses - 1) kept.push(at);
    seen.add(at);
    root = at;
  }
  if (kept.at(-1) !== root) kept.push(root);
  return kept.reduceRight<KernelError | null>(
    (inner, at) => ({ ...at, message: capText(at.message), cause: inner }),
    null,
  );
}

function isShort(error: KernelError): boolean {
  for (let at: KernelError | null = error; at !== null; at = at.cause ?? null)
    if (at.message.length > maxErrorChars) return false;
  return true;
}

/** Returns the message of anything thrown, cut to the limit for nesting. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return capText(String(thrown.message));
    return capText(typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown)));
  } catch {
    return "a value that cannot be shown";
  }
}

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
 * Builds a frozen KernelError; `detail` is frozen in place. A code that breaks the convention
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
    message: capText(message),
    source: Object.isFrozen(source) ? source : { ...source },
    retry_eligible: retry,
    detail: detail ?? {},
    cause: boundCauses(cause),
  });
}

const createErrorRef = moduleRef(0, "errors", "create_error");

function refuseCode(code: string): never {
  const message = `error code ${JSON.stringify(code)} is not T<tier>_<MODULE>_<REASON>`;
  raise(createError("T0_VALIDATION_SCHEMA_MISMATCH", "input", "transient", message, createErrorRef, false, { code }));
}

/**
 * Returns whether a value is a KernelError and not the other half of a union (Signal | KernelError, Result |
 * KernelError).
 */
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
