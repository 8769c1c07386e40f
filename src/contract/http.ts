/**
 * HTTP bodies that the bridges make and read: success envelope, problem details, jobs.
 *
 * Owns: the shapes. A status number belongs to ProblemDetails; a success says `success: true`. Never: knows routes,
 * headers or sockets.
 */
import { z } from "zod";
import { FieldErrors } from "./field-error.ts";
import { SubmitResponse } from "./intent.ts";
import { JsonObject } from "./json.ts";
import { ErrorCategory, Severity } from "./kernel-error.ts";
import { ModuleRef } from "./module-ref.ts";
import { Metrics } from "./result.ts";
import { Signal } from "./signal.ts";

/** One link of a cause chain. */
export const ProblemCause = z
  .object({
    code: z.string(),
    category: ErrorCategory,
    severity: Severity,
    message: z.string(),
    source: ModuleRef,
    retry_eligible: z.boolean(),
    detail: JsonObject,
  })
  .readonly();
export type ProblemCause = z.infer<typeof ProblemCause>;

/**
 * The body of an error (RFC 9457). `retry_after` is -1 (do not retry), a number of seconds if another attempt may help,
 * or absent if the request has to be corrected; only values from 0 make a header. `errors` lists the errors of a
 * request that does not satisfy its schema. `extensions.chain` is the whole cause chain, outermost first; `next` is the
 * next step for a person.
 */
export const ProblemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    instance: z.string().optional(),
    retry_after: z.number().min(-1).optional(),
    errors: FieldErrors.optional(),
    extensions: z.object({
      code: z.string(),
      severity: Severity,
      retry_eligible: z.boolean(),
      next: z.string().optional(),
      chain: z.array(ProblemCause).readonly(),
    }),
  })
  .readonly();
export type ProblemDetails = z.infer<typeof ProblemDetails>;

/** An ok, partial or skipped Result over HTTP. partial carries the error's view, skip the reason and no data. */
export const HttpSuccess = z.object({
  success: z.literal(true),
  status: z.enum(["ok", "partial", "skip"]),
  data: z.array(Signal).readonly(),
  error: ProblemDetails.optional(),
  reason: z.string().optional(),
  metrics: Metrics,
});
export type HttpSuccess = z.infer<typeof HttpSuccess>;

/** A question with the facts that are known about its job. */
export const JobRequest = z
  .strictObject({
    query: z.string().min(1),
    job_type: z.string().min(1).optional(),
    depth: z.int().min(0).optional(),
    max_steps: z.int().min(1).optional(),
  })
  .readonly();
export type JobRequest = z.infer<typeof JobRequest>;

export const JobMetadata = z.object({
  trace_id: z.string(),
  job_type: z.string().optional(),
  depth: z.int().optional(),
  max_steps: z.int().optional(),
});
export type JobMetadata = z.infer<typeof JobMetadata>;

/** A job that is not finished: it runs, or waits for a person. `stream` is the address at which it can be followed. */
export const JobPending = SubmitResponse.extend({ status: z.enum(["running", "waiting_for_user"]) });
export type JobPending = z.infer<typeof JobPending>;

/** The success envelope with the job's metadata. */
export const JobResponse = HttpSuccess.extend({ job: JobMetadata });
export type JobResponse = z.infer<typeof JobResponse>;
