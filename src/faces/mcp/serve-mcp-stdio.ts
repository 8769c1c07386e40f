/**
 * MCP over this process's own stdin and stdout: one connection, for one caller.
 *
 * 1.  Nothing but protocol is written to stdout.
 * 2.  The connection ends when its input does, when its output is closed, and at a message beyond the limit; the host
 *     stops the kernel.
 */
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Kernel } from "../../index.ts";
import { createMcpServer, type McpServerOptions } from "./create-mcp-server.ts";
import { followListening } from "./listen-stdio.ts";
import { requireCaller, resolveMcpOptions, takeMcpOptions } from "./mcp-options.ts";

/** The options of MCP over stdin and stdout. */
export interface StdioOptions extends McpServerOptions {
  /** The process's stdin by default. */
  readonly input?: Readable;
  /** The process's stdout by default. */
  readonly output?: Writable;
}

/** MCP over stdin and stdout, open. */
export interface StdioConnection {
  /** Resolves when the connection is over, whichever side ended it. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Serves the kernel as an MCP server over stdin and stdout.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function serveMcpStdio(kernel: Kernel, given: StdioOptions): StdioConnection {
  const { input = process.stdin, output = process.stdout, ...options } = takeMcpOptions(kernel, given);
  const { caller, ...told } = options;
  const context = { kernel, caller: requireCaller(caller), options: resolveMcpOptions(told) };
  const { limits, logger } = context.options;
  let server = createMcpServer(kernel, options);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  for (const event of ["end", "close", "error"]) input.once(event, () => end());
  const transport = new StdioServerTransport(input, output, { maxBufferSize: limits.maxBodyBytes });
  const open = () => {
    server = createMcpServer(kernel, options);
    return server;
  };
  const { maxSubscriptions } = limits;
  const onerror = (error: Error): void =>
    logger?.warn({ error: describeError(error) }, "the MCP connection had an error");
  const handle = serveStdio(open, { transport, maxSubscriptions, onerror });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    end();
  };
  const unfollow = followListening(transport, context, (uri) => server.sendResourceUpdated({ uri }));
  void ended.then(unfollow);
  const close = (): Promise<void> => {
    unfollow();
    return handle.close();
  };
  return { ended, close };
}

interface Issue {
  readonly message: string;
}

/** Describes an error on one line; one of the SDK's own schema by its issues. */
function describeError(error: Error): string {
  const { issues } = error as { readonly issues?: readonly Issue[] };
  if (issues === undefined) return error.message;
  const why = issues.map(({ message }) => message).join("; ");
  return `a message that is no single one of JSON-RPC 2.0 was passed over (${why})`;
}
