/**
 * Of connections that several share: nobody waits for what another does with one, or is given what another began on it.
 */
import { Client } from "pg";
import { expect, it } from "vitest";
import { wallClock } from "../../src/adapters/wall-clock.ts";
import { createKernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { refusalOf } from "../fixtures.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

it("a ledger is verified by more at once than it has connections", async () => {
  const kernel = await createKernel({ ledger: freshLedger() });
  const verified = await Promise.all(Array.from({ length: 6 }, () => kernel.verify()));
  expect(verified.map(({ ok }) => ok)).toEqual(Array(6).fill(true));
  await kernel.stop();
});

it("a transaction that a stalled server begins too late is given up; the next question is not lost in it", async () => {
  const schema = freshSchema();
  const { sessions, open, close } = postgresLedger({ url: serverUrl, schema, timeoutMs: 300 });
  const session = { name: "s", kind: "session", holder: "h", caller: {}, born_at: 1, used_at: 1, ends_at: 9 } as const;
  const beside = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await Promise.all([open(), beside.connect()]);
  await sessions.keep(session as never, 9);
  const pids = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'countersign %' AND query = 'COMMIT'";
  const stalled = (await beside.query(pids)).rows.map(({ pid }) => pid as number);
  for (const pid of stalled) process.kill(pid, "SIGSTOP");
  const refused = await refusalOf(sessions.keep({ ...session, name: "late" } as never, 9));
  for (const pid of stalled) process.kill(pid, "SIGCONT");
  expect(refused.code).toBe("T0_LEDGER_UNAVAILABLE");
  await sessions.touch("s", 5);
  expect((await beside.query("SELECT name, used_at FROM sessions")).rows).toEqual([{ name: "s", used_at: 5 }]);
  await Promise.all([close(), beside.end()]);
});

it("a process that only loses its session enters again with its leases: only an absent one is gone", async () => {
  const schema = freshSchema();
  const [one, other] = [freshLedger(schema), freshLedger(schema)];
  const beside = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await Promise.all([one.open(), other.open(), beside.connect()]);
  const gone: string[] = [];
  const updates = { committed: () => undefined, gone: (owner: string) => void gone.push(owner) };
  await one.follow?.("one", updates);
  await other.follow?.("other", updates);
  for (const [store, owner] of [[one, "one"] as const, [other, "other"] as const])
    await store.heartbeat(owner, wallClock.now(), 30_000);
  const locked =
    "SELECT l.pid FROM pg_locks AS l JOIN owners AS o ON l.objid::bigint = o.lock WHERE locktype = 'advisory'";
  for (let round = 0; round < 4; round += 1) {
    await beside.query(`SELECT pg_terminate_backend(pid) FROM (${locked} AND o.owner = 'one') AS held`);
    await beside.query("SELECT pg_sleep(0.5)");
    while (gone.length <= round) await beside.query("SELECT pg_sleep(0.02)");
    expect((await beside.query("SELECT owner FROM owners ORDER BY owner")).rows).toHaveLength(2);
  }
  expect(gone).toEqual(["one", "one", "one", "one"]);
  await one.close();
  while (!gone.includes("one", 4)) await beside.query("SELECT pg_sleep(0.02)");
  await Promise.all([other.close(), beside.end()]);
});
