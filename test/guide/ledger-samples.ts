/**
 * Ledgers that the tests of the format look at: the one that the demonstration leaves, and files made of given rows.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TurnRow } from "../../src/index.ts";
import { runHere } from "../cli/command-line.ts";
import { commit, git } from "../operators/temp-folder.ts";

/** The ledger of the demonstration: its file, and the lines of its one workflow's export. */
export interface DemoLedger {
  readonly file: string;
  readonly lines: readonly string[];
}

/** Runs the demonstration, which is what `npm start` runs, on a small repository inside `folder`. */
export async function recordDemo(folder: string): Promise<DemoLedger> {
  const repo = join(folder, "repository");
  const file = join(folder, "demo.db");
  mkdirSync(repo);
  git(repo, "init", "--quiet");
  commit(repo, "feat: read the ledger – without us");
  const ran = await runHere("demo", "--repo", repo, "--db", file, "--yes");
  if (ran.code !== 0) throw new Error(ran.err);
  const [workflow] = readStored(file);
  const exported = await runHere("export", workflow?.stream ?? "", "--db", file);
  return { file, lines: exported.out.trimEnd().split("\n") };
}

const columns = [
  "stream",
  "first_sequence",
  "last_sequence",
  "envelope",
  "body",
  "body_hash",
  "prev_hash",
  "hash",
] as const;

/** Reads the rows of a ledger file as any client of SQLite does. */
export function readStored(file: string): readonly TurnRow[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(`SELECT ${columns.join()} FROM events ORDER BY position`).all();
  return rows.map((row) => ({ ...row }) as unknown as TurnRow);
}

/** Writes a file with the rows in this order, as a ledger file whose triggers somebody has dropped. */
export function writeStored(file: string, rows: readonly TurnRow[]): void {
  using database = new DatabaseSync(file);
  database.exec("DROP TABLE IF EXISTS events");
  const typed = columns.map((name) => `${name} ${name.endsWith("_sequence") ? "INTEGER" : "TEXT"}`);
  database.exec(`CREATE TABLE events (position INTEGER PRIMARY KEY, ${typed.join()})`);
  const insert = database.prepare(`INSERT INTO events (${columns.join()}) VALUES (${columns.map(() => "?").join()})`);
  for (const row of rows) insert.run(...columns.map((name) => row[name]));
}
