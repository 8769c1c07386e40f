/**
 * `migrate`: moves a ledger to another store, from a file to a database or back, with its chains.
 *
 * Owns: nothing but the words: `moveLedger` verifies, moves and verifies again.
 */
import type { Command } from "commander";
import { chooseLedger, ledgerAsTyped } from "./choose-ledger.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface MigrateOptions extends CommonOptions {
  readonly to: string;
}

export function addMigrate(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("migrate"))
    .description("move the ledger to another file or database: chains to the byte, indexes made anew, both verified")
    .requiredOption("--to <ledger>", "where to: a file, or postgres://user@host/database?schema=countersign")
    .action((options: MigrateOptions) => migrate({ options, terminal }));
}

async function migrate(session: Session<MigrateOptions>): Promise<void> {
  const { options, terminal } = session;
  const from = chooseLedger(options.db, { create: false });
  const to = chooseLedger(options.to, { create: true });
  const { moveLedger } = await import("../index.ts");
  const moved = await moveLedger(from, to, { now: terminal.now() });
  if (options.json) return printJson(session, moved);
  const found = moved.found === 0 ? "" : `, ${moved.found} of them were there`;
  terminal.print(
    `${moved.rows} rows of ${moved.streams} streams are in ${ledgerAsTyped(options.to)}${found}; both are sound.`,
  );
  terminal.print(
    "Sessions of browsers and deliveries under way stay behind: sign in again; notifiers begin with what is open.",
  );
}
