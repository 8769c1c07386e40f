/** The event log is append only, in the store's face, in what it returns, and in the database itself. */
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { freshPaths, withDatabase, withStore, writeLedger } from "./ledger-files.ts";

const freshPath = freshPaths();
const dump = (db: DatabaseSync) => db.prepare("SELECT * FROM events ORDER BY position").all();

describe("[LED-02] the event log is append only", () => {
  const columns = "stream, first_sequence, last_sequence, tenant_id, envelope, body, body_hash, prev_hash, hash";
  const first = `SELECT ${columns} FROM events WHERE position = 1`;
  const assaults = {
    "an update": "UPDATE events SET body = 'forged' WHERE position = 1",
    "an erasing update": "UPDATE events SET body = NULL",
    "an update that replaces": "UPDATE OR REPLACE events SET position = 2 WHERE position = 1",
    "a delete": "DELETE FROM events WHERE position = 3",
    "a delete of all rows": "DELETE FROM events",
    "a replacing insert by position": `INSERT OR REPLACE INTO events (position, ${columns})
      SELECT 1, 'forged', 1, 1, tenant_id, envelope, body, body_hash, prev_hash, hash FROM events WHERE position = 1`,
    "a replacing insert by sequence": `INSERT OR REPLACE INTO events (${columns}) ${first}`,
    "a replace": `REPLACE INTO events (${columns}) SELECT ${columns} FROM events WHERE position = 2`,
    "an upsert": `INSERT INTO events (${columns}) ${first} ON CONFLICT DO UPDATE SET body = 'forged'`,
  };
  for (const [name, sql] of Object.entries(assaults))
    it(`the database refuses ${name}`, async () => {
      const path = freshPath();
      await writeLedger(path);
      withDatabase(path, (db) => {
        const before = dump(db);
        expect(() => db.exec(sql)).toThrow("the event log is append only");
        expect(dump(db)).toEqual(before);
      });
    });

  it("the store has no function that changes or removes a row, and its rows are frozen", async () => {
    await withStore(sqliteLedger(), async (store) => {
      expect(Object.keys(store).filter((name) => /update|delete|remove|erase|replace|truncate/i.test(name))).toEqual(
        [],
      );
      await store.append([nextTurn(testStream(1)).entry]);
      const [row] = await store.read(testStream(1).id);
      expect(Object.isFrozen(row)).toBe(true);
      expect(Object.isFrozen((await store.tail(0, 1))[0]?.row)).toBe(true);
    });
  });

  it("an append never changes earlier bytes of the export", async () => {
    const path = freshPath();
    await writeLedger(path, 4);
    await withStore(sqliteLedger({ path }), async (store) => {
      const before = JSON.stringify(await store.tail(0, 100)).slice(0, -1);
      for (let n = 10; n < 20; n += 1) await store.append([nextTurn(testStream(n)).entry]);
      expect(JSON.stringify(await store.tail(0, 100)).startsWith(before)).toBe(true);
    });
  });
});
