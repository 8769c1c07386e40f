/**
 * A KernelError as RFC 9457 problem details.
 *
 * Owns: type, title, status and the retry hint by severity. Never: sends a header; the HTTP edge does, and only for
 * hints from 0 upwards.
 */
import { errorCodes, isErrorCode } from "../contract/error-codes.ts";
import { httpStatusByCategory } from "../contract/error-row.ts";
import { FieldErrors } from "../contract/field-error.ts";
import type { ProblemCause, ProblemDetails } from "../contract/http.ts";
import { boundError, type KernelError } from "../contract/kernel-error.ts";

/**
 * `retryAfterSec`: the hint for transient errors that another attempt may resolve and whose detail has no
 * `retry_after_ms`, in seconds, 1 by default. `instance`: the correlation id.
 */
export type ProblemOptions = { readonly retryAfterSec?: number; readonly instance?: string };

/**
 * Renders an error: type `urn:kernel:error:<code>`, title the category, detail the message. The status is the catalogue
 * row's, unless the code has no row or wraps an error of another category: then the category's. `errors` are those of
 * the error's detail.
 */
export function errorToProblemDetails(error: KernelError, options: ProblemOptions = {}): ProblemDetails {
  const row = isErrorCode(error.code) ? errorCodes[error.code] : undefined;
  const { code, severity, retry_eligible } = error;
  const hint = retryHint(error, options.retryAfterSec ?? 1);
  return {
    type: `urn:kernel:error:${code}`,
    title: error.category,
    status: row?.category === error.category ? row.http : httpStatusByCategory[error.category],
    detail: error.message,
    ...(options.instance !== undefined && { instance: options.instance }),
    ...(hint !== null && { retry_after: hint }),
    ...describeFields(error),
    extensions: { code, severity, retry_eligible, ...(row && { next: row.next }), chain: listCauses(error) },
  };
}

function retryHint({ severity, retry_eligible, detail }: KernelError, retryAfterSec: number): number | null {
  if (severity === "fatal") return -1;
  if (severity !== "transient" || !retry_eligible) return null;
  const { retry_after_ms: ms } = detail;
  return typeof ms === "number" && ms >= 0 ? Math.ceil(ms / 1000) : retryAfterSec;
}

function describeFields({ detail }: KernelError): Pick<ProblemDetails, "errors"> {
  const { data: errors } = FieldErrors.safeParse(detail["errors"]);
  return errors === undefined ? {} : { errors };
}

function listCauses(error: KernelError): readonly ProblemCause[] {
  const chain: ProblemCause[] = [];
  for (let link: KernelError | null = boundError(error); link !== null; link = link.cause) {
    const { cause: _, ...rest } = link;
    chain.push(rest);
  }
  return chain;
}
