/**
 * The ledger in one SQLite file: the default store.
 *
 * Owns: the options and what they are when absent.
 * Never: loads the driver before `open`, so that the package can be imported where nobody needs a file.
 * INV-1  Without a path, or with ":memory:", the ledger lives in memory and ends with `close`.
 * Neighbours: store.ts is the port's face, connect.ts opens, append.ts writes, threaded-store.ts has a thread write.
 */
import { z } from "zod";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type KeysOf, readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type ConnectOptions, connect } from "./connect.ts";
import { createStore, type SqliteLedger } from "./store.ts";
import { createThreadedStore } from "./threaded-store.ts";

export { hostTransaction, hostTransactionTable } from "./host-transaction.ts";
export type { SqliteLedger };

/** `busyTimeoutMs`: 2000 when absent. `synchronous`: `full` when absent, see ConnectOptions. */
export interface SqliteLedgerOptions extends Partial<ConnectOptions> {
  /**
   * True: a thread of its own commits, and the loop goes on while the disk syncs. For machines with a core to spare; false when absent. A
   * ledger in memory cannot have one.
   */
  readonly thread?: boolean;
}

const what = "sqliteLedger";
const source = moduleRef(0, "ledger", what);

const Options = z.strictObject({
  path: z.string().default(":memory:"),
  busyTimeoutMs: z.int().nonnegative().default(2000),
  synchronous: z.enum(["full", "normal"]).default("full"),
  thread: z.boolean().default(false),
} satisfies KeysOf<SqliteLedgerOptions>);

/** A ledger store on `path`; the file is made if it does not exist, its folder must. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function sqliteLedger(options: SqliteLedgerOptions = {}): SqliteLedger {
  const { thread, ...connecting } = readStrictly(Options, options, { what, source });
  if (!thread) return createStore(connecting.path, () => connect(connecting));
  if (connecting.path !== ":memory:") return createThreadedStore(connecting);
  const message = `${what} takes a thread for a file: a ledger in memory is seen by one thread alone`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, source));
}
