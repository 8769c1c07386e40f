/**
 * One request of MCP over HTTP: its host and origin, its message within the limits, and the form of an error.
 *
 * 1.  Host and Origin are checked first: a page that a browser shows cannot reach a server of this machine.
 * 2.  A message is read once, within the limits; batches are refused.
 */
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import { errorCodes, isErrorCode, kernelError } from "../../contract/error-codes.ts";
import { isPlainObject } from "../../contract/json.ts";
import { type KernelError, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { createErrorResponse } from "../../protocol/envelope.ts";
import { errorToJsonrpcError } from "../../protocol/error-to-jsonrpc-error.ts";
import { orUnparsed, parseJson, readBodyText } from "../../protocol/read-body-text.ts";
import { errorOf } from "./mcp-error.ts";
import { McpOptions, type ResolvedMcpOptions, requireCaller } from "./mcp-options.ts";

export const McpHandlerShape = z.strictObject({
  ...McpOptions.shape,
  /** Host names that requests may be sent to; those of this machine by default. */
  allowedHosts: z.array(z.string()).readonly().optional(),
  /** Host names of pages that may call; those of this machine by default. */
  allowedOrigins: z.array(z.string()).readonly().optional(),
});
const handlerRef = moduleRef(0, "mcp", "handler");

/** Answers a message; it is undefined where the request has none. */
export type AnswerMessage = (request: Request, caller: ScopedCaller, message: unknown) => Promise<Response>;

/** Returns the function that answers one request of a known caller; `trace` is the request's id. */
export const handleWith =
  (options: ResolvedMcpOptions, allowed: Allowed, answer: AnswerMessage) =>
  async (request: Request, caller: ScopedCaller, trace: string): Promise<Response> => {
    try {
      const refused = refuseOrigin(request, allowed);
      return refused ?? (await answer(request, requireCaller(caller), await readMessage(request, options)));
    } catch (thrown) {
      return answerError(errorOf(thrown, options.logger), trace);
    }
  };

interface Allowed {
  readonly allowedHosts: readonly string[] | undefined;
  readonly allowedOrigins: readonly string[] | undefined;
}

function refuseOrigin(request: Request, { allowedHosts, allowedOrigins }: Allowed): Response | undefined {
  const local = localhostAllowedHostnames();
  return (
    hostHeaderValidationResponse(request, [...(allowedHosts ?? local)]) ??
    originValidationResponse(request, [...(allowedOrigins ?? local)])
  );
}

/** Returns the message; undefined if a request has none. @throws KernelErrorException with status 400, 413 or 415. */
async function readMessage(request: Request, { limits }: ResolvedMcpOptions): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  const message = await orUnparsed(async () => parseJson(await readBodyText(request, limits), limits.maxDepth));
  if (!isMessage(message))
    raise(kernelError("T0_RPC_REQUEST_INVALID", "the body is one message of JSON-RPC 2.0, and no batch", handlerRef));
  return message;
}

const isMessage = (body: unknown): boolean =>
  isPlainObject(body) &&
  body["jsonrpc"] === "2.0" &&
  (typeof body["method"] === "string" || "result" in body || "error" in body);

/** Answers with an error outside any message, in JSON-RPC's form: with the id null. */
function answerError(error: KernelError, trace: string): Response {
  const status = isErrorCode(error.code) ? errorCodes[error.code].http : 500;
  const { code, message, data } = errorToJsonrpcError(error);
  const body = createErrorResponse(null, code, message, data);
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "x-request-id": trace },
  });
}
