/**
 * createMcpHandler: MCP over streamable HTTP, for one address of the HTTP face, behind its authentication.
 *
 * 1.  Clients of 2025-11-25 and before have sessions; since 2026-07-28 each request stands for itself.
 */
import { createMcpHandler as createSdkHandler, isJSONRPCRequest, isLegacyRequest } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import type { Kernel } from "../../index.ts";
import { listTools } from "./add-tools.ts";
import { refuseHeaders } from "./check-param-headers.ts";
import { createMcpServer } from "./create-mcp-server.ts";
import { type AnswerMessage, handleWith, McpHandlerShape } from "./handle-request.ts";
import { createListening } from "./listen-modern.ts";
import type { McpContext } from "./mcp-context.ts";
import { readMcpOptions } from "./mcp-options.ts";
import { createSessions } from "./mcp-sessions.ts";
import { authInfoOf, sdkOptions } from "./sdk-options.ts";

/** The options of MCP over HTTP. */
export interface McpHandlerOptions extends Readonly<z.input<typeof McpHandlerShape>> {}

/** MCP over HTTP, to be mounted at one address. */
export interface McpHandler {
  /** Answers one request of a known caller; `trace` is the request's id. */
  readonly handle: (request: Request, caller: ScopedCaller, trace: string) => Promise<Response>;
  /** Sessions and streams that are open. */
  readonly vitals: () => { readonly sessions: number; readonly streams: number };
  /** Ends all sessions and streams; the kernel goes on. */
  readonly close: () => Promise<void>;
}

/**
 * Creates an MCP server over HTTP, to be mounted in `createHttpApp` or a server of one's own.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createMcpHandler(kernel: Kernel, asked: McpHandlerOptions = {}): McpHandler {
  const { allowedHosts, allowedOrigins, ...options } = readMcpOptions(McpHandlerShape, kernel, asked);
  const open = (caller: ScopedCaller) => createMcpServer(kernel, { ...options, caller });
  const sessions = createSessions(options, open);
  const modern = createSdkHandler((ctx) => open(ctx.authInfo?.extra?.["caller"] as ScopedCaller), sdkOptions(options));
  const listening = createListening(kernel, options, open);
  const answer: AnswerMessage = async (request, caller, parsedBody) => {
    if (await isLegacyRequest(request, parsedBody)) return sessions.answer(request, caller, parsedBody);
    if (listening.isAsked(parsedBody)) return listening.answer(request, caller, parsedBody);
    const refusal = await refuseParamHeaders({ kernel, caller, options }, request, parsedBody);
    if (refusal !== null) return refusal;
    return modern.fetch(request, { parsedBody, authInfo: authInfoOf(caller) });
  };
  return {
    handle: handleWith(options, { allowedHosts, allowedOrigins }, answer),
    vitals: () => ({ sessions: sessions.count(), streams: listening.count() }),
    close: async () => {
      await Promise.all([sessions.close(), listening.close(), modern.close()]);
    },
  };
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
