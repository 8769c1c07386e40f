/**
 * Opens a ledger file: looks at it, sets the connection up, creates the tables of a new one.
 *
 * Owns: the order of these three, and the connection's pragmas.
 * Never: writes to a file that is not ours or has another schema; it is looked at through a read-only connection.
 * 1.  `synchronous` is set with exec before any statement exists: it takes effect when a statement is prepared.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { isLocked, isUnwritable, ledgerFailure } from "./failure.ts";
import { applicationId, createTables, readSchemaVersion, requireSchema } from "./schema.ts";

export interface ConnectOptions {
  /** The file; the ledger is in memory where this is ":memory:". */
  readonly path: string;
  /** The time to wait for another process's lock, in ms. */
  readonly busyTimeoutMs: number;
  /** `full` syncs every commit; `normal` syncs at checkpoints, so a power cut may lose the last commits. */
  readonly synchronous: "full" | "normal";
}

/**
 * The page size of a new file, in bytes. Turns are one to two kB: five fit on a page, of which the default of 4096
 * holds two.
 */
const pageSize = 8192;
/** Pages of write-ahead log between checkpoints: 32 MB. */
const walPages = 4000;
/** The number of attempts to switch to write-ahead mode, and the pause between them. */
const switchTries = 20;
const switchPauseMs = 10;
/** Page cache in KiB. */
const cacheKib = 16_000;

export async function connect(options: ConnectOptions): Promise<DatabaseSync> {
  const sqlite = await import("node:sqlite");
  const open = (readOnly: boolean) =>
    new sqlite.DatabaseSync(options.path, { readOnly, timeout: options.busyTimeoutMs });
  if (hasContent(options.path)) using(open(true), (db) => inspect(db, options.path));
  const db = open(false);
  try {
    configure(db, options);
    if (options.path !== ":memory:") await writeAhead(db);
    createTables(db);
    requireSchema(readSchemaVersion(db), { path: options.path, fn: "open" });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function using(db: DatabaseSync, look: (db: DatabaseSync) => void): void {
  try {
    look(db);
  } finally {
    db.close();
  }
}

function hasContent(path: string): boolean {
  return path !== ":memory:" && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function inspect(db: DatabaseSync, path: string): void {
  const place = { path, fn: "open" };
  // One snapshot: another process may be making the file just now.
  db.exec("BEGIN");
  const mark = Number(db.prepare("PRAGMA application_id").get()?.["application_id"]);
  const tables = Number(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
  if (mark !== applicationId && (mark !== 0 || tables > 0))
    throw ledgerFailure("T0_LEDGER_NOT_A_DATABASE", "is not a Countersign ledger: another program's database", place);
  const version = readSchemaVersion(db);
  if (version > 0) requireSchema(version, place);
  if (isUnwritable(path)) throw ledgerFailure("T0_LEDGER_READ_ONLY", "cannot be written by this process", place);
}

function configure(db: DatabaseSync, { synchronous }: ConnectOptions): void {
  db.exec(`PRAGMA synchronous = ${synchronous === "normal" ? "NORMAL" : "FULL"}`);
  db.exec(`PRAGMA page_size = ${pageSize}; PRAGMA foreign_keys = ON; PRAGMA cache_size = -${cacheKib}`);
  db.exec(`PRAGMA wal_autocheckpoint = ${walPages}`);
}

/**
 * Switches to write-ahead mode. While processes create the same file, SQLite refuses the switch at once: its busy
 * timeout does not apply.
 */
async function writeAhead(db: DatabaseSync): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return db.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      if (tries === switchTries || !isLocked(error)) throw error;
      await pause(switchPauseMs);
    }
  }
}
