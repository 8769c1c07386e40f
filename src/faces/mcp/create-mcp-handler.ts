/**
 * createMcpHandler: MCP over streamable HTTP, for one address of the HTTP face, behind its authentication.
 *
 * 1.  Host and Origin are checked first: a page that a browser shows cannot reach a server of this machine.
 * 2.  A message is read once, within the limits; batches are refused.
 * 3.  Clients of 2025-11-25 and before have sessions; since 2026-07-28 each request stands for itself.
 */
import {
  createMcpHandler as createSdkHandler,
  hostHeaderValidationResponse,
  isJSONRPCRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import { errorCodes, isErrorCode, kernelError } from "../../contract/error-codes.ts";
import { isPlainObject } from "../../contract/json.ts";
import { type KernelError, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Kernel } from "../../index.ts";
import { createErrorResponse } from "../../protocol/envelope.ts";
import { errorToJsonrpcError } from "../../protocol/error-to-jsonrpc-error.ts";
import { orUnparsed, parseJson, readBodyText } from "../../protocol/read-body-text.ts";
import { listTools } from "./add-tools.ts";
import { refuseHeaders } from "./check-param-headers.ts";
import { createMcpServer } from "./create-mcp-server.ts";
import { createListening } from "./listen-modern.ts";
import type { McpContext } from "./mcp-context.ts";
import { errorOf } from "./mcp-error.ts";
import { McpOptions, type ResolvedMcpOptions, readMcpOptions, requireCaller } from "./mcp-options.ts";
import { createSessions } from "./mcp-sessions.ts";
import { authInfoOf, sdkOptions } from "./sdk-options.ts";

const Options = z.strictObject({
  ...McpOptions.shape,
  /** Host names that requests may be sent to; those of this machine by default. */
  allowedHosts: z.array(z.string()).readonly().optional(),
  /** Host names of pages that may call; those of this machine by default. */
  allowedOrigins: z.array(z.string()).readonly().optional(),
});
/** The options of MCP over HTTP. */
export interface McpHandlerOptions extends Readonly<z.input<typeof Options>> {}

/** MCP over HTTP, to be mounted at one address. */
export interface McpHandler {
  /** Answers one request of a known caller; `trace` is the request's id. */
  readonly handle: (request: Request, caller: ScopedCaller, trace: string) => Promise<Response>;
  /** Sessions and streams that are open. */
  readonly vitals: () => { readonly sessions: number; readonly streams: number };
  /** Ends all sessions and streams; the kernel goes on. */
  readonly close: () => Promise<void>;
}

const handlerRef = moduleRef(0, "mcp", "handler");

/**
 * Creates an MCP server over HTTP, to be mounted in `createHttpApp` or a server of one's own.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createMcpHandler(kernel: Kernel, asked: McpHandlerOptions = {}): McpHandler {
  const { allowedHosts, allowedOrigins, ...options } = readMcpOptions(Options, kernel, asked);
  const open = (caller: ScopedCaller) => createMcpServer(kernel, { ...options, caller });
  const sessions = createSessions(options, open);
  const modern = createSdkHandler((ctx) => open(ctx.authInfo?.extra?.["caller"] as ScopedCaller), sdkOptions(options));
  const listening = createListening(kernel, options, open);
  const answer = async (request: Request, caller: ScopedCaller): Promise<Response> => {
    const parsedBody = await readMessage(request, options);
    if (await isLegacyRequest(request, parsedBody)) return sessions.answer(request, caller, parsedBody);
    if (listening.isAsked(parsedBody)) return listening.answer(request, caller, parsedBody);
    const refusal = await refuseParamHeaders({ kernel, caller, options }, request, parsedBody);
    if (refusal !== null) return refusal;
    return modern.fetch(request, { parsedBody, authInfo: authInfoOf(caller) });
  };
  return {
    async handle(request, caller, trace) {
      try {
        return (
          refuseOrigin(request, { allowedHosts, allowedOrigins }) ?? (await answer(request, requireCaller(caller)))
        );
      } catch (thrown) {
        return answerError(errorOf(thrown, options.logger), trace);
      }
    },
    vitals: () => ({ sessions: sessions.count(), streams: listening.count() }),
    close: async () => {
      await Promise.all([sessions.close(), listening.close(), modern.close()]);
    },
  };
}

interface Allowed {
  readonly allowedHosts: readonly string[] | undefined;
  readonly allowedOrigins: readonly string[] | undefined;
}

/** Checks the headers; the SDK refuses requests that call no existing tool. */
async function refuseParamHeaders(
  context: McpContext,
  { headers }: Request,
  message: unknown,
): Promise<Response | null> {
  if (!isJSONRPCRequest(message) || message.method !== "tools/call") return null;
  const tool = (await listTools(context)).find(({ name }) => name === message.params?.["name"]);
  return tool === undefined ? null : refuseHeaders(message, tool.inputSchema, headers);
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
