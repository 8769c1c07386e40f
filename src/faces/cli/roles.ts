/**
 * `roles`: prints the SQL that gives a ledger in Postgres a role for kernels and one for readers.
 *
 * Owns: only the command line. Never: runs the SQL; a person with the right to grant does.
 * 1.  The ledger is made by the role that runs the command, which owns the tables from then on.
 */
import type { Command } from "commander";
import { postgresRoles } from "../../ledger/postgres/roles.ts";
import { type ChosenLedger, chooseLedger, schemaOf } from "./choose-ledger.ts";
import { addLedgerOptions, type LedgerOptions, ledgerNamed, readId } from "./options.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

interface RolesOptions extends LedgerOptions {
  readonly kernel: string;
  readonly reader: string;
  readonly reads?: string | number;
}

export function addRoles(program: Command, terminal: Terminal): void {
  addLedgerOptions(program.command("roles"))
    .description("make a ledger in Postgres as its owner, and print the SQL that gives others their rights")
    .option(
      "--kernel <role>",
      "under which kernels connect; it cannot change or remove a row of the log",
      "countersign_kernel",
    )
    .option("--reader <role>", "that reads what belongs to one tenant", "countersign_reader")
    .option("--reads <tenant>", "which tenant; else the one that a session names (countersign.tenant)", readId)
    .action((options: RolesOptions) => printRoles(options, terminal));
}

async function printRoles(options: RolesOptions, terminal: Terminal): Promise<void> {
  const { kernel, reader, reads, json } = options;
  const db = ledgerNamed(options);
  const schema = schemaOf(db);
  if (schema === null) throw new UsageError("roles are of a database: --db is a file, whose rights are the system's");
  const sql = postgresRoles({ schema, kernel, reader, ...(reads !== undefined && { tenant: reads }) });
  const ledger = chooseLedger(db, { create: true });
  await makeLedger(ledger, terminal);
  terminal.print(json ? toJsonText({ sql }) : sql.trimEnd());
}

/** Makes the ledger. A statement that the database has begun runs to its end; an interruption takes effect after it. */
async function makeLedger(ledger: ChosenLedger, { signal, safety }: Terminal): Promise<void> {
  signal.throwIfAborted();
  safety.tell = "The ledger may have been made; no role was told of.";
  try {
    await ledger.open();
    await ledger.close();
  } finally {
    signal.throwIfAborted();
  }
}
