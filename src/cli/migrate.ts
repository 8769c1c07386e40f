/**
 * `migrate`: moves a ledger to another store, from a file to a database or back, with its chains. `backup`: keeps a copy of
 * it, while others work on it.
 *
 * Owns: nothing but the words: `moveLedger` and `backupLedger` do it, and verify.
 */
import type { Command } from "commander";
import type { MovedLedger } from "../index.ts";
import { chooseLedger, ledgerAsTyped } from "./choose-ledger.ts";
import { invocation } from "./invocation.ts";
import { addCommonOptions, type CommonOptions, readLedger, type Session } from "./options.ts";
import { quoteWord } from "./render-text.ts";
import { requireOtherLedger } from "./require-other-ledger.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface MigrateOptions extends CommonOptions {
  readonly to: string;
}

export function addMigrate(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("migrate"))
    .description("move the ledger to another file or database: chains to the byte, indexes made anew, both verified")
    .requiredOption(
      "--to <ledger>",
      "where to: a file, or postgres://user@host/database?schema=countersign",
      readLedger,
    )
    .action((options: MigrateOptions) => migrate({ options, terminal }));
}

export function addBackup(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("backup"))
    .description("copy the ledger as it stands to another file or database, and verify the copy; again: what is new")
    .requiredOption(
      "--to <ledger>",
      "where to: a file, or postgres://user@host/database?schema=countersign",
      readLedger,
    )
    .action((options: MigrateOptions) => backup({ options, terminal }));
}

async function backup(session: Session<MigrateOptions>): Promise<void> {
  const { options, terminal } = session;
  const from = chooseLedger(options.db, { create: false });
  const to = chooseLedger(options.to, { create: true });
  await requireOtherLedger(options.db, options.to);
  const { backupLedger } = await import("../index.ts");
  const kept = await backupLedger(from, to);
  if (options.json) return printJson(session, kept);
  terminal.print(`${tellRows(kept, options.to)}; the copy is sound. Restore it:`);
  terminal.print(`  ${invocation()} migrate --db ${quoteWord(ledgerAsTyped(options.to))} --to LEDGER`);
}

async function migrate(session: Session<MigrateOptions>): Promise<void> {
  const { options, terminal } = session;
  const from = chooseLedger(options.db, { create: false });
  const to = chooseLedger(options.to, { create: true });
  await requireOtherLedger(options.db, options.to);
  const { moveLedger } = await import("../index.ts");
  const moved = await moveLedger(from, to, { now: terminal.now() });
  if (options.json) return printJson(session, moved);
  terminal.print(`${tellRows(moved, options.to)}; both are sound.`);
  terminal.print(
    "Sessions of browsers and deliveries under way stay behind: sign in again; notifiers begin with what is open.",
  );
}

function tellRows({ rows, streams, found }: MovedLedger, to: string): string {
  const were = found === 0 ? "" : `, ${found} of them were there`;
  return `${rows} rows of ${streams} streams are in ${ledgerAsTyped(to)}${were}`;
}
