/**
 * The ledger in one SQLite file: the default store.
 *
 * Owns: the options and their defaults.
 * Never: loads the driver before `open`, so that the package can be imported without it.
 * 1.  Without a path, or with ":memory:", the ledger lives in memory and ends with `close`. An empty path is refused,
 *     because the driver takes it for a temporary file.
 * 2.  The path is that of the file, for every look at it: the driver reads "file:" as a URI, so that is refused.
 *     Neighbours: store.ts is the port's face, connect.ts opens, append.ts writes.
 */
import { z } from "zod";
import { type KeysOf, readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type ConnectOptions, connect } from "./connect.ts";
import { createStore, type SqliteLedger } from "./store.ts";

export { hostTransaction, hostTransactionTable } from "./host-transaction.ts";
export type { SqliteLedger };

/** `busyTimeoutMs`: 2000 when absent. `synchronous`: `full` when absent, see ConnectOptions. */
export type SqliteLedgerOptions = Partial<ConnectOptions>;

const reading = { what: "sqliteLedger", source: moduleRef(0, "ledger", "sqliteLedger") };

const Options = z.strictObject({
  path: z
    .string()
    .min(1, "it is empty; name a file")
    .refine((path) => !path.startsWith("file:"), "it is a URI; name the file by a plain path")
    .default(":memory:"),
  busyTimeoutMs: z.int().nonnegative().default(2000),
  synchronous: z.enum(["full", "normal"]).default("full"),
} satisfies KeysOf<SqliteLedgerOptions>);

/**
 * Creates a ledger store on `path`; the file is created if it does not exist, its folder must. @throws
 * KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function sqliteLedger(options: SqliteLedgerOptions = {}): SqliteLedger {
  const connecting = readStrictly(Options, options, reading);
  return createStore(connecting.path, () => connect(connecting));
}
