/**
 * Several stores on one ledger at once: one order of each stream, one holder of each key, and a tail that leaves
 * nothing out.
 */
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/contract/chain.ts";
import type { Append, LedgerStore } from "../../src/ports/ledger-store.ts";
import { firstTurn, nextTurn, testMemory, testStream } from "../../src/testing/ledger-turns.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

/** So many stores on one schema. */
async function withStores(
  count: number,
  use: (stores: readonly LedgerStore[], schema: string) => Promise<void>,
): Promise<void> {
  const schema = freshSchema();
  const stores = Array.from({ length: count }, () => freshLedger(schema));
  try {
    await Promise.all(stores.map((store) => store.open()));
    await use(stores, schema);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

const reasonsOf = async (entries: readonly Promise<readonly { readonly ok: boolean; readonly reason?: string }[]>[]) =>
  (await Promise.all(entries)).flat().map((receipt) => (receipt.ok ? "ok" : receipt.reason));

describe("stores that write to one ledger at once", () => {
  it("[INV-14] open a new one together: the schema is made once", async () => {
    await withStores(6, async (stores) => {
      expect(await Promise.all(stores.map((store) => store.position()))).toEqual(stores.map(() => 0));
    });
  });

  it("exactly one of equal appends wins, each time, and the others are clashes", async () => {
    await withStores(4, async (stores) => {
      let stream = testStream(1);
      for (let round = 0; round < 25; round += 1) {
        const turns = stores.map((_, i) => nextTurn(stream, { text: `store ${i}` }));
        const told = await reasonsOf(stores.map((store, i) => store.append([(turns[i] as (typeof turns)[0]).entry])));
        expect(told.toSorted()).toEqual(["clash", "clash", "clash", "ok"]);
        stream = (turns[told.indexOf("ok")] as (typeof turns)[0]).after;
      }
      const rows = await (stores[0] as LedgerStore).read(stream.id);
      expect([verifyChain(rows), rows.length]).toEqual([null, 25]);
    });
  });

  it("of workflows with one unique key one is begun, and what is refused leaves no key", async () => {
    await withStores(4, async (stores) => {
      const begin = (n: number, more: Partial<Append> = {}): Append => {
        const keys = [{ key: `u${n >> 2}`, action_id: `act_${n}`, unique: true }];
        return { ...firstTurn(testStream(n), {}, { indexes: { keys } }).entry, ...more };
      };
      for (let round = 0; round < 25; round += 1) {
        const told = await reasonsOf(stores.map((store, i) => store.append([begin(4 * round + i)])));
        expect(told.toSorted()).toEqual(["ok", "taken", "taken", "taken"]);
      }
      const [store] = stores as [LedgerStore];
      const foreign = begin(400, { lease: { owner: "me", epoch: 9 } });
      expect(await reasonsOf([store.append([foreign, begin(401), begin(402)])])).toEqual(["fenced", "ok", "taken"]);
      expect(await store.findKey("acme", "u100")).toMatchObject({ workflow_id: testStream(401).id });
    });
  });

  it("never pass a ceiling together, and reach it, whoever counts", async () => {
    await withStores(4, async (stores) => {
      const amounts = { tokens: 0.1, money: 0, invocations: 1, wall_ms: 0 };
      const charges = ["b", "a"].map((counter) => ({ counter, amounts, within: { invocations: 30 } }));
      const begin = (n: number): Append => firstTurn(testStream(n), {}, { indexes: { charges } }).entry;
      const writing = stores.map(async (store, i) => {
        const told: string[] = [];
        for (let n = 0; n < 6; n += 1) {
          const first = 100 * i + 3 * n;
          told.push(
            ...((await reasonsOf([store.append([begin(first + 1), begin(first + 2), begin(first + 3)])])) as string[]),
          );
        }
        return told;
      });
      const told = (await Promise.all(writing)).flat();
      expect(told.filter((reason) => reason === "ok")).toHaveLength(30);
      expect(told.filter((reason) => reason === "spent")).toHaveLength(42);
      const [store] = stores as [LedgerStore];
      expect((await store.charges("acme", ["a", "b"])).map(({ invocations }) => invocations)).toEqual([30, 30]);
    });
  });

  it("follow the whole log by its tail, in order, though transactions end in another order", async () => {
    await withStores(8, async (stores, schema) => {
      const [reader, ...writers] = stores as [LedgerStore, ...LedgerStore[]];
      const seen: { readonly position: number; readonly hash: string }[] = [];
      let [writing, isOver] = [true, false];
      const follow = async (): Promise<void> => {
        for (let isLast = false; ; isLast = isOver) {
          const rows = await reader.tail(seen.at(-1)?.position ?? 0, 7);
          seen.push(...rows.map(({ position, row }) => ({ position, hash: row.hash })));
          if (rows.length === 0 && isLast) return;
        }
      };
      const write = async (store: LedgerStore, n: number): Promise<readonly string[]> => {
        const hashes: string[] = [];
        let stream = testStream(n);
        for (let turn = 0; turn < 20; turn += 1) {
          const { entry, after } = nextTurn(stream, { indexes: { memory: [testMemory(stream, "m", `${n}.${turn}`)] } });
          expect((await store.append([entry]))[0]?.ok).toBe(true);
          hashes.push(entry.row.hash);
          stream = after;
        }
        return hashes;
      };
      const slow = holdBack(schema, () => writing);
      const following = follow();
      const written = await Promise.all(writers.map((store, i) => write(store, i + 1)));
      writing = false;
      await slow;
      isOver = true;
      await following;
      expect(seen.map(({ hash }) => hash).toSorted()).toEqual(written.flat().toSorted());
      for (const stream of written)
        expect(seen.map(({ hash }) => hash).filter((hash) => stream.includes(hash))).toEqual(stream);
      const last = seen.at(-1) as { readonly hash: string };
      const [newest] = await reader.memory({ tenant_id: "acme", limit: 1 });
      expect(newest?.position).toBe(seen.at(-1)?.position);
      expect(written.some((hashes) => hashes.at(-1) === last.hash)).toBe(true);
    });
  });

  it("[LED-01] leave indexes that follow from the log", async () => {
    await withStores(4, async (stores) => {
      const streams = await Promise.all(
        stores.map(async (store, i) => {
          const { entry, after } = firstTurn(testStream(i + 1, { thread_id: "t" }));
          await store.append([entry]);
          return after;
        }),
      );
      const amounts = { tokens: 1, money: 0.1, invocations: 1, wall_ms: 0.5 };
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(
          stores.map((store, i) => {
            const indexes = { charges: [{ counter: "tenant", amounts }] };
            const turn = nextTurn(streams[i] as (typeof streams)[0], { indexes });
            streams[i] = turn.after;
            return store.append([turn.entry]);
          }),
        );
      }
      const [charged] = await (stores[0] as LedgerStore).charges("acme", ["tenant"]);
      expect(charged?.tokens).toBe(20);
      expect(charged?.money).toBeCloseTo(2);
      const dumped = await stores[0]?.indexes?.();
      const tail = await (stores[0] as LedgerStore).tail(0, 100);
      expect(dumped?.position).toBe(tail.at(-1)?.position);
      expect(dumped?.tables.find(({ name }) => name === "events")?.rows).toHaveLength(4);
    });
  });
});

/**
 * Opens and ends transactions that write nothing to the ledger, so that ids end in another order than they were given.
 */
async function holdBack(schema: string, isOn: () => boolean): Promise<void> {
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  while (isOn()) {
    await client.query("BEGIN");
    await client.query("SELECT pg_current_xact_id(), pg_sleep(0.01)");
    await client.query("ROLLBACK");
  }
  await client.end();
}
