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
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { connect } from "./connect.ts";
import { createStore, type SqliteLedger } from "./store.ts";

export { hostTransaction, hostTransactionTable } from "./host-transaction.ts";
export type { SqliteLedger };

const Options = z.strictObject({
  /** The file; the ledger is in memory where this is ":memory:", as it is when absent. */
  path: z
    .string()
    .min(1, "it is empty; name a file")
    .refine((path) => !path.startsWith("file:"), "it is a URI; name the file by a plain path")
    .default(":memory:"),
  /** The time to wait for another process's lock, in ms; 2000 by default. */
  busyTimeoutMs: z.int().nonnegative().default(2000),
  /**
   * `full`, the default, syncs every commit; `normal` syncs at checkpoints, so a power cut may lose the last commits.
   */
  synchronous: z.enum(["full", "normal"]).default("full"),
});

/** The file of a ledger, and the way it is written. */
export interface SqliteLedgerOptions extends Readonly<z.input<typeof Options>> {}

const reading = { what: "sqliteLedger", source: moduleRef(0, "ledger", "sqliteLedger") };

/**
 * Creates a ledger store on `path`; the file is created if it does not exist, its folder must. @throws
 * KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function sqliteLedger(options: SqliteLedgerOptions = {}): SqliteLedger {
  const connecting = readStrictly(Options, options, reading);
  return createStore(connecting.path, () => connect(connecting));
}
