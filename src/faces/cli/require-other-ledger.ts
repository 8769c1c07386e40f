/**
 * Refuses to copy or move a ledger onto itself under any name, since the result would be no copy and would still
 * verify.
 *
 * Never: opens or connects to either.
 * 1.  Two paths of one file are one place, and so are two URLs for which the driver finds the same host, port and
 *     database and which name the same schema.
 */
import { existsSync, statSync } from "node:fs";
import { loadDriver } from "../../ledger/postgres/connect.ts";
import { ledgerAsTyped, schemaOf } from "./choose-ledger.ts";
import { UsageError } from "./report-error.ts";

/**
 * Requires that `db` and `to` are two ledgers. @throws UsageError, KernelErrorException T0_LEDGER_UNAVAILABLE if the
 * driver is not installed.
 */
export async function requireOtherLedger(db: string, to: string): Promise<void> {
  if (await isSameLedger(db, to))
    throw new UsageError(`${ledgerAsTyped(to)} is the ledger itself: name another place with --to`);
}

async function isSameLedger(one: string, other: string): Promise<boolean> {
  const schema = schemaOf(one);
  if (schema !== schemaOf(other)) return false;
  if (schema === null) return isSameFile(one, other);
  return (await findDatabase(one)) === (await findDatabase(other));
}

function isSameFile(one: string, other: string): boolean {
  if (![one, other].every((path) => existsSync(path))) return false;
  const [a, b] = [statSync(one), statSync(other)];
  return a.ino === b.ino && a.dev === b.dev;
}

/**
 * Returns the identity of the database of a URL, with the settings that the environment adds. An unreadable URL is
 * returned unchanged; opening it reports the error.
 */
async function findDatabase(url: string): Promise<string> {
  const { Client } = await loadDriver();
  try {
    const { host, port, database } = new Client({ connectionString: url });
    return JSON.stringify([host, port, database]);
  } catch {
    return url;
  }
}
