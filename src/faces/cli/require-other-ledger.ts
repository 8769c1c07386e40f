/**
 * A ledger is not copied or moved onto itself, by whatever name: nothing would be kept, and the copy would be told as sound.
 *
 * Never: opens or connects to either.
 * 1.  Two paths of one file are one place, and so are two URLs in which the driver reads one host, port and database, and
 *        which name one schema.
 */
import { existsSync, statSync } from "node:fs";
import { loadDriver } from "../../ledger/postgres/connect.ts";
import { ledgerAsTyped, schemaOf } from "./choose-ledger.ts";
import { UsageError } from "./report-error.ts";

/** @throws UsageError, KernelErrorException T0_LEDGER_UNAVAILABLE where there is no driver. */
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

/** With what the environment adds to a URL. One that cannot be read is itself: who opens it tells what is wrong. */
async function findDatabase(url: string): Promise<string> {
  const { Client } = await loadDriver();
  try {
    const { host, port, database } = new Client({ connectionString: url });
    return JSON.stringify([host, port, database]);
  } catch {
    return url;
  }
}
