/** Two stores on one ledger: one begins a call while the other sets a halt of the same tenant. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

const halt = {
  halt_id: "one",
  of: {},
  reason: "stop",
  by: { type: "user", id: "ann", role: "admin" },
  at: "2026-01-01T00:00:00.000Z",
};

it("a halt is committed before a call of its tenant is decided, or after the start of the call", async () => {
  const schema = freshSchema();
  const stores = [freshLedger(schema), freshLedger(schema)] as const;
  const [caller, halting] = stores;
  await Promise.all(stores.map((store) => store.open()));
  const options = `-c search_path=${schema}`;
  const [client, watcher] = [0, 1].map(() => new Client({ connectionString: serverUrl, options })) as [Client, Client];
  await Promise.all([client.connect(), watcher.connect()]);
  /** Resolves once a connection to this ledger waits for a lock of this kind. */
  const waitsFor = async (locktype: string): Promise<"waits"> => {
    const text = `SELECT pg_sleep(0.02), EXISTS (SELECT 1 FROM pg_locks AS l JOIN pg_locks AS own USING (pid)
      WHERE NOT l.granted AND l.locktype = '${locktype}' AND own.relation = 'streams'::regclass) OR EXISTS (
      SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = '${locktype}' AND locktype = 'advisory') AS yes`;
    while ((await watcher.query(text)).rows[0]?.yes !== true);
    return "waits";
  };
  try {
    const begun = firstTurn(testStream(1));
    await caller.append([begun.entry]);
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM streams WHERE stream = $1 FOR UPDATE", [begun.after.id]);
    // The call has read the halts; its transaction waits for the row of its stream.
    const call = caller.append([nextTurn(begun.after, { halts_at: 0 }).entry]);
    await waitsFor("transactionid");
    const set = halting.append([nextTurn(testStream(2), { indexes: { halts: [halt] } }).entry]);
    expect(await Promise.race([set.then(() => "committed"), waitsFor("advisory")])).toEqual("waits");
    await client.query("COMMIT");
    const [started, stopped] = [await call, await set].map(([receipt]) =>
      receipt?.ok === true ? receipt.position : 0,
    );
    expect(started).toBeGreaterThan(0);
    expect(stopped).toBeGreaterThan(started as number);
  } finally {
    await Promise.all([client.end(), watcher.end(), ...stores.map((store) => store.close())]);
  }
});
