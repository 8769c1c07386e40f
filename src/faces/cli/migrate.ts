/**
 * `migrate`: moves a ledger with its chains to another store, from a file to a database or back. `backup`: copies a
 * ledger while other processes work on it.
 *
 * Owns: only the command line; `moveLedger` and `backupLedger` do the work and verify it.
 * 1.  A copy in a new file gets its name once it is complete and verified; until then it is called FILE.part.
 * 2.  An interruption takes effect between two pages; the same command continues where it stopped.
 */
import { existsSync, renameSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { MovedLedger } from "../../index.ts";
import { chooseLedger, ledgerAsTyped, schemaOf } from "./choose-ledger.ts";
import { invocation } from "./invocation.ts";
import { addLedgerOptions, type LedgerOptions, ledgerNamed, readLedger, type Session } from "./options.ts";
import { quoteWord } from "./render-text.ts";
import { requireOtherLedger } from "./require-other-ledger.ts";
import { commandLine, printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface MigrateOptions extends LedgerOptions {
  readonly to: string;
}

export function addMigrate(program: Command, terminal: Terminal): void {
  addLedgerOptions(program.command("migrate"))
    .description("move the ledger to another file or database: chains to the byte, indexes made anew, both verified")
    .requiredOption("--to <ledger>", "where to: a file, or postgres://user@host/database?schema=countersign", readPlace)
    .action((options: MigrateOptions) => migrate({ options, terminal }));
}

export function addBackup(program: Command, terminal: Terminal): void {
  addLedgerOptions(program.command("backup"))
    .description("copy the ledger as it stands to another file or database, and verify the copy; again: what is new")
    .requiredOption("--to <ledger>", "where to: a file, or postgres://user@host/database?schema=countersign", readPlace)
    .action((options: MigrateOptions) => backup({ options, terminal }));
}

function readPlace(value: string): string {
  if (value === ":memory:") throw new InvalidArgumentError("It is gone with the command: name a file, or a database.");
  return readLedger(value);
}

async function backup(session: Session<MigrateOptions>): Promise<void> {
  const { options, terminal } = session;
  const from = chooseLedger(ledgerNamed(options), { create: false });
  const place = placeOf(options.to);
  const to = chooseLedger(place, { create: true });
  await requireOtherLedger(ledgerNamed(options), place);
  const { backupLedger } = await import("../../index.ts");
  terminal.safety.tell = `The copy in ${ledgerAsTyped(place)} is not whole. ${describeAgain("backup", options)}`;
  const kept = await backupLedger(from, to, { signal: terminal.signal });
  if (place !== options.to) renameSync(place, options.to);
  if (options.json) return printJson(session, kept);
  terminal.print(`${describeRows(kept, options.to)}; the copy is sound. Restore it:`);
  terminal.print(`  ${invocation()} migrate --db ${quoteWord(ledgerAsTyped(options.to))} --to LEDGER`);
}

/** Returns the path to which a copy is written. A new file gets its own name once it is complete. */
const placeOf = (to: string): string => (schemaOf(to) !== null || existsSync(to) ? to : `${to}.part`);

/** Describes how to continue an interrupted copy. Rows that are copied already are skipped. */
const describeAgain = (word: string, options: MigrateOptions): string =>
  `Go on where it was broken off:\n  ${commandLine(options, word, "--to", ledgerAsTyped(options.to))}`;

async function migrate(session: Session<MigrateOptions>): Promise<void> {
  const { options, terminal } = session;
  const from = chooseLedger(ledgerNamed(options), { create: false });
  const to = chooseLedger(options.to, { create: true });
  await requireOtherLedger(ledgerNamed(options), options.to);
  const { moveLedger } = await import("../../index.ts");
  const again = describeAgain("migrate", options);
  terminal.safety.tell = `The ledger in ${ledgerAsTyped(options.to)} is not whole. ${again}`;
  const moved = await moveLedger(from, to, { now: terminal.now(), signal: terminal.signal });
  if (options.json) return printJson(session, moved);
  terminal.print(`${describeRows(moved, options.to)}; both are sound.`);
  terminal.print(
    "Sessions of browsers and deliveries under way stay behind: sign in again; notifiers begin with what is open.",
  );
}

function describeRows({ rows, streams, found }: MovedLedger, to: string): string {
  const were = found === 0 ? "" : `, ${found} of them were there`;
  return `${rows} rows of ${streams} streams are in ${ledgerAsTyped(to)}${were}`;
}
