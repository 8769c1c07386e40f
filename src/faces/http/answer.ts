/**
 * Answers: JSON, and errors as problem details (RFC 9457).
 *
 * 1.  Other errors than a KernelError are logged and not shown to the caller.
 * 2.  Retry-After is sent for errors that another attempt may resolve, and only from 0 upwards.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { type KernelError, KernelErrorException } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Logger, ProblemDetails } from "../../index.ts";
import { errorToProblemDetails } from "../../protocol/error-to-problem-details.ts";
import { streamJson } from "./stream-json.ts";
import { isShortJson, textOf } from "./write-json.ts";

const answerRef = moduleRef(0, "http", "answer");

/** Returns the error of anything thrown. */
export function errorOf(thrown: unknown, logger: Logger | undefined): KernelError {
  if (thrown instanceof KernelErrorException) return thrown.error;
  logger?.error({ thrown }, "a request failed in a way it should not");
  return kernelError("T0_HTTP_REQUEST_FAILED", "the server failed in a way it should not", answerRef);
}

/** Answers with an error. `trace` is the request's id, for errors that belong to no workflow. */
export function answerProblem(error: KernelError, trace: string): Response {
  const { correlation_id: correlation } = error.detail;
  const instance = typeof correlation === "string" ? correlation : trace;
  return sendProblem(errorToProblemDetails(error, { instance }));
}

export function sendProblem(problem: ProblemDetails, more: Readonly<Record<string, string>> = {}): Response {
  const { retry_after = -1, status, extensions } = problem;
  const headers = new Headers({ ...more, "content-type": "application/problem+json" });
  if (extensions.code === "T0_HTTP_CONTENT_ENCODING") headers.set("accept-encoding", "identity");
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="countersign"');
  if (extensions.retry_eligible && retry_after >= 0) headers.set("retry-after", String(retry_after));
  return new Response(JSON.stringify(problem), { status, headers });
}

/** The values of answers that are too large to be written at once. */
const largeBodies = new WeakMap<Response, unknown>();
const shortChars = 16_384;

/** Returns the value that `answerJson` made the answer of, if it is large. */
export const largeBodyOf = (answer: Response): unknown => largeBodies.get(answer);

/** Returns the answer whose body is this value as JSON; a large one is written only as it is read. */
export function answerJson(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  const head = { status, headers: { "content-type": "application/json", ...headers } };
  if (isShortJson(body, shortChars)) return new Response(textOf(body), head);
  const answer = new Response(streamJson(body, { onEnd: () => undefined }), head);
  largeBodies.set(answer, body);
  return answer;
}
