/**
 * One MCP server behind the guard: how it is reached, and the guard's own connection to it, for calls whose client is
 * gone and for the first listing of tools.
 *
 * 1.  The guard's own connection offers no sampling, elicitation or roots: nobody is there to answer.
 * 2.  A result is bounded. An error that the server answers with is a result, with the code that it had.
 */
import {
  type CallToolResult,
  ProtocolError,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { JsonObject } from "../../contract/json.ts";
import { McpConnection } from "../../packages/operators/mcp/connection.ts";
import { mcpError, readCallFailure } from "../../packages/operators/mcp/mcp-error.ts";
import { defaultMcpClientLimits } from "../../packages/operators/mcp/mcp-limits.ts";
import type { ToolRequest } from "./call-package.ts";
import { readSeen, requireSeen } from "./seen-tool.ts";
import { errorResult } from "./server-error.ts";

/** The place of a server: a program that speaks over its stdin and stdout, or an address. */
export type UpstreamPlace =
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

export interface UpstreamOptions {
  readonly name: string;
  readonly place: UpstreamPlace;
  readonly maxResultChars: number;
  readonly version: string;
}

export class Upstream {
  readonly name: string;
  /** Whether it is reached over HTTP, where each client of 2026-07-28 sends requests without a session. */
  readonly isHttp: boolean;
  readonly maxResultChars: number;
  readonly #place: UpstreamPlace;
  readonly #own: McpConnection;

  constructor({ name, place, maxResultChars, version }: UpstreamOptions) {
    this.name = name;
    this.maxResultChars = maxResultChars;
    this.#place = place;
    this.isHttp = "url" in place;
    this.#own = new McpConnection({
      transport: () => this.open(),
      clientInfo: { name: "countersign-guard", version },
      negotiation: this.isHttp ? "auto" : "legacy",
      roots: undefined,
      limits: { ...defaultMcpClientLimits, maxResultChars },
      onError: () => undefined,
    });
  }

  /** Opens a connection of its own: a child process, or a session. */
  open(): Transport {
    const place = this.#place;
    if ("url" in place)
      return new StreamableHTTPClientTransport(new URL(place.url), { requestInit: { headers: place.headers ?? {} } });
    return new StdioClientTransport({ command: place.command, args: [...place.args], env: { ...place.env } });
  }

  /** Returns the tools that the server lists now. @throws KernelErrorException. */
  tools(): Promise<readonly Tool[]> {
    return this.#own.tools();
  }

  /**
   * Calls a tool over the guard's own connection. @throws KernelErrorException T4_ACTION_IN_DOUBT if nobody knows
   * whether a call that may not be repeated took effect.
   */
  async call(asked: ToolRequest, signal: AbortSignal, repeatable: boolean): Promise<JsonObject> {
    if (asked.continues !== undefined)
      throw mcpError("T4_TOOL_EXECUTION_FAILED", "the client that answered the server's question is gone", {
        retry: false,
      });
    const listed = (await this.#own.tools()).find(({ name }) => name === asked.tool);
    requireSeen(asked, listed === undefined ? undefined : readSeen(listed), repeatable);
    let begun = false;
    try {
      const result = await this.#own.use(
        ({ client }) => {
          begun = true;
          return client.callTool({ name: asked.tool, arguments: asked.arguments }, { signal, timeout: unlimitedMs });
        },
        { signal },
      );
      return boundResult(result, this);
    } catch (thrown) {
      if (thrown instanceof ProtocolError) return errorResult(thrown);
      if (!begun) throw thrown;
      throw readCallFailure(thrown, { tool: asked.tool, repeatable, aborted: signal.aborted });
    }
  }

  close(): Promise<void> {
    return this.#own.close();
  }
}

/** Longer than any call may take: the operator's own timeout ends a call. */
const unlimitedMs = 2 ** 31 - 1;

/** Returns a result within the limit. @throws KernelErrorException T4_OUTPUT_INVALID. */
export function boundResult(result: CallToolResult | JsonObject, { name, maxResultChars }: Upstream): JsonObject {
  const size = JSON.stringify(result).length;
  if (size <= maxResultChars) return result as JsonObject;
  throw mcpError("T4_OUTPUT_INVALID", `${name} answered with ${size} characters, more than ${maxResultChars}`);
}
