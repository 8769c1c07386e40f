/**
 * An open ledger, and a write to it: all of a body or nothing.
 *
 * Owns: the connection with its prepared statements and stream heads; BEGIN, COMMIT and ROLLBACK.
 * Never: retries; a lock was already waited for by SQLite's busy timeout.
 * INV-1  A body that throws, or a COMMIT that fails, leaves no trace in the file nor in the cache.
 * INV-2  Nothing is committed to a file that does not lie at its path any more.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RequireSameFile } from "./same-file.ts";
import type { Statements } from "./statements.ts";
import type { StreamHeads } from "./stream-heads.ts";

export interface Connection {
  readonly db: DatabaseSync;
  readonly statements: Statements;
  readonly heads: StreamHeads;
  readonly requireSameFile: RequireSameFile;
}

/** Runs the body with the write lock held. */
export function writeAll<T>({ db, statements, heads, requireSameFile }: Connection, body: () => T): T {
  statements.begin.run();
  try {
    heads.believe(statements.dataVersion.get()?.["data_version"] as number);
    const value = body();
    requireSameFile();
    statements.commit.run();
    return value;
  } catch (error) {
    heads.clear();
    // After some failures, such as a full disk, SQLite has rolled back by itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
