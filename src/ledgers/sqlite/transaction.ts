/**
 * An open ledger, and a write to it: all of a body or nothing.
 *
 * Owns: the connection with its prepared statements and stream heads; BEGIN, COMMIT and ROLLBACK.
 * Never: retries; a lock was already waited for by SQLite's busy timeout.
 * INV-1  A body that throws, or a COMMIT that fails, leaves no trace in the file nor in the cache.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Statements } from "./statements.ts";
import type { StreamHeads } from "./stream-heads.ts";

export interface Connection {
  readonly db: DatabaseSync;
  readonly statements: Statements;
  readonly heads: StreamHeads;
}

/** Runs the body with the write lock held. */
export function writeAll<T>({ db, statements, heads }: Connection, body: () => T): T {
  statements.begin.run();
  try {
    heads.believe(statements.dataVersion.get()?.["data_version"] as number);
    const value = body();
    statements.commit.run();
    return value;
  } catch (error) {
    heads.clear();
    // After some failures, such as a full disk, SQLite has rolled back by itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
