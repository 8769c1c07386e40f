/**
 * `serve`: the HTTP API of one ledger, on this machine unless told otherwise, until the program is interrupted.
 *
 * INV-1  Nobody calls without the token; where none is given, one is made and told once.
 * INV-2  An interruption takes no more requests, cuts the streams off, and then stops the kernel.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type Command, InvalidArgumentError } from "commander";
import { type Desk, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, type Session } from "./options.ts";
import { readVersion } from "./read-version.ts";
import type { Terminal } from "./terminal.ts";

interface ServeOptions extends CommonOptions {
  readonly host: string;
  readonly port: number;
  readonly token?: string;
}

export function addServe(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("serve"))
    .description("serve the HTTP API; the token speaks for --tenant, --principal and --role")
    .option("--host <host>", "the address to listen on", "127.0.0.1")
    .option("--port <port>", "the port; 0 takes any that is free", readPort, 8787)
    .option("--token <token>", "the bearer token that callers send; without one, one is made", readToken)
    .action((options: ServeOptions) =>
      withKernel({ options, terminal }, (desk) => serve(desk, { options, terminal }), { recover: true, create: true }),
    );
}

function readPort(value: string): number {
  const port = readCount(value);
  if (port > 65_535) throw new InvalidArgumentError("It must be a port, from 0 to 65535.");
  return port;
}

function readToken(value: string): string {
  if (!/^[\w.~+/=-]+$/.test(value)) throw new InvalidArgumentError("It has letters, digits and -._~+/= only.");
  return value;
}

async function serve({ kernel, caller }: Desk, { options, terminal }: Session<ServeOptions>): Promise<void> {
  // Only now: the other commands need no network.
  const { createHttpApp, serveHttp } = await import("../http/index.ts");
  const token = options.token ?? randomBytes(24).toString("base64url");
  const mcp = await openMcp(kernel, options);
  const app = createHttpApp(kernel, { tokens: [{ token, ...caller }], mounts: { "/mcp": mcp.handle } });
  const server = await serveHttp(app, options);
  const made = options.token === undefined;
  if (options.json) terminal.print(JSON.stringify({ url: server.url, ...(made && { token }) }));
  else tell(terminal, server.url, made ? token : null);
  if (!terminal.signal.aborted) await once(terminal.signal, "abort");
  await mcp.close();
  await server.close();
}

/** MCP at /mcp: for programs and pages of this machine, and for the host that is listened on. */
async function openMcp(kernel: Desk["kernel"], { host }: ServeOptions) {
  const { createMcpHandler } = await import("../mcp/index.ts");
  const local = ["localhost", "127.0.0.1", "[::1]"];
  return createMcpHandler(kernel, { allowedHosts: [...local, host], version: readVersion() });
}

function tell(terminal: Terminal, url: string, token: string | null): void {
  terminal.print(`listening on ${url}`);
  if (token !== null) terminal.print(`token ${token}`);
  terminal.print(`try  curl -H "Authorization: Bearer ${token ?? "TOKEN"}" ${url}/v1/kernel/workflows`);
}
