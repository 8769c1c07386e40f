/**
 * A Result as an HTTP body.
 *
 * Owns: the success envelope and the job's envelope. Errors go through error-to-problem-details.ts.
 */
import { processingError } from "../contract/error.ts";
import type { HttpSuccess, JobMetadata, JobResponse, ProblemDetails } from "../contract/http.ts";
import type { KernelError } from "../contract/kernel-error.ts";
import type { Result } from "../contract/result.ts";
import { errorToProblemDetails, type ProblemOptions } from "./error-to-problem-details.ts";

/** `job`: makes a success a JobResponse. The rest is for the problem details. */
export type HttpResponseOptions = ProblemOptions & { readonly job?: JobMetadata };

/**
 * Renders a Result. ok, partial and skip give the success envelope whose data are the Signals; partial adds the error's
 * view and skip the reason. error gives ProblemDetails.
 */
export function resultToHttpResponse(
  result: Result,
  options: HttpResponseOptions = {},
): HttpSuccess | JobResponse | ProblemDetails {
  if (result.status === "error") return errorToProblemDetails(requireError(result), options);
  const success: HttpSuccess = {
    success: true,
    status: result.status,
    data: result.signals,
    ...(result.error !== null && { error: errorToProblemDetails(result.error, options) }),
    ...(result.reason != null && { reason: result.reason }),
    metrics: result.metrics,
  };
  return options.job === undefined ? success : { ...success, job: options.job };
}

// validateResult refuses an error Result without an error; at the edge it still must not become a success.
function requireError({ error, metrics }: Result): KernelError {
  return error ?? processingError("the result says error and carries none", metrics.module_ref);
}
