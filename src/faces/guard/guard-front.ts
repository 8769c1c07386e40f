/**
 * The two faces of a guard: one client over this process's stdin and stdout, and any number over streamable HTTP.
 *
 * 1.  Over HTTP a session is its caller's, as in the MCP face; its connection to the server ends with it.
 * 2.  Clients of 2026-07-28 have no session. They are served where one server is behind, over HTTP; elsewhere they are
 *     told to begin a session, as clients of 2025-11-25 do.
 */
import type { Readable, Writable } from "node:stream";
import {
  classifyInboundRequest,
  isJSONRPCRequest,
  isLegacyRequest,
  type JSONRPCMessage,
  PerRequestHTTPServerTransport,
  type Transport,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import type { Kernel } from "../../index.ts";
import { boundedStream } from "../../protocol/bounded-stream.ts";
import { endingStream } from "../../protocol/ending-stream.ts";
import { errorWith } from "../../protocol/relayed-message.ts";
import { headerMismatch } from "../mcp/check-param-headers.ts";
import type { McpHandler, McpHandlerOptions } from "../mcp/create-mcp-handler.ts";
import { type AnswerMessage, handleWith, McpHandlerShape } from "../mcp/handle-request.ts";
import { McpServerOptions, readMcpOptions } from "../mcp/mcp-options.ts";
import { createSessions, type SessionServer } from "../mcp/mcp-sessions.ts";
import type { Guard, GuardServerOptions } from "./create-guard.ts";
import { findMismatch, withStatus } from "./http-refusal.ts";

export interface GuardStdio extends GuardServerOptions {
  readonly input: Readable;
  readonly output: Writable;
}

/** A client over stdin and stdout. */
export interface GuardConnection {
  /** Resolves when the connection is over, whichever side ended it. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
}

/** Serves one client over a pair of streams. @throws KernelErrorException T0_GUARD_UPSTREAM_GONE. */
export async function serveGuardStdio(guard: Guard, kernel: Kernel, given: GuardStdio): Promise<GuardConnection> {
  const { input, output, ...options } = given;
  const { limits } = readMcpOptions(McpServerOptions, kernel, options);
  const transport = new StdioServerTransport(input, output, { maxBufferSize: limits.maxBodyBytes });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const flush = (): Promise<boolean> =>
    new Promise((resolve) => void output.write("", (error) => resolve(error === null || error === undefined)));
  const session = await guard.connect(kernel, { transport: transport as Transport, flush }, options);
  session.onclose = end;
  return { ended, close: () => session.close() };
}

/** Creates the handler of MCP over HTTP, to be mounted in `createHttpApp`. */
export function createGuardHandler(guard: Guard, kernel: Kernel, asked: McpHandlerOptions = {}): McpHandler {
  const { allowedHosts, allowedOrigins, ...options } = readMcpOptions(McpHandlerShape, kernel, asked);
  const open = (caller: ScopedCaller): SessionServer => {
    let session: Awaited<ReturnType<Guard["connect"]>> | null = null;
    const server: SessionServer = {
      async connect(transport) {
        try {
          session = await guard.connect(kernel, { transport }, { ...options, caller });
          session.onclose = () => server.onclose?.();
        } catch (thrown) {
          server.onclose?.();
          throw thrown;
        }
      },
      close: async () => session?.close(),
      endAnswer: (id, isWhole) => session?.endAnswer(id, isWhole),
    };
    return server;
  };
  const sessions = createSessions(options, open);
  let requests = 0;
  const answerAlone = async (request: Request, caller: ScopedCaller, message: JSONRPCMessage): Promise<Response> => {
    const refused = refuseRequest(request, message);
    if (refused !== null) return refused;
    const transport = new PerRequestHTTPServerTransport({ classification: { era: "modern" } });
    const session = await guard.connect(kernel, { transport: transport as Transport }, { ...options, caller });
    requests += 1;
    session.onclose = () => {
      requests -= 1;
    };
    const response = await withStatus(await transport.handleMessage(message as never, { request }));
    if (response.body === null || !isJSONRPCRequest(message)) return response;
    const onEnd = (isWhole: boolean): void => session.endAnswer(message.id, isWhole);
    return new Response(endingStream(boundedStream(response.body), { onEnd }), response);
  };
  const answer: AnswerMessage = async (request, caller, message) => {
    if (await isLegacyRequest(request, message)) return sessions.answer(request, caller, message);
    if (guard.servesRequests) return answerAlone(request, caller, message as JSONRPCMessage);
    return refuseVersion(message);
  };
  return {
    handle: handleWith(options, { allowedHosts, allowedOrigins }, answer),
    vitals: () => ({ sessions: sessions.count(), streams: requests }),
    close: async () => {
      await sessions.close();
      await guard.close();
    },
  };
}

/** Answers that this address speaks the protocol with sessions only. */
function refuseVersion(message: unknown): Response {
  const error = new UnsupportedProtocolVersionError({ supported: ["2025-11-25"], requested: "2026-07-28" });
  const id = isJSONRPCRequest(message) ? message.id : null;
  const { code, message: why, data } = error;
  return Response.json(errorWith(id, { code, message: why, data }), { status: 400 });
}

/** Checks the envelope and the headers of a request of 2026-07-28. Returns the refusal, or null. */
function refuseRequest({ method, headers }: Request, body: JSONRPCMessage): Response | null {
  const [version, name, of] = ["mcp-protocol-version", "mcp-name", "mcp-method"].map(
    (header) => headers.get(header) ?? undefined,
  );
  const outcome = classifyInboundRequest({
    httpMethod: method,
    body,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(of !== undefined && { mcpMethodHeader: of }),
    ...(name !== undefined && { mcpNameHeader: name }),
  });
  const id = isJSONRPCRequest(body) ? body.id : null;
  const mismatch = isJSONRPCRequest(body) ? findMismatch(body, headers) : null;
  if (outcome.kind !== "reject" && mismatch === null) return null;
  const { httpStatus, ...rejected } =
    outcome.kind === "reject" ? outcome : { httpStatus: 400, code: headerMismatch, message: mismatch, data: undefined };
  const { code, message, data } = rejected;
  return Response.json(errorWith(id, { code, message, data }), { status: httpStatus });
}
