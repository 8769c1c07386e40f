/**
 * `mcp`: serves the kernel as an MCP server over stdio to the program that started this one, until that program closes
 * the pipe.
 *
 * 1.  Only protocol messages are written to stdout; messages for people go to stderr.
 * 2.  The end of the input, or a message beyond the limit, ends the connection and then stops the kernel. Unfinished
 *     work waits in the ledger.
 */
import type { Command } from "commander";
import { loadAllPeers } from "../../protocol/load-peers.ts";
import { complainTo } from "./complain-to.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { type AnswerGates, addAnswerGates, addCommonOptions, type CommonOptions } from "./options.ts";
import { readVersion } from "./read-version.ts";
import { servedAgain } from "./serve.ts";
import type { Terminal } from "./terminal.ts";

export function addMcp(program: Command, terminal: Terminal): void {
  addAnswerGates(addCommonOptions(program.command("mcp")))
    .description("serve the kernel over stdio as an MCP server; it speaks for --tenant, --principal and --role")
    .action((options: CommonOptions & AnswerGates) => openAndServe(options, terminal));
}

async function openAndServe(options: CommonOptions & AnswerGates, terminal: Terminal): Promise<void> {
  // The packages are loaded before a ledger is made, because the command does nothing without them.
  await loadAllPeers("countersign mcp", [import("../mcp/entry.ts")]);
  const opening = { recover: true, create: true };
  await withKernel({ options, terminal }, (context) => serve(context, terminal, options), opening);
}

async function serve(
  { kernel, caller }: CommandContext,
  terminal: Terminal,
  { answerGates: answersGates }: AnswerGates,
): Promise<void> {
  // The SDK is loaded here, because no other command needs it.
  const { serveMcpStdio } = await import("../mcp/index.ts");
  const logger = complainTo(terminal);
  const connection = serveMcpStdio(kernel, { caller, answersGates, logger, version: readVersion() });
  terminal.safety.tell = servedAgain;
  await connection.ended;
  await connection.close();
}
