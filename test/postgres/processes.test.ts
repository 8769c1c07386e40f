/**
 * Three processes on one database: what one that dies had begun goes on in another, and one that was paused begins
 * nothing.
 */
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";
import { createEffects, killNodes, type Node, startNode } from "./start-node.ts";

interface Effect {
  readonly key: string;
  readonly kernel: string;
  /** Both by the same machine, in epoch ms: when the call began, and when it took effect. */
  readonly begun: number;
  readonly at: number;
}

interface Stage {
  /** `aheadMs`: how far its clock is ahead of the others'. */
  readonly start: (owner: string, leaseMs?: number, aheadMs?: number) => Promise<Node>;
  readonly effects: () => Promise<readonly Effect[]>;
  /** Asks the database until it says yes. */
  readonly until: (text: string) => Promise<void>;
  /** Of the database's clock, as that of effects. */
  readonly now: () => Promise<number>;
  readonly verified: () => Promise<boolean>;
}

async function onStage(use: (stage: Stage) => Promise<void>): Promise<void> {
  const schema = freshSchema();
  const ledger = freshLedger(schema);
  await ledger.open();
  await ledger.close();
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  await createEffects(client);
  const nodes: Node[] = [];
  const ask = async (text: string) => (await client.query(text)).rows as readonly Record<string, unknown>[];
  try {
    await use({
      start: async (owner, leaseMs = 30_000, aheadMs = 0) => {
        const node = await startNode([serverUrl, schema, owner, String(leaseMs)], aheadMs);
        nodes.push(node);
        return node;
      },
      effects: async () =>
        (await ask(`SELECT key, kernel, ${millis("begun")}, ${millis("at")} FROM effects ORDER BY at`)).map((row) => ({
          key: row["key"] as string,
          kernel: row["kernel"] as string,
          begun: Number(row["begun"]),
          at: Number(row["at"]),
        })),
      until: async (text) => {
        while ((await ask(`SELECT (${text}) AS yes, pg_sleep(0.01)`))[0]?.["yes"] !== true);
      },
      now: async () => Number((await ask("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at"))[0]?.["at"]),
      verified: async () => {
        const kernel = await createKernel({ ledger: freshLedger(schema), recover: false });
        const { ok } = await kernel.verify();
        await kernel.stop({ drainMs: 0 });
        return ok;
      },
    });
  } finally {
    await killNodes(nodes);
    await client.end();
  }
}

const millis = (column: string) => `extract(epoch FROM ${column}) * 1000 AS ${column}`;
const isDone = (count: number) => `SELECT count(*) = ${count} FROM workflows WHERE state = 'completed'`;
const isUnderWay = (count: number) => `SELECT count(*) >= ${count} FROM effects`;

describe("processes on one database", () => {
  it("take up what one had begun that was killed, long before its leases end; nothing is lost", async () => {
    await onStage(async ({ start, effects, until, now, verified }) => {
      const [first] = await Promise.all([start("first"), start("second"), start("third")]);
      const ids = await first.submit(12);
      await until(isUnderWay(16));
      first.process.kill("SIGKILL");
      const killedAt = await now();
      await until(isDone(ids.length));
      const done = await effects();
      const others = done.filter(({ kernel }) => kernel !== "first");
      const takenUpMs = (others[0]?.at ?? Number.POSITIVE_INFINITY) - killedAt;
      expect(takenUpMs).toBeLessThan(15_000);
      const keys = new Set(done.map(({ key }) => key));
      expect(keys.size).toBe(4 * ids.length);
      for (const key of keys) {
        const kernels = done.filter((effect) => effect.key === key).map(({ kernel }) => kernel);
        expect(new Set(kernels).size).toBe(kernels.length);
        if (kernels.length > 1) expect(kernels).toContain("first");
      }
      expect(await verified()).toBe(true);
      if (process.env["TELL"] === "1") console.log({ takenUpMs, again: done.length - keys.size });
    });
  });

  it("one that was paused beyond its lease begins nothing on waking: only its running calls end", async () => {
    await onStage(async ({ start, effects, until, now, verified }) => {
      const first = await start("first", 1000);
      const ids = await first.submit(6);
      await until(isUnderWay(6));
      first.process.kill("SIGSTOP");
      await start("second", 1000);
      await until(isDone(ids.length));
      const wokenAt = await now();
      first.process.kill("SIGCONT");
      expect(await first.submit(1)).toHaveLength(1);
      await until(isDone(ids.length + 1));
      const done = await effects();
      const keys = new Set(done.filter(({ at }) => at < wokenAt).map(({ key }) => key));
      expect(keys.size).toBe(4 * ids.length);
      expect(done.filter(({ key, begun }) => keys.has(key) && begun >= wokenAt)).toEqual([]);
      expect(await verified()).toBe(true);
    });
  });

  it("hold their leases though their clocks differ; one that is an hour off is refused with a code", async () => {
    await onStage(async ({ start, effects, until }) => {
      const leaseMs = 20_000;
      const first = await start("first", leaseMs);
      const ids = await first.submit(3);
      await until(isUnderWay(3));
      const ahead = await start("ahead", leaseMs, 2 * leaseMs);
      await until(isDone(ids.length));
      const again = await ahead.submit(3);
      await until(isDone(ids.length + again.length));
      const done = await effects();
      expect(new Set(done.map(({ key }) => key)).size).toBe(done.length);
      expect(done.filter(({ kernel }) => kernel === "first")).toHaveLength(4 * ids.length);
      expect(done.filter(({ kernel }) => kernel === "ahead")).toHaveLength(4 * again.length);
      for (const aheadMs of [3_600_000, -3_600_000])
        await expect(start("astray", leaseMs, aheadMs)).rejects.toThrow("T0_LEDGER_CLOCK");
    });
  });

  it("refuse a second one under the name of one that lives, and take the name of one that is gone", async () => {
    const schema = freshSchema();
    const open = () => createKernel({ ledger: freshLedger(schema), owner: "only" });
    const first = await open();
    await expect(open()).rejects.toMatchObject({ error: { code: "T0_LEDGER_LOCKED" } });
    await first.stop({ drainMs: 0 });
    const second = await open();
    await second.stop({ drainMs: 0 });
  });
});
