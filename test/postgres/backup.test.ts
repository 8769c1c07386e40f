/**
 * A copy of a ledger is taken while kernels work on it, and a kernel goes on from the copy; one that was restored into
 * another cluster, where transactions begin low, goes on above its own positions.
 */
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { createKernel, type Kernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { testCaller } from "../../src/testing/index.ts";
import { readHere, runHere } from "../cli/command-line.ts";
import { freshPaths } from "../fixtures.ts";
import { intent, publishing } from "../gates/story.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";
import { startServer } from "./start-server.ts";

const freshPath = freshPaths();
const open = (ledger: LedgerStore): Promise<Kernel> =>
  createKernel({ ledger, capabilities: [publishing().capability] });

async function begin(kernel: Kernel): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...testCaller, intent_hint: { intent_type: intent, inputs: {} } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

async function expectGoesOn(ledger: LedgerStore, workflowId: string): Promise<void> {
  const kernel = await open(ledger);
  await kernel.decideGate(workflowId, { ...testCaller, gate_id: "gate-publish", decision: "approve" } as never);
  expect((await kernel.settled(workflowId)).state).toBe("completed");
  expect(await kernel.verify()).toMatchObject({ ok: true });
  await kernel.stop();
}

/** What a dump and a restore of the schema do: each table's rows as they are. */
async function copyTables(from: Client, to: Client, schema: string): Promise<void> {
  const { rows } = await from.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = $1", [schema]);
  for (const { name } of rows as readonly { readonly name: string }[]) {
    const table = `${schema}.${name}`;
    const told = await from.query(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} AS t`);
    if (name === "meta") await to.query(`DELETE FROM ${table}`);
    const put = `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
      SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
    await to.query(put, [told.rows[0].rows]);
  }
}

describe("[LED-09] a backup", () => {
  it("is taken while a kernel works, takes new rows when taken again, and is restored by migrate", async () => {
    const [path, schema, restored] = [freshPath(), freshSchema(), freshSchema()];
    const db = `${serverUrl}?schema=${schema}`;
    const busy = await open(freshLedger(schema));
    const first = await begin(busy);
    const going = Array.from({ length: 8 }, () => begin(busy));
    const told = await runHere("backup", "--db", db, "--to", path);
    expect([told.code, told.err, told.out.includes("secret")]).toEqual([0, "", false]);
    expect(told.out).toContain(`migrate --db ${path}`);
    await Promise.all(going);
    const last = await begin(busy);
    const again = await readHere<{ rows: number; found: number }>("backup", "--db", db, "--to", path);
    expect(again.found).toBeGreaterThan(0);
    expect(again.rows).toBeGreaterThan(again.found);
    await busy.stop();
    expect((await runHere("migrate", "--db", path, "--to", `${serverUrl}?schema=${restored}`)).code).toBe(0);
    await expectGoesOn(freshLedger(restored), last);
    await expectGoesOn(sqliteLedger({ path }), first);
  });

  it("that the database's own tools took goes on above its positions in a new cluster", async () => {
    const schema = freshSchema();
    const kernel = await open(freshLedger(schema));
    const id = await begin(kernel);
    await kernel.stop();
    const other = await startServer();
    const [from, to] = [new Client(serverUrl), new Client(other.url)];
    await Promise.all([from.connect(), to.connect()]);
    // The source has seen more transactions than the new cluster.
    await from.query(`UPDATE ${schema}.meta SET value = '5000000' WHERE name = 'position_base'`);
    const busy = freshLedger(schema);
    const again = await open(busy);
    await begin(again);
    const highest = await busy.position();
    await again.stop();
    const ledger = postgresLedger({ url: other.url, schema });
    await ledger.open();
    await ledger.close();
    await copyTables(from, to, schema);
    await expectGoesOn(postgresLedger({ url: other.url, schema }), id);
    await ledger.open();
    const after = await ledger.tail(highest, 10);
    expect(after.length).toBeGreaterThan(0);
    expect(after.every(({ row }) => row.stream === id)).toBe(true);
    await ledger.close();
    await Promise.all([from.end(), to.end()]);
    await other.stop();
  });
});
