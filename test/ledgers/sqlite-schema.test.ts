/** A ledger file has this schema or is empty. A file of an earlier schema is refused, with the way to convert it. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/contract/error-codes.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { schemaVersion } from "../../src/ledger/sqlite/schema.ts";
import { refusalOf } from "../fixtures.ts";
import { freshPaths, withDatabase, withStore } from "./ledger-files.ts";

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

describe("a ledger file of an earlier schema", () => {
  it.each(readdirSync(folder).filter((name) => name.startsWith("ledger-")))(
    "%s is refused with a code that says so, and not touched",
    async (name) => {
      const path = restore(name);
      const before = readFileSync(path);
      const error = await refusalOf(sqliteLedger({ path }).open());
      expect(error.code).toBe("T0_LEDGER_FORMAT");
      expect(error.message).toMatch(/has schema \d, older than/);
      expect(readFileSync(path)).toEqual(before);
    },
  );

  it("is refused with a next step that names the conversion script, also one version below", async () => {
    const path = freshPath();
    await withStore(sqliteLedger({ path }), async () => undefined);
    withDatabase(path, (db) => db.exec(`PRAGMA user_version = ${schemaVersion - 1}`));
    const { code, message } = await refusalOf(sqliteLedger({ path }).open());
    expect([code, errorCodes.T0_LEDGER_FORMAT.next]).toEqual([
      "T0_LEDGER_FORMAT",
      expect.stringContaining("npm run convert"),
    ]);
    expect(message).toContain(`has schema ${schemaVersion - 1}, older than`);
  });
});

describe("creating the tables", () => {
  it("leaves the file as it was if it fails", async () => {
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
