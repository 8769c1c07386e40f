/** What a ledger file has to be: of this schema, or empty. Files of earlier row formats are refused. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { refusalOf } from "../fixtures.ts";
import { freshPaths, withDatabase, withStore } from "./ledger-files.ts";
import { routeTwoTenants } from "./routed-tenants.ts";

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
});

describe("migrations", () => {
  it("model endpoints that were counted by tenant alone have what they stand at for all, as the log says", async () => {
    const path = freshPath();
    await routeTwoTenants(sqliteLedger({ path }));
    const noReceipts = "DROP INDEX deliveries_receipts; ALTER TABLE deliveries DROP COLUMN receipt";
    withDatabase(path, (db) =>
      db.exec(`${noReceipts}; DELETE FROM charges WHERE tenant_id = 'null'; PRAGMA user_version = 7`),
    );
    await withStore(sqliteLedger({ path }), async (store) => {
      expect(await store.charges(null, ['endpoint:"small"'])).toMatchObject([{ invocations: 2, tokens: 14 }]);
    });
    const kernel = await createKernel({ ledger: sqliteLedger({ path }), recover: false });
    expect(await kernel.verify()).toMatchObject({ ok: true, broken: [] });
    await kernel.stop();
  });

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
