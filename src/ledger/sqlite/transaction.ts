/**
 * An open ledger, and a write to it: all of a body or nothing.
 *
 * Owns: the connection with its prepared statements and stream heads; BEGIN, COMMIT and ROLLBACK.
 * Never: retries; a lock was already waited for by SQLite's busy timeout.
 * 1.  A body that throws, or a COMMIT that fails, leaves no trace in the file nor in the cache.
 * 2.  Nothing is committed to a file that does not lie at its path any more.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Durability } from "./durability.ts";
import type { RequireSameFile } from "./same-file.ts";
import type { Prepare, Statements } from "./statements.ts";
import type { StreamHeads } from "./stream-heads.ts";

export interface Connection {
  readonly db: DatabaseSync;
  readonly statements: Statements;
  /** Prepares a text that depends on a filter. */
  readonly prepare: Prepare;
  readonly heads: StreamHeads;
  readonly requireSameFile: RequireSameFile;
  readonly durability: Durability;
  /** The mark that distinguishes this connection's owner from others of its name. */
  readonly mark: string;
  /** The last write failed, for a reason that may last: a full disk, a lock. */
  isFailing: boolean;
}

/** Returns a number that changes once another connection has written to the file. */
export const readDataVersion = ({ statements }: Connection): number =>
  statements.dataVersion.get()?.["data_version"] as number;

/** Runs the body with the write lock held. A `lazy` commit is not synced. */
export function writeAll<T>(connection: Connection, body: () => T, lazy = false): T {
  const { db, statements, heads, requireSameFile, durability } = connection;
  durability.begin(lazy);
  connection.isFailing = true;
  statements.begin.run();
  try {
    heads.believe(readDataVersion(connection));
    const value = body();
    requireSameFile();
    statements.commit.run();
    connection.isFailing = false;
    return value;
  } catch (error) {
    heads.clear();
    // After some failures, such as a full disk, SQLite has rolled back by itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Makes durable what was committed before; it writes nothing if a mark says that it is. */
export function syncAll(connection: Connection): void {
  const { durability } = connection;
  const position = positionOf(connection);
  if (durability.isBehind(position)) durability.learn(syncedMark(connection));
  if (durability.isBehind(position)) markSynced(connection, position);
}

/** Leaves a mark of what this connection knows to be durable, so that those who only read have nothing to write. */
export function leaveMark(connection: Connection): void {
  const position = positionOf(connection);
  if (connection.durability.knows(position) && syncedMark(connection) < position) markSynced(connection, position);
}

const syncedMark = ({ statements }: Connection): number => (statements.syncedMark.get()?.["position"] as number) ?? 0;

/** Writes again: after a failed write only another write shows whether the cause is over. */
export function tryAgain(connection: Connection): void {
  if (connection.isFailing) writeAll(connection, () => connection.statements.markTried.run());
}

export const positionOf = ({ statements }: Connection): number => statements.position.get()?.["position"] as number;

/** Writes a mark, because a commit without writes would not be synced. */
function markSynced(connection: Connection, position: number): void {
  writeAll(connection, () => connection.statements.markSynced.run(String(position)));
  connection.durability.committed(position);
}
