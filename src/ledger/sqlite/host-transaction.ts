/**
 * An operator's writes to the host's own SQLite file, exactly once: they are committed together with the key of the
 * call.
 *
 * Owns: the order of the transaction. Works with any ledger.
 * Never: waits inside the transaction: one connection has one at a time, and others would write into it.
 * 1.  Of calls under one key, in any processes, one takes effect, and each returns its result.
 * 2.  A call that throws is rolled back with its key: the same call may be made again.
 */
import type { DatabaseSync } from "node:sqlite";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { OperatorCall } from "../../contract/operator.ts";

/** The table of keys and results: create it once in the file of the host's tables. */
export const hostTransactionTable = `CREATE TABLE IF NOT EXISTS countersign_effects (
  key TEXT PRIMARY KEY,
  result TEXT,
  at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)`;

const source = moduleRef(0, "sqlite", "hostTransaction");

/**
 * Makes one transaction of the writes of `run` to the host's tables, the call's key and its result (as JSON): it takes
 * effect once, however often the call is made. @returns a function for `run` of `defineOperator`; the operator may be
 * `idempotent: true`.
 */
export function hostTransaction<I = never, O = unknown>(
  db: DatabaseSync,
  run: (tx: DatabaseSync, call: OperatorCall<I>) => O,
): (call: OperatorCall<I>) => Promise<O> {
  return async (call) => {
    call.signal.throwIfAborted();
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = runOnce(db, call, run);
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };
}

function runOnce<I, O>(
  db: DatabaseSync,
  call: OperatorCall<I>,
  run: (tx: DatabaseSync, call: OperatorCall<I>) => O,
): O {
  const { idempotencyKey: key } = call;
  const put = db.prepare("INSERT INTO countersign_effects (key) VALUES (?) ON CONFLICT DO NOTHING").run(key);
  if (Number(put.changes) === 0) {
    const kept = db.prepare("SELECT result FROM countersign_effects WHERE key = ?").get(key)?.["result"];
    return (kept === null ? undefined : JSON.parse(kept as string)) as O;
  }
  const result = run(db, call);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    const message = "what runs in a transaction of SQLite gives its result at once, not a promise";
    return raise(kernelError("T4_OPERATOR_BUG", message, source));
  }
  db.prepare("UPDATE countersign_effects SET result = ? WHERE key = ?").run(JSON.stringify(result) ?? null, key);
  return result;
}
