/** The server that all tests of this worker share, and ledgers on it: each in a schema of its own. */
import { inject } from "vitest";
import { type PostgresLedger, postgresLedger } from "../../src/ledger/postgres/index.ts";

const urls = inject("postgres" as never) as unknown as readonly string[];
export const serverUrl = urls[Number(process.env["VITEST_POOL_ID"]) % urls.length] as string;

let schemas = 0;

export function freshSchema(): string {
  schemas += 1;
  return `t${process.pid}_${schemas}`;
}

export const freshLedger = (schema = freshSchema()): PostgresLedger => postgresLedger({ url: serverUrl, schema });
