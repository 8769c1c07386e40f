/**
 * MCP over this process's own stdin and stdout: one connection, for one caller.
 *
 * 1.  Nothing but protocol is written to stdout.
 * 2.  The connection ends when its input does, when its output is closed, and at a message beyond the limit; the host
 *     stops the kernel.
 */
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { objectWith } from "../../contract/host-object.ts";
import type { Kernel } from "../../index.ts";
import { createMcpServer } from "./create-mcp-server.ts";
import { followListening } from "./listen-stdio.ts";
import { McpServerOptions, readMcpOptions } from "./mcp-options.ts";

const Options = z.strictObject({
  ...McpServerOptions.shape,
  /** The process's stdin by default. */
  input: objectWith<Readable>("once").default(() => process.stdin),
  /** The process's stdout by default. */
  output: objectWith<Writable>("write").default(() => process.stdout),
});
/** The options of MCP over stdin and stdout. */
export interface StdioOptions extends Readonly<z.input<typeof Options>> {}

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
  const { input, output, ...options } = readMcpOptions(Options, kernel, given);
  const { caller, ...resolved } = options;
  const context = { kernel, caller, options: resolved };
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
