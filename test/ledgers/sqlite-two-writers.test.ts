/** Two connections on one file, a small head cache, and crashes: the cache never says what the file does not. */
import { copyFileSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/contract/chain.ts";
import { appendBatch } from "../../src/ledger/sqlite/append.ts";
import { connect } from "../../src/ledger/sqlite/connect.ts";
import { Durability } from "../../src/ledger/sqlite/durability.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { keepPrepared, prepareStatements } from "../../src/ledger/sqlite/statements.ts";
import { StreamHeads } from "../../src/ledger/sqlite/stream-heads.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { freshPaths, withStore } from "./ledger-files.ts";

const freshPath = freshPaths();
const me = "me";

async function withTwo(body: (one: LedgerStore, two: LedgerStore) => Promise<void>): Promise<void> {
  const path = freshPath();
  await withStore(sqliteLedger({ path }), (one) => withStore(sqliteLedger({ path }), (two) => body(one, two)));
}

describe("two connections on one ledger", () => {
  it("exactly one of two appends of the same sequence wins, each time", async () => {
    await withTwo(async (one, two) => {
      let stream = testStream(1);
      for (let round = 0; round < 50; round += 1) {
        const turns = [nextTurn(stream, { text: "one" }), nextTurn(stream, { text: "two" })];
        const order = round % 3 === 0 ? [one, two] : [two, one];
        const receipts = await Promise.all(order.map((store, i) => store.append([turns[i]!.entry])));
        const won = receipts.map(([receipt]) => receipt!.ok);
        expect(won.filter(Boolean)).toHaveLength(1);
        stream = turns[won.indexOf(true)]!.after;
      }
      expect(verifyChain(await one.read(stream.id))).toBe(null);
      expect(await two.read(stream.id)).toEqual(await one.read(stream.id));
    });
  });

  it("the data version of each is another one once the other has written, and only then", async () => {
    await withTwo(async (one, two) => {
      const versions = () => Promise.all([one, two].map((store) => store.dataVersion?.()));
      const before = await versions();
      await one.append([nextTurn(testStream(1)).entry]);
      const after = await versions();
      expect(after[0]).toBe(before[0]);
      expect(after[1]).not.toBe(before[1]);
      expect(await versions()).toEqual(after);
    });
  });

  it("a claim by the other fences what the first wrote under its old lease", async () => {
    await withTwo(async (one, two) => {
      const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
      await one.append([entry]);
      expect(await two.claim(after.id, "you", 0)).toEqual({ owner: "you", epoch: 2 });
      const late = nextTurn(after, { lease: { owner: me, epoch: 1 } }).entry;
      expect(await one.append([late])).toEqual([{ ok: false, reason: "fenced" }]);
    });
  });

  it("a decision of the other shows in the owner's tail and makes its stale append a clash", async () => {
    await withTwo(async (one, two) => {
      const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
      await one.append([entry]);
      const seen = await one.position();
      const decision = nextTurn(after);
      expect((await two.append([decision.entry]))[0]!.ok).toBe(true);
      expect((await one.tail(seen, 10)).map(({ row }) => row)).toEqual([decision.entry.row]);
      const lease = { owner: me, epoch: 1 };
      expect(await one.append([nextTurn(after, { lease }).entry])).toEqual([{ ok: false, reason: "clash" }]);
      expect((await one.append([nextTurn(decision.after, { lease }).entry]))[0]!.ok).toBe(true);
    });
  });
});

describe("the cache of stream heads", () => {
  const held = { thread: null, owner: "k1", epoch: 1 };
  const head = { last: 1, hash: "h".repeat(64), tenant: "1", workflow: held };

  it("keeps at most its bytes, those written last", () => {
    const one = new StreamHeads();
    one.set("a", head);
    const heads = new StreamHeads(2 * one.bytes);
    for (const stream of ["a", "b"]) heads.set(stream, head);
    heads.set("a", head);
    heads.set("c", { ...head, last: 2 });
    expect(["a", "b", "c"].map((stream) => heads.get(stream) !== undefined)).toEqual([true, false, true]);
    heads.set("c", { ...head, hash: "h".repeat(1000) });
    expect(["a", "b", "c"].map((stream) => heads.get(stream) !== undefined)).toEqual([false, false, false]);
    expect([heads.size, heads.bytes]).toEqual([0, 0]);
  });

  it("keeps no workflow that nobody holds: it costs no memory while it is parked", () => {
    const heads = new StreamHeads();
    heads.set("a", head);
    heads.set("a", { ...head, last: 2, workflow: { ...held, owner: null } });
    expect([heads.get("a"), heads.size, heads.bytes]).toEqual([undefined, 0, 0]);
    heads.set("tenant:1", { ...head, workflow: null });
    expect(heads.size).toBe(1);
  });

  it("may forget any stream: appends go on from the file", async () => {
    const db = await connect({ path: freshPath(), busyTimeoutMs: 0, synchronous: "normal" });
    const connection = {
      db,
      prepare: keepPrepared(db),
      statements: prepareStatements(db),
      heads: new StreamHeads(1000),
      requireSameFile: () => undefined,
      durability: new Durability(db),
      mark: "",
      isFailing: false,
    };
    let streams = [1, 2, 3, 4, 5].map((n) => testStream(n));
    for (let round = 0; round < 5; round += 1) {
      const turns = streams.map((stream) => nextTurn(stream));
      expect(
        appendBatch(
          connection,
          turns.map(({ entry }) => entry),
        ).every(({ ok }) => ok),
      ).toBe(true);
      expect(
        appendBatch(
          connection,
          turns.map(({ entry }) => entry),
        ).some(({ ok }) => ok),
      ).toBe(false);
      streams = turns.map(({ after }) => after);
    }
    db.close();
  });
});

describe("a crash", () => {
  it("loses nothing that was acknowledged and keeps nothing of an open transaction", async () => {
    const [path, crashed] = [freshPath(), freshPath()];
    await withStore(sqliteLedger({ path }), async (store) => {
      const one = firstTurn(testStream(1));
      await store.append([one.entry, nextTurn(one.after).entry]);
      const db = await connect({ path, busyTimeoutMs: 0, synchronous: "full" });
      db.exec("BEGIN IMMEDIATE; DELETE FROM workflows");
      for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, crashed + end);
      db.exec("ROLLBACK");
      db.close();
    });
    await withStore(sqliteLedger({ path: crashed }), async (store) => {
      expect(await store.position()).toBe(2);
      expect((await store.head(testStream(1).id))?.state).toBe("accepted");
      expect(verifyChain(await store.read(testStream(1).id))).toBe(null);
    });
  });
});
