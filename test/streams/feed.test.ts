/** The feed of a tenant: what it tells, how it goes on, whose it is, what it costs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOpenGate } from "../../src/contract/gate.ts";
import type { TurnRow } from "../../src/contract/turn.ts";
import { FeedItem, type FeedOptions, type FeedWorkflow } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, letRun, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, gatedSteps, intent, publishing, refusalOf, step, story } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";
import { countingLedger } from "./counting-ledger.ts";

const foreign = { tenant_id: 2, principal: { type: "user", id: 9, role: "user" } } as const;
type Asked = FeedOptions & { readonly of?: typeof testCaller | typeof foreign };

/** What the feed tells until all that is committed has been told. */
async function tell(t: TestKernel, { of = testCaller, ...options }: Asked = {}): Promise<readonly FeedItem[]> {
  const items = await Array.fromAsync(t.kernel.feed({ live: false, ...options }, of));
  return items.map((item) => FeedItem.parse(item));
}

/** A live reader, which keeps what it is told. */
function follow(t: TestKernel, { of = testCaller, ...options }: Asked = {}) {
  const items: FeedItem[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const item of t.kernel.feed({ signal: stop.signal, ...options }, of)) items.push(item);
  })();
  const end = () => {
    stop.abort();
    return reading;
  };
  return { items, end };
}

const workflowsIn = (items: readonly FeedItem[]): readonly FeedWorkflow[] =>
  items.filter((item) => item.type === "workflow");
const gateChanges = (items: readonly FeedItem[]): readonly string[] =>
  workflowsIn(items).flatMap(({ gates }) =>
    gates.map(({ change, gate_id, status }) => `${change} ${gate_id} ${status}`),
  );
const positions = (items: readonly FeedItem[]): readonly (number | null)[] => items.map(({ position }) => position);

/** What a list that follows the feed shows: the state of each workflow, and the gates that are open. */
function listOf(items: readonly FeedItem[]) {
  const states = new Map<string, string>();
  const gates = new Map<string, string>();
  for (const { workflow_id, state, gates: changed } of workflowsIn(items)) {
    states.set(workflow_id, state);
    for (const gate of changed) {
      const key = `${workflow_id}/${gate.gate_id}`;
      if (isOpenGate(gate)) gates.set(key, gate.status);
      else gates.delete(key);
    }
  }
  return { states, gates };
}

describe("the feed", () => {
  it("tells one item a change of a workflow's state, its steps or its gates, in the order of the ledger", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id);
    await t.rest(id);
    const items = workflowsIn(await tell(t, { after: 0 }));
    expect(new Set(items.map((item) => item.workflow_id))).toEqual(new Set([id]));
    const states = items.map((item) => item.state).filter((state, i, all) => state !== all[i - 1]);
    expect(states).toEqual(["accepted", "running", "waiting_for_user", "running", "completed"]);
    expect(gateChanges(items)).toEqual(["opened gate-publish open", "closed gate-publish approved"]);
    expect(items.at(-1)).toMatchObject({
      intent_type: intent,
      principal_id: 1,
      state: "completed",
      progress: { percent: 100, steps: 2, running: 0, succeeded: 2, failed: 0 },
    });
    expect(positions(items)).toEqual([...new Set(positions(items))].toSorted((a, b) => (a ?? 0) - (b ?? 0)));
  });

  it("begins with what is open now, ends that with a bookmark, and goes on live from there", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const done = await t.run(intent);
    await t.approve(done.workflow_id);
    await t.rest(done.workflow_id);
    const open = await t.run(intent);
    const feed = follow(t);
    await letRun();
    const [snapshot, bookmark, ...none] = feed.items;
    expect(snapshot).toMatchObject({ workflow_id: open.workflow_id, state: "waiting_for_user", position: null });
    expect(gateChanges([snapshot as FeedItem])).toEqual(["opened gate-publish open"]);
    expect([bookmark?.type, none]).toEqual(["bookmark", []]);
    await t.reject(open.workflow_id);
    await t.rest(open.workflow_id);
    await letRun();
    const live = feed.items.slice(2);
    expect(gateChanges(live)).toEqual(["closed gate-publish rejected"]);
    expect(live.at(-1)).toMatchObject({ state: "cancelled" });
    await feed.end();
    expect(await tell(t, { after: bookmark?.position as number })).toEqual(live);
  });

  it("cut off after any item goes on without gap or repeat, in this process and in the next", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [gatedSteps(2).capability] });
    const ids = [await t.run(intent), await t.run(intent)].map((state) => state.workflow_id);
    for (const id of ids) {
      await t.approve(id, "gate-s1");
      await t.reject(id, "gate-s2");
      await t.rest(id);
    }
    const all = await tell(t, { after: 0 });
    expect(all.length).toBeGreaterThanOrEqual(8);
    await using other = await createTestKernel({ ledger, recover: false });
    for (const [i, { position }] of all.entries()) {
      expect(await tell(t, { after: position as number })).toEqual(all.slice(i + 1));
      const live = follow(other, { after: position as number });
      await letRun();
      expect(live.items).toEqual(all.slice(i + 1));
      await live.end();
    }
  });

  it("is told the same by the process that ran the work and by one that only reads the ledger", async () => {
    const ledger = memoryLedger();
    await using runs = await createTestKernel({ ledger, capabilities: [publishing().capability] });
    await using reads = await createTestKernel({ ledger, recover: false });
    const [here, there] = [follow(runs, { after: 0 }), follow(reads, { after: 0 })];
    const { workflow_id: id } = await runs.run(intent);
    await runs.approve(id);
    await runs.rest(id);
    await letRun();
    // The reader's own clock brings its next look at the ledger.
    await reads.clock.advance(250);
    expect(there.items).toEqual(here.items);
    expect(workflowsIn(there.items).at(-1)?.state).toBe("completed");
    await Promise.all([here.end(), there.end()]);
  });

  it("never shows another tenant's changes, and passes them quickly", async () => {
    const { store, counts } = countingLedger();
    await using t = await createTestKernel({ ledger: store, capabilities: [publishing().capability] });
    const feed = follow(t, { of: foreign });
    await letRun();
    const before = counts.read;
    for (let i = 0; i < 5; i += 1) await t.run(intent);
    const runs = counts.read - before;
    await letRun();
    expect(feed.items.map(({ type }) => type)).toEqual(["bookmark"]);
    expect(await tell(t, { of: foreign, after: 0 })).toEqual([]);
    await feed.end();
    // Not one log was read for them: the same five cost as much without a reader.
    const unread = counts.read;
    for (let i = 0; i < 5; i += 1) await t.run(intent);
    expect(runs).toBe(counts.read - unread);
  });

  it("moves the cursor of a reader whom a long stretch does not concern", async () => {
    const { store: ledger, counts } = countingLedger();
    const steps = counted("Story.Speak", { timeoutSec: 600 }, async ({ stream }) => {
      while (counts.append < 1_100) {
        stream("word");
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      return {};
    });
    await using t = await createTestKernel({ ledger, capabilities: [story([steps], [step("speak", steps)])] });
    const feed = follow(t, { of: foreign, after: 0 });
    await t.kernel.settled(await t.submit(intent));
    await letRun();
    expect(feed.items.length).toBeGreaterThan(0);
    for (const item of feed.items) expect(item).toMatchObject({ type: "bookmark" });
    await feed.end();
  });

  it("tells gates alone, or one intent type, where that is asked for", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id);
    await t.rest(id);
    const gates = workflowsIn(await tell(t, { after: 0, only: "gates" }));
    expect(gateChanges(gates)).toEqual(["opened gate-publish open", "closed gate-publish approved"]);
    expect(gates).toHaveLength(2);
    expect(await tell(t, { after: 0, intent_type: "Other.Thing.Do" })).toEqual([]);
    expect(await tell(t, { after: 0, intent_type: intent })).toEqual(await tell(t, { after: 0 }));
  });

  it("a cursor that this ledger has not reached begins anew", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    await t.run(intent);
    expect(await tell(t, { after: Number.MAX_SAFE_INTEGER })).toEqual(await tell(t));
  });

  it("is refused to who may not read", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const nobody = { tenant_id: 1, principal: { type: "user", id: 1, role: "nobody" } };
    const refusal = await refusalOf(t.kernel.feed({}, nobody).next());
    expect(refusal.code).toMatch(/^T5_/);
  });
});

describe("many readers of one tenant's feed", () => {
  const play = async (readers: number) => {
    const { store, counts } = countingLedger();
    await using t = await createTestKernel({ ledger: store, capabilities: [publishing().capability] });
    const { workflow_id: waiting } = await t.run(intent);
    const feeds = Array.from({ length: readers }, () => follow(t));
    await letRun();
    const before = { ...counts };
    await t.approve(waiting);
    await t.rest(waiting);
    for (let i = 0; i < 5; i += 1) await t.run(intent);
    await letRun();
    const told = feeds.map(({ items }) => items.slice(2));
    await Promise.all(feeds.map(({ end }) => end()));
    return {
      told,
      reads: counts.read - before.read,
      tails: counts.tail - before.tail,
      commits: counts.append - before.append,
    };
  };

  it("read each row once and fold each workflow once between them", async () => {
    const [one, many] = [await play(1), await play(300)];
    expect(many.reads).toBe(one.reads);
    expect(many.tails).toBeLessThanOrEqual(many.commits + 10);
    const [first, ...others] = many.told;
    expect(first?.length).toBeGreaterThan(10);
    for (const other of others) for (const [i, item] of other.entries()) expect(item).toBe(first?.[i]);
  });

  it("are told the same where there is no room to keep anything: what is gone is read again", async () => {
    const { store, counts } = countingLedger();
    const limits = { maxTailChars: 1, maxFeedChars: 1 };
    await using t = await createTestKernel({ ledger: store, capabilities: [gatedSteps(2).capability], limits });
    await using roomy = await createTestKernel({ ledger: store, recover: false });
    const ids = [await t.run(intent), await t.run(intent)].map((state) => state.workflow_id);
    const slow = t.kernel.feed({ after: 0 }, testCaller);
    const got: FeedItem[] = [(await slow.next()).value as FeedItem];
    const quick = follow(t, { after: 0 });
    for (const gate of ["gate-s1", "gate-s2"]) for (const id of ids) await t.approve(id, gate);
    for (const id of ids) await t.rest(id);
    await letRun();
    const all = await tell(roomy, { after: 0 });
    expect(quick.items).toEqual(all);
    const before = counts.tail;
    while (got.length < all.length) got.push((await slow.next()).value as FeedItem);
    expect(got).toEqual(all);
    expect(counts.tail).toBeGreaterThan(before);
    await slow.return();
    await quick.end();
  });

  it("leave no listener and no timer", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    await t.run(intent);
    const before = [t.kernel.vitals().listeners, t.clock.pending()];
    const feeds = Array.from({ length: 5 }, () => follow(t));
    const stopped = t.kernel.feed({}, testCaller);
    await stopped.next();
    await letRun();
    await stopped.return();
    await Promise.all(feeds.map(({ end }) => end()));
    expect([t.kernel.vitals().listeners, t.clock.pending()]).toEqual(before);
  });
});

describe("a long ledger", () => {
  /** A ledger of so many positions, each of which holds a row of one tenant's workflow. */
  async function longLedger(most: number) {
    const { store, counts } = countingLedger();
    await using t = await createTestKernel({ ledger: { ...store, close: async () => undefined } });
    await t.submit("Other.Thing.Do").catch(() => undefined);
    const [first] = await store.tail(0, 1);
    const row = first?.row as TurnRow;
    const tail: LedgerStore["tail"] = async (after, limit) => {
      counts.tail += 1;
      return Array.from({ length: Math.min(limit, most - after) }, (_, i) => ({ position: after + i + 1, row }));
    };
    return { counts, ledger: { ...store, tail, position: async () => most } };
  }

  it("is read a page at a time, and others run between two pages", async () => {
    const { ledger, counts } = await longLedger(20_000);
    await using t = await createTestKernel({ ledger, recover: false });
    let turns = 0;
    let reading = true;
    const run = (): void => {
      turns += 1;
      if (reading) setImmediate(run);
    };
    run();
    const items = await tell(t, { of: foreign, after: 0 });
    reading = false;
    expect(items.length).toBeGreaterThan(10);
    expect(counts.tail).toBeGreaterThan(150);
    expect(turns).toBeGreaterThanOrEqual(counts.tail - 3);
  });

  it("that one reader reads from its beginning keeps nobody waiting who begins now", async () => {
    const { ledger, counts } = await longLedger(200_000);
    await using t = await createTestKernel({ ledger, recover: false });
    const behind = t.kernel.feed({ after: 0 }, foreign);
    await behind.next();
    const before = counts.tail;
    for (const caller of [foreign, testCaller]) {
      const now = t.kernel.feed({}, caller);
      expect((await now.next()).value).toEqual({ type: "bookmark", position: 200_000 });
      await now.return();
    }
    expect(counts.tail - before).toBeLessThan(100);
    await behind.return();
  });
});

describe("a list kept from the feed", () => {
  /** A ledger whose answers come late, so that others commit between the pages of a snapshot. */
  const late = (of: LedgerStore): LedgerStore => ({
    ...of,
    heads: async (filter) => {
      const heads = await of.heads(filter);
      await letRun();
      return heads;
    },
    gates: async (filter) => {
      const gates = await of.gates(filter);
      await letRun();
      return gates;
    },
  });

  it("is at the bookmark what the ledger holds at its position, though others write during the snapshot", async () => {
    const ledger = memoryLedger();
    await using runs = await createTestKernel({ ledger, capabilities: [publishing().capability] });
    const { workflow_id: first } = await runs.run(intent);
    let isFirst = true;
    const heads: LedgerStore["heads"] = async (filter) => {
      const read = await ledger.heads(filter);
      if (isFirst) {
        isFirst = false;
        await runs.approve(first);
        await runs.rest(first);
        await runs.run(intent);
      }
      return read;
    };
    await using reads = await createTestKernel({ ledger: { ...ledger, heads }, recover: false });
    const items = await tell(reads);
    const end = items.findIndex((item) => item.type === "bookmark");
    expect(items[end]?.position).toBe(await ledger.position());
    const open = (await runs.kernel.gates()).map((gate) => `${gate.workflow_id}/${gate.gate_id}`);
    expect([...listOf(items.slice(0, end)).gates.keys()]).toEqual(open);
    expect(listOf(items.slice(0, end)).states.get(first)).toBe("completed");
    for (const { position } of items.slice(0, end)) expect(position).toBeNull();
  });

  const said = fc.array(fc.constantFrom("submit", "approve", "reject", "join", "look"), { maxLength: 14 });

  it("is at every bookmark and at the end what the kernel says, whoever joined when", async () => {
    await fc.assert(
      fc.asyncProperty(said, async (walk) => {
        const ledger = memoryLedger();
        await using runs = await createTestKernel({ ledger, capabilities: [publishing().capability] });
        await using reads = await createTestKernel({ ledger: late(ledger), recover: false });
        const ids: string[] = [];
        const feeds = [follow(reads)];
        for (const act of walk) {
          if (act === "submit") ids.push((await runs.run(intent)).workflow_id);
          else if (act === "join") feeds.push(follow(reads));
          else if (act === "look") await reads.clock.advance(250);
          else {
            const [open] = await runs.kernel.gates();
            if (open !== undefined) {
              await runs[act](open.workflow_id);
              await runs.rest(open.workflow_id);
            }
          }
        }
        for (let i = 0; i < 12; i += 1) await reads.clock.advance(250);
        const open = await runs.kernel.gates();
        const all = await tell(runs, { after: 0 });
        for (const { items, end } of feeds) {
          for (const [i, item] of items.entries())
            if (item.type === "bookmark") {
              const until = all.filter(({ position }) => (position as number) <= item.position);
              expect([...listOf(items.slice(0, i)).gates].toSorted()).toEqual([...listOf(until).gates].toSorted());
            }
          const list = listOf(items);
          expect([...list.gates.keys()].toSorted()).toEqual(
            open.map((gate) => `${gate.workflow_id}/${gate.gate_id}`).toSorted(),
          );
          for (const [id, state] of list.states) expect(state).toBe((await runs.kernel.workflow(id)).state);
          const told = positions(items).filter((position) => position !== null);
          expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b));
          await end();
        }
      }),
      { numRuns: runs(25) },
    );
  });
});
