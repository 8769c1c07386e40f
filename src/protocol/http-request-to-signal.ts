/**
 * An HTTP request body as the entry Signal of a request.
 *
 * Owns: telling a JobRequest (TEXT) from any other structured body (DATA). Never: authenticates or submits. The Signal
 * has no parent: every chain of parents ends here.
 */
import { JobRequest } from "../contract/http.ts";
import { isPlainObject } from "../contract/json.ts";
import { readRequest } from "../contract/known-keys.ts";
import { type ModuleRef, moduleRef } from "../contract/module-ref.ts";
import { ambientSignals, type Signal, type SignalFactory } from "../contract/signal.ts";

/** `schema`: the name of a structured body's schema; with it the body is never read as a JobRequest. */
export type HttpRequestOptions = {
  readonly schema?: string;
  readonly origin?: ModuleRef;
  readonly signals?: SignalFactory;
};

const bridgeRef = moduleRef(0, "gateway", "http_request_to_signal");

/**
 * Makes a Signal. A JobRequest gives TEXT with body {text: query} and job_type, depth and max_steps as string tags; any
 * other body gives DATA with a schema name. Tag source_type is user. Throws an input KernelErrorException for a
 * JobRequest with bad values.
 */
export function httpRequestToSignal(request: unknown, traceId: string, options: HttpRequestOptions = {}): Signal {
  const { schema, origin = bridgeRef, signals = ambientSignals } = options;
  if (schema !== undefined || !looksLikeJob(request)) {
    return signals.createDataSignal(request, schema ?? "HttpBody", origin, traceId, { source_type: "user" });
  }
  const job = parseJob(request);
  return signals.createTextSignal(job.query, origin, traceId, { source_type: "user", ...jobTags(job) });
}

const jobKeys: ReadonlySet<string> = new Set(["query", "job_type", "depth", "max_steps"]);

function looksLikeJob(request: unknown): boolean {
  return (
    isPlainObject(request) &&
    typeof request["query"] === "string" &&
    Object.keys(request).every((key) => jobKeys.has(key))
  );
}

function parseJob(request: unknown): JobRequest {
  return readRequest(JobRequest, request, { what: "job request", source: bridgeRef });
}

function jobTags({ job_type, depth, max_steps }: JobRequest): Readonly<Record<string, string>> {
  return {
    ...(job_type !== undefined && { job_type }),
    ...(depth !== undefined && { depth: String(depth) }),
    ...(max_steps !== undefined && { max_steps: String(max_steps) }),
  };
}
