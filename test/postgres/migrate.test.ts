/** A ledger moves from a file to Postgres and back: the same rows, to the byte, and indexes that follow from them. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKernel, moveLedger } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { readHere, runHere } from "../cli/command-line.ts";
import { freshPaths, refusalOf } from "../fixtures.ts";
import { intent, publishing } from "../gates/story.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

const freshPath = freshPaths();

/** A ledger file with workflows that are done and one that waits, and what a tenant recorded beside them. */
async function fill(path: string): Promise<string> {
  await using t = await createTestKernel({ ledger: sqliteLedger({ path }), capabilities: [publishing().capability] });
  await t.kernel.memory.write({
    tenant_id: testCaller.tenant_id,
    key: "k",
    type: "fact",
    value: "v",
    source: "test",
    confidence: 1,
  });
  for (const n of [1, 2]) {
    const { workflow_id } = await t.run(intent, { n }, { thread_id: "t" });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
  }
  return (await t.run(intent, { n: 3 })).workflow_id;
}

async function rowsOf(store: LedgerStore) {
  await store.open();
  const rows = await store.tail(0, 1000);
  await store.close();
  return rows.map(({ row }) => row);
}

describe("migrate", () => {
  it("[LED-09] moves a ledger to Postgres and back, to the byte; what waited is decided there", async () => {
    const [path, back] = [freshPath(), freshPath()];
    const id = await fill(path);
    const db = `${serverUrl}?schema=${freshSchema()}`;
    const schema = new URL(db).searchParams.get("schema") as string;
    const moved = await readHere<{ rows: number; found: number }>("migrate", "--db", path, "--to", db);
    expect(moved).toMatchObject({ found: 0, streams: 4 });
    const expected = await rowsOf(sqliteLedger({ path }));
    expect(await rowsOf(freshLedger(schema))).toEqual(expected);
    const again = await readHere("migrate", "--db", path, "--to", db);
    expect(again).toMatchObject({ rows: moved.rows, found: moved.rows });
    const ran = await runHere("migrate", "--db", db, "--to", back);
    expect([ran.code, ran.err, ran.out.includes("secret")]).toEqual([0, "", false]);
    expect(await rowsOf(sqliteLedger({ path: back }))).toEqual(expected);
    const kernel = await createKernel({ ledger: freshLedger(schema), capabilities: [publishing().capability] });
    await kernel.decideGate(id, { ...testCaller, decision: "approve" } as never);
    expect((await kernel.settled(id)).state).toBe("completed");
    expect(await kernel.verify()).toMatchObject({ ok: true });
    await kernel.stop();
  });

  it("refuses what is not sound, what a process works on, and a place that holds another ledger", async () => {
    const [path, other] = [freshPath(), freshPath()];
    await fill(path);
    const held = sqliteLedger({ path });
    await held.open();
    const [head] = await held.heads({});
    await held.heartbeat("busy", 1_000, 1_000);
    await held.claim(head?.workflow_id as string, "busy", 1_000);
    const move = (to: LedgerStore, now: number) => moveLedger(sqliteLedger({ path }), to, { now });
    expect((await refusalOf(move(freshLedger(), 1_500))).code).toBe("T0_LEDGER_LOCKED");
    await held.close();
    const store = sqliteLedger({ path: other });
    await store.open();
    const [first] = (await rowsOf(sqliteLedger({ path }))) as [Awaited<ReturnType<typeof rowsOf>>[0]];
    await store.append([{ tenant_id: 1, row: { ...first, hash: "f".repeat(64) }, now: 0 }]);
    await store.close();
    expect((await refusalOf(move(sqliteLedger({ path: other }), 3_000))).code).toBe("T0_LEDGER_CONFLICT");
    expect((await refusalOf(moveLedger(sqliteLedger({ path: other }), freshLedger(), { now: 0 }))).code).toBe(
      "T0_LEDGER_CORRUPT",
    );
    expect((await runHere("migrate", "--db", join(path, "nowhere"), "--to", other)).code).toBe(1);
  });
});
