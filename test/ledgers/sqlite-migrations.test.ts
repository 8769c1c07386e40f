/** What a ledger file has to be: of this schema, or empty. Files of earlier row formats are refused. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";
import { refusalOf } from "../fixtures.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";

const freshPath = freshPaths();
const folder = new URL("./fixtures/", import.meta.url);

function restore(name: string): string {
  const path = freshPath();
  withDatabase(path, (db) => db.exec(readFileSync(new URL(name, folder), "utf8")));
  return path;
}

/** What the file's tables, indexes and triggers are, without regard to white space. */
function schemaOf(db: DatabaseSync): readonly string[] {
  const rows = db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all();
  return rows.map((row) => String(row["sql"]).replace(/\s+/g, " ")).sort();
}

describe("a ledger file of an earlier row format", () => {
  it.each(readdirSync(folder))("%s is refused with a code that says so, and not touched", async (name) => {
    const path = restore(name);
    const before = readFileSync(path);
    const error = await refusalOf(sqliteLedger({ path }).open());
    expect(error.code).toBe("T0_LEDGER_FORMAT");
    expect(error.message).toMatch(/has schema \d, older than/);
    expect(readFileSync(path)).toEqual(before);
  });
});

describe("migrations", () => {
  it("a migration that fails leaves the file as it was", async () => {
    const path = freshPath();
    withDatabase(path, (db) =>
      db.exec("PRAGMA application_id = 1129531214; CREATE TABLE workflows (a); INSERT INTO workflows VALUES (1)"),
    );
    await expect(sqliteLedger({ path }).open()).rejects.toThrow("T0_LEDGER_");
    withDatabase(path, (db) => {
      expect(schemaOf(db)).toEqual(["CREATE TABLE workflows (a)"]);
      expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 0 });
    });
  });
});
