/**
 * `mcp`: the kernel as an MCP server over stdio, for the program that started this one, until it closes the pipe.
 *
 * INV-1  Nothing but protocol is written to stdout; what is to be told goes to stderr.
 * INV-2  The end of the input ends the connection, and then stops the kernel; unfinished work waits in the ledger.
 */
import type { Command } from "commander";
import { type Desk, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions } from "./options.ts";
import { readVersion } from "./read-version.ts";
import type { Terminal } from "./terminal.ts";

export function addMcp(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("mcp"))
    .description("serve the kernel over stdio as an MCP server; it speaks for --tenant, --principal and --role")
    .action((options: CommonOptions) => withKernel({ options, terminal }, serve, { recover: true, create: true }));
}

async function serve({ kernel, caller }: Desk): Promise<void> {
  // Only now: the other commands need no SDK.
  const { serveMcpStdio } = await import("../mcp/index.ts");
  const connection = serveMcpStdio(kernel, { caller, version: readVersion() });
  await connection.ended;
  await connection.close();
}
