/**
 * `login`: prints a link that signs a browser in to the server of this ledger, without restarting that server.
 *
 * 1.  Whoever may write the ledger's file may make links: the file holds the digest of the code, which works once and
 *     expires soon.
 */
import type { Command } from "commander";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readOrigin, requireKnownRole, type Session } from "./options.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

interface LoginOptions extends CommonOptions {
  readonly origin: string;
}

export function addLogin(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("login"))
    .description("a link that signs a browser in to the server of this ledger, as --tenant, --principal and --role")
    .option(
      "--origin <origin>",
      "the scheme and host that the server is reached at",
      readOrigin,
      "http://127.0.0.1:8787",
    )
    .action((options: LoginOptions) => login({ options, terminal }));
}

async function login(session: Session<LoginOptions>): Promise<void> {
  await requireKnownRole(session.options);
  await withKernel(session, (context) => printLink(context, session));
}

async function printLink(
  { kernel, ledger, caller }: CommandContext,
  { options: { origin, json }, terminal }: Session<LoginOptions>,
): Promise<void> {
  const { createHttpApp } = await import("../http/index.ts");
  const store = ledger.sessions;
  if (store === undefined)
    throw new UsageError("the host's ledger keeps no sessions: use the link that serve prints when it starts");
  const app = createHttpApp(kernel, { sessions: { store } });
  const link = `${origin}${await app.loginPath(caller)}`;
  terminal.print(
    json ? toJsonText({ login: link }) : `${link}  (once, within five minutes; who signs in may decide gates)`,
  );
}
