/** Ledger files of every released schema are read, brought up to date, and written on. */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/contract/chain.ts";
import { plainGate } from "../../src/contract/gate.ts";
import { openTurns } from "../../src/contract/turn.ts";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";
import { schemaVersion } from "../../src/ledgers/sqlite/migrations.ts";
import { nextTurn, testDocument, testGate, testStream } from "../../src/testing/ledger-turns.ts";
import { freshPaths, withDatabase, withStore, writeLedger } from "./ledger-files.ts";

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

describe("a ledger file of schema version 1", () => {
  it("is read with everything that it holds", async () => {
    await withStore(sqliteLedger({ path: restore("ledger-v1.sql") }), async (store) => {
      const stream = testStream(1, { tenant_id: 7, thread_id: "t" });
      const rows = await store.read(stream.id);
      expect(verifyChain(rows)).toBe(null);
      expect(openTurns(rows).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
      const head = await store.head(stream.id);
      expect([head?.tenant_id, head?.state, head?.due_at, head?.owner, head?.epoch]).toEqual([
        7,
        "waiting_for_user",
        5000,
        null,
        1,
      ]);
      // As it was written; whoever reads adds what is new since.
      const gates = (await store.gates({ tenant_id: 7 })).map((gate) => ({ ...plainGate, ...gate }));
      expect(gates).toEqual([testGate(stream, "a")]);
      expect(await store.findKey(7, "apply:1")).toEqual({ workflow_id: stream.id, action_id: "act_1" });
      expect((await store.memory({ tenant_id: 7, thread_id: "t", limit: 9 })).map(({ key }) => key)).toEqual([
        "colour",
      ]);
      expect(await store.documents(7, ["d"])).toEqual([testDocument(stream, "d", "title")]);
      expect(await store.nextDue()).toBe(5000);
    });
  });

  it("is written on", async () => {
    await withStore(sqliteLedger({ path: restore("ledger-v1.sql") }), async (store) => {
      const stream = testStream(1, { tenant_id: 7, thread_id: "t" });
      const last = (await store.read(stream.id)).at(-1)!;
      const turn = nextTurn(
        { ...stream, last: last.last_sequence, hash: last.hash },
        { claim: { owner: "me", expires_at: 9 } },
      );
      expect(await store.append([turn.entry])).toEqual([{ ok: true, position: 4, epoch: 2 }]);
      expect(verifyChain(await store.read(stream.id))).toBe(null);
    });
  });
});

describe("a ledger file of schema version 2", () => {
  it("holds what budget counters stand at; a file of version 1 gains them", async () => {
    const charge = { tokens: 5, money: 0.5, invocations: 1, wall_ms: 20 };
    await withStore(sqliteLedger({ path: restore("ledger-v2.sql") }), async (store) => {
      expect(await store.chargesOf(7)).toEqual([{ counter: "tenant", amounts: charge }]);
    });
    await withStore(sqliteLedger({ path: restore("ledger-v1.sql") }), async (store) => {
      expect(await store.chargesOf(7)).toEqual([]);
    });
  });
});

describe("migrations", () => {
  it("there is a fixture of each schema version", () => {
    const versions = Array.from({ length: schemaVersion }, (_, i) => `ledger-v${i + 1}.sql`);
    expect(
      readdirSync(folder)
        .filter((name) => name.endsWith(".sql"))
        .sort(),
    ).toEqual(versions.sort());
  });

  it("an old file that was opened has the schema of a new one", async () => {
    const fresh = freshPath();
    await writeLedger(fresh);
    for (const name of readdirSync(folder)) {
      const path = restore(name);
      await withStore(sqliteLedger({ path }), async () => {});
      expect(withDatabase(path, schemaOf)).toEqual(withDatabase(fresh, schemaOf));
    }
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
