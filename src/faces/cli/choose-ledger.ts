/**
 * The ledger that `--db` names: a file, or a Postgres database by its URL.
 *
 * Owns: which store a name stands for, and how the name is shown.
 * 1.  A password is never shown: a printed command names the database without it, and PGPASSWORD supplies it when the
 *     command is typed.
 * 2.  Without `create`, a ledger that does not exist is refused.
 */
import { existsSync } from "node:fs";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type PostgresLedger, postgresLedger } from "../../ledger/postgres/index.ts";
import { type SqliteLedger, sqliteLedger } from "../../ledger/sqlite/index.ts";
import { fileAsTyped, invocation } from "./invocation.ts";

export type ChosenLedger = SqliteLedger | PostgresLedger;

const source = moduleRef(0, "cli", "choose_ledger");

const isDatabase = (db: string): boolean => /^postgres(ql)?:\/\//.test(db);

/**
 * Opens the ledger that `db` names. The parameter `schema` of a URL names the schema; its default is `countersign`.
 * @throws KernelErrorException T0_LEDGER_UNAVAILABLE, T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function chooseLedger(db: string, { create }: { readonly create: boolean }): ChosenLedger {
  if (isDatabase(db)) return openDatabase(db, create);
  if (!create && !existsSync(db)) {
    const message = `there is no ledger at ${db}; name one with --db, or make one with "${invocation()} demo"`;
    raise(kernelError("T0_LEDGER_UNAVAILABLE", message, source, { detail: { path: db }, retry: false }));
  }
  return sqliteLedger({ path: db });
}

function openDatabase(db: string, create: boolean): PostgresLedger {
  const url = URL.parse(db);
  if (url === null)
    return raise(
      kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "--db is no URL of a database", source, { retry: false }),
    );
  const schema = url.searchParams.get("schema");
  url.searchParams.delete("schema");
  return postgresLedger({ url: url.href, create, ...(schema === null ? {} : { schema }) });
}

/** Returns the schema of a database, or null for a file. */
export const schemaOf = (db: string): string | null =>
  isDatabase(db) ? (URL.parse(db)?.searchParams.get("schema") ?? "countersign") : null;

/** Formats the name of a ledger as a person would type it, without a password. */
export function ledgerAsTyped(db: string): string {
  const url = isDatabase(db) ? URL.parse(db) : null;
  if (url === null) return fileAsTyped(db);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}
