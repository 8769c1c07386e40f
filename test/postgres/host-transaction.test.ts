/** What an operator writes to the host's own tables is there once, whoever dies when: its key is committed with it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator } from "../../src/index.ts";
import { hostTransaction, hostTransactionTable } from "../../src/ledger/postgres/index.ts";
import { callOperator } from "../../src/testing/index.ts";
import { openProxy } from "./proxy.ts";
import { freshSchema, serverUrl } from "./server.ts";

async function withAccounts(use: (pool: Pool, schema: string) => Promise<void>): Promise<void> {
  const schema = freshSchema();
  const pool = new Pool({ connectionString: serverUrl, options: `-c search_path=${schema}`, max: 8 });
  try {
    await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE accounts (cents int); INSERT INTO accounts VALUES (0)`);
    await pool.query(hostTransactionTable);
    await use(pool, schema);
  } finally {
    await pool.end();
  }
}

const centsIn = async (pool: Pool): Promise<number> => (await pool.query("SELECT cents FROM accounts")).rows[0].cents;

function payOperator(pool: Pool, then: (signal: AbortSignal) => unknown = () => undefined) {
  return defineOperator({
    name: "Ledger.Pay",
    input: z.object({ cents: z.number() }),
    effect: "final_write",
    idempotent: true,
    run: hostTransaction(pool, async (tx, { input, signal }: { input: { cents: number }; signal: AbortSignal }) => {
      const { rows } = await tx.query("UPDATE accounts SET cents = cents + $1 RETURNING cents", [input.cents]);
      await then(signal);
      return rows[0] as { cents: number };
    }),
  });
}

describe("hostTransaction on Postgres", () => {
  it("takes effect once for calls under one key at once, and gives each the result of the one", async () => {
    await withAccounts(async (pool) => {
      const pay = payOperator(pool);
      const call = () => callOperator({ operator: pay, input: { cents: 5 }, idempotencyKey: "k" });
      const results = await Promise.all(Array.from({ length: 20 }, call));
      expect(new Set(results.map((result) => JSON.stringify(result.output))).size).toBe(1);
      expect(await centsIn(pool)).toBe(5);
      await callOperator({ operator: pay, input: { cents: 5 }, idempotencyKey: "other" });
      expect(await centsIn(pool)).toBe(10);
    });
  });

  it("rolls back what throws and what is aborted, with its key: the same call may be made again", async () => {
    await withAccounts(async (pool) => {
      let fails = true;
      const throwing = payOperator(pool, () => {
        if (fails) throw new Error("not now");
      });
      await expect(callOperator({ operator: throwing, input: { cents: 1 }, idempotencyKey: "k" })).rejects.toThrow(
        "not now",
      );
      expect(await centsIn(pool)).toBe(0);
      fails = false;
      await callOperator({ operator: throwing, input: { cents: 1 }, idempotencyKey: "k" });
      expect(await centsIn(pool)).toBe(1);
      const abort = new AbortController();
      const slow = payOperator(pool, () => abort.abort(new Error("too late")));
      const aborted = callOperator({ operator: slow, input: { cents: 1 }, idempotencyKey: "l", signal: abort.signal });
      await expect(aborted).rejects.toThrow();
      expect(await centsIn(pool)).toBe(1);
      expect((await pool.query("SELECT key FROM countersign_effects")).rows).toEqual([{ key: "k" }]);
    });
  });

  it("fails a call whose connection ends within it, and nothing else: the same call may be made again", async () => {
    await withAccounts(async (pool) => {
      const pidsOf =
        "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE 'UPDATE acc%'";
      let fails = true;
      const pay = payOperator(pool, async () => {
        if (!fails) return;
        const { rows } = await pool.query(`SELECT pg_terminate_backend(pid) FROM (${pidsOf}) AS own`);
        expect(rows).toHaveLength(1);
        // Nothing is asked of it while it ends.
        while ((await pool.query(pidsOf)).rows.length > 0);
      });
      const call = () => callOperator({ operator: pay, input: { cents: 5 }, idempotencyKey: "k" });
      await expect(call()).rejects.toThrow();
      expect(await centsIn(pool)).toBe(0);
      fails = false;
      await call();
      expect(await centsIn(pool)).toBe(5);
    });
  });

  it("fails a call whose connection ends while it is lent, and nothing else", async () => {
    await withAccounts(async (pool, schema) => {
      const proxy = await openProxy(serverUrl);
      const far = new Pool({ connectionString: proxy.url, options: `-c search_path=${schema}` });
      const call = () => callOperator({ operator: payOperator(far), input: { cents: 5 }, idempotencyKey: "k" });
      proxy.endNext();
      await expect(call()).rejects.toThrow();
      await call();
      expect(await centsIn(pool)).toBe(5);
      await far.end();
      proxy.close();
    });
  });

  it("gives the result of what was committed though the connection was lost in COMMIT", async () => {
    await withAccounts(async (pool, schema) => {
      const proxy = await openProxy(serverUrl);
      const far = new Pool({ connectionString: proxy.url, options: `-c search_path=${schema}` });
      try {
        const pay = payOperator(far);
        proxy.muteAfter("COMMIT");
        const called = callOperator({ operator: pay, input: { cents: 5 }, idempotencyKey: "k" });
        while ((await centsIn(pool)) === 0);
        proxy.cut();
        expect((await called).output).toEqual({ cents: 5 });
        expect(await centsIn(pool)).toBe(5);
      } finally {
        await far.end();
        proxy.close();
      }
    });
  });

  it("takes effect exactly once for each key, in processes that are killed in the middle", async () => {
    await withAccounts(async (pool, schema) => {
      const wanted = 40;
      for (let round = 0; ; round += 1) {
        const child = spawn(process.execPath, [join(import.meta.dirname, "pay.ts"), serverUrl, schema, String(wanted)]);
        child.stderr.resume();
        const seen = 4 + 3 * (round % 4);
        let paid = 0;
        child.stdout.on("data", (bytes: Buffer) => {
          paid += bytes.toString().split("\n").length - 1;
          if (round < 4 && paid >= seen) child.kill("SIGKILL");
        });
        const [code] = await once(child, "exit");
        if (code === 0) break;
        expect(round).toBeLessThan(20);
      }
      expect(await centsIn(pool)).toBe(wanted);
    });
  });
});
