/** How a connection is set up, and what loads and warns when. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/ledger/sqlite/connect.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { applicationId, schemaVersion } from "../../src/ledger/sqlite/schema.ts";
import { prepareStatements } from "../../src/ledger/sqlite/statements.ts";
import { freshPaths, withDatabase, withStore, writeLedger } from "./ledger-files.ts";

const freshPath = freshPaths();
const entryPoint = new URL("../../src/ledger/sqlite/index.ts", import.meta.url).href;

async function pragmasOf(options: { readonly path: string; readonly synchronous: "full" | "normal" }) {
  const db = await connect({ ...options, busyTimeoutMs: 1234 });
  const names = ["synchronous", "journal_mode", "wal_autocheckpoint", "foreign_keys", "busy_timeout", "application_id"];
  const values = names.map((name) => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]);
  db.close();
  return values;
}

describe("a connection", () => {
  it("syncs every commit unless asked otherwise, and writes ahead", async () => {
    const path = freshPath();
    expect(await pragmasOf({ path, synchronous: "full" })).toEqual([2, "wal", 4000, 1, 1234, applicationId]);
    expect(await pragmasOf({ path, synchronous: "normal" })).toEqual([1, "wal", 4000, 1, 1234, applicationId]);
  });

  it("has its synchronous level before a statement is prepared", async () => {
    const db = await connect({ path: freshPath(), busyTimeoutMs: 0, synchronous: "full" });
    prepareStatements(db);
    expect(db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    db.close();
  });

  it("checkpoints on close: one file stays", async () => {
    const path = freshPath();
    await writeLedger(path);
    expect([path, `${path}-wal`, `${path}-shm`].map((file) => existsSync(file))).toEqual([true, false, false]);
  });

  it("does not load the driver before open, and warns of nothing after", () => {
    const script = `
      const { sqliteLedger } = await import(${JSON.stringify(entryPoint)});
      const isLoaded = () => process.moduleLoadList.some((name) => /NativeModule sqlite/.test(name));
      const store = sqliteLedger();
      const before = isLoaded();
      await store.open();
      await store.close();
      console.log(before, isLoaded());`;
    const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    expect(child.stdout.trim()).toBe("false true");
    expect(child.stderr).toBe("");
  });

  it("lives in memory without a path", async () => {
    await withStore(sqliteLedger(), async (store) => {
      expect(store.name).toBe(":memory:");
      expect(await store.position()).toBe(0);
    });
  });
});

describe("the schema", () => {
  it("is marked as ours, with its version", async () => {
    const path = freshPath();
    await writeLedger(path);
    withDatabase(path, (db) => {
      expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion });
      expect(db.prepare("PRAGMA application_id").get()).toEqual({ application_id: applicationId });
      expect(db.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get()).toEqual({
        value: String(schemaVersion),
      });
    });
  });

  it("is made once by processes that open a new file at the same moment", async () => {
    const path = freshPath();
    const script = `
      const { sqliteLedger } = await import(${JSON.stringify(entryPoint)});
      const store = sqliteLedger({ path: ${JSON.stringify(path)} });
      while (Date.now() < Number(process.argv[1]));
      await store.open();
      console.log(await store.position());
      await store.close();`;
    const start = String(Date.now() + 700);
    const run = () => execFileAsync(["--input-type=module", "-e", script, start]);
    expect(await Promise.all([run(), run(), run(), run()])).toEqual(["0", "0", "0", "0"]);
  });

  it("answers due, abandoned and the other queues by index, without sorting", async () => {
    const db = await connect({ path: ":memory:", busyTimeoutMs: 0, synchronous: "full" });
    const statements = prepareStatements(db);
    const planOf = (name: keyof typeof statements) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${statements[name].sourceSQL}`)
        .all()
        .map((step) => step["detail"])
        .join("; ");
    expect(planOf("takeDue")).toContain("SEARCH workflows USING INDEX workflows_due (due_at>? AND due_at<?)");
    expect(planOf("nextDue")).toContain("SEARCH workflows USING INDEX workflows_due (due_at>?)");
    expect(planOf("takeAbandoned")).toContain("SEARCH workflows USING INDEX workflows_abandoned (<expr><?)");
    expect(planOf("anyToTake")).not.toContain("SCAN workflows;");
    for (const name of ["held", "freeHeld", "freeOrphaned"] as const) expect(planOf(name)).toContain("workflows_held");
    // Entries of memory are found by their keys, however many others the tenant or the thread has.
    const byKey = ["memoryOfTenantByKey", "memoryOfThreadByKey"] as const;
    for (const name of byKey) expect(planOf(name)).toMatch(/^SEARCH (m|memory) USING PRIMARY KEY \(.*key=\?/);
    // Halts, grants and stand-ins are few, and so are the work that they hold and the entries of some keys.
    const ofFew: ReadonlySet<string> = new Set([
      ...byKey,
      "takeFreed",
      "halts",
      "grantingTenants",
      "standInTenants",
      "countHolds",
    ]);
    for (const name of Object.keys(statements) as (keyof typeof statements)[])
      if (!ofFew.has(name) && /^\s*(SELECT|UPDATE|DELETE)/.test(statements[name].sourceSQL))
        expect(planOf(name)).not.toContain("TEMP B-TREE");
    db.close();
  });
});

function execFileAsync(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...args], (error, stdout) => (error === null ? resolve(stdout.trim()) : reject(error)));
  });
}
