/**
 * MCP over this process's own stdin and stdout: one connection, for one caller.
 *
 * IO1  Nothing but protocol is written to stdout.
 * IO2  The connection ends when its input does; the kernel is the host's to stop.
 */
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Kernel } from "../index.ts";
import { createMcpServer, type McpServerOptions } from "./create-mcp-server.ts";
import { resolveMcpOptions } from "./mcp-options.ts";

export interface StdioOptions extends McpServerOptions {
  readonly input?: Readable;
  readonly output?: Writable;
}

export interface StdioConnection {
  /** Resolves when the client has closed the input. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options. */
export function serveMcpStdio(
  kernel: Kernel,
  { input = process.stdin, output = process.stdout, ...options }: StdioOptions,
): StdioConnection {
  const { limits, logger } = resolveMcpOptions(options);
  createMcpServer(kernel, options);
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) input.once(event, () => resolve());
  });
  const transport = new StdioServerTransport(input, output, { maxBufferSize: limits.maxBodyBytes });
  const handle = serveStdio(() => createMcpServer(kernel, options), {
    transport,
    maxSubscriptions: limits.maxSubscriptions,
    onerror: (error) => logger?.warn({ error: error.message }, "the MCP connection had an error"),
  });
  return { ended, close: () => handle.close() };
}
