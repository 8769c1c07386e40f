/**
 * The part of the ledger store suite on queues: who may take a place, and that no more are taken than are free.
 *
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { Append, AppendIndexes, LedgerStore } from "../ports/ledger-store.ts";
import type { LinePage, QueueEntry } from "../ports/queue-index.ts";
import { me, putWorkflow, type SuiteParts, ttlMs } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, type TestStream, testStream } from "./ledger-turns.ts";

const waiting = (since: number, more: Partial<QueueEntry> = {}): QueueEntry => ({
  ...{ line: "l", place: "waiting", priority: 0, since, concurrency: 2 },
  ...more,
});

const taking = (since: number, more: Partial<QueueEntry> = {}): QueueEntry =>
  waiting(since, { place: "taken", begins: true, ...more });

/** Puts workflows of one tenant, each with its entry. */
async function putAll(store: LedgerStore, entries: Readonly<Record<number, QueueEntry>>, tenant_id = "acme") {
  const streams: TestStream[] = [];
  for (const [n, queue] of Object.entries(entries)) {
    const stream = await putWorkflow(store, testStream(Number(n), { tenant_id }));
    const { entry, after } = nextTurn(stream, { indexes: { queue } });
    await store.append([entry]);
    streams.push(after);
  }
  return streams;
}

const idOf = (n: number): string => testStream(n).id;

export function addQueueTests(parts: SuiteParts): void {
  addPlaceTests(parts);
  addRateTests(parts);
  addLineTests(parts);
}

function addPlaceTests({ test, expect }: SuiteParts): void {
  test("a place is taken only while one is free; entries of one batch see one another", async (store) => {
    const [a, b, c, d] = (await putAll(store, {
      1: waiting(1),
      2: waiting(2),
      3: waiting(3),
      4: waiting(4),
    })) as never as [TestStream, TestStream, TestStream, TestStream];
    const take = async (...all: readonly (readonly [TestStream, AppendIndexes["queue"]])[]) => {
      const entries = all.map(([stream, queue]) => nextTurn(stream, { claim: me, indexes: { queue: queue ?? null } }));
      const receipts = await store.append(entries.map(({ entry }) => entry));
      return { told: receipts.map((one) => (one.ok ? "ok" : one.reason)), after: entries.map(({ after }) => after) };
    };
    await store.heartbeat(me, 0, ttlMs);
    expect(await store.queuePlace("acme", a.id, waiting(1), 0)).toEqual({ isFree: true, ahead: 0 });
    expect(await store.queuePlace("acme", c.id, waiting(3), 0)).toEqual({ isFree: false, ahead: 2 });
    expect(await store.queuePlace("acme", c.id, waiting(3, { priority: 1 }), 0)).toEqual({ isFree: true, ahead: 0 });
    expect(await store.queuePlace("umbrella", c.id, waiting(3), 0)).toEqual({ isFree: true, ahead: 0 });
    // The third is not before those ahead of it; the places of the first two are kept for them.
    expect((await take([c, taking(3)])).told).toEqual(["full"]);
    const first = await take([a, taking(1)], [b, taking(2)], [c, taking(3)]);
    expect(first.told).toEqual(["ok", "ok", "full"]);
    expect((await take([d, taking(4, { line: "other" })])).told).toEqual(["ok"]);
    // The end of one and the start of the next share a batch.
    expect((await take([first.after[0] as TestStream, null], [c, taking(3)])).told).toEqual(["ok", "ok"]);
  });
}

function addRateTests({ test, expect }: SuiteParts): void {
  test("no more places are taken within a time than a rate allows, also of one batch", async (store) => {
    await store.heartbeat(me, 0, ttlMs);
    const rate = { limit: 2, per_ms: 100 };
    const [a, b, c, d] = (await putAll(store, {
      1: waiting(1, { rate, concurrency: 9 }),
      2: waiting(2, { rate, concurrency: 9 }),
      3: waiting(3, { rate, concurrency: 9 }),
      4: waiting(4, { rate, concurrency: 9 }),
    })) as never as [TestStream, TestStream, TestStream, TestStream];
    const take = async (now: number, ...all: readonly (readonly [TestStream, number])[]) => {
      const entries = all.map(([stream, since]) => {
        const indexes = { queue: taking(since, { rate, concurrency: 9 }) };
        return { ...nextTurn(stream, { claim: me, indexes }).entry, now };
      });
      return (await store.append(entries)).map((one) => (one.ok ? "ok" : one.reason));
    };
    expect(await take(10, [a, 1])).toEqual(["ok"]);
    expect(await take(50, [b, 2], [c, 3])).toEqual(["ok", "full"]);
    expect(await store.nextAdmission(50)).toEqual(110);
    expect(await take(109, [c, 3])).toEqual(["full"]);
    expect((await store.takeUp("queued", me, 109, 9)).length).toEqual(0);
    const queued = waiting(3, { rate, concurrency: 9 });
    expect(await store.queuePlace("acme", c.id, queued, 109)).toEqual({ isFree: false, ahead: 0 });
    expect(await store.queuePlace("acme", c.id, queued, 110)).toEqual({ isFree: true, ahead: 0 });
    expect(await take(110, [c, 3], [d, 4])).toEqual(["ok", "full"]);
    expect(await store.nextAdmission(110)).toEqual(150);
    expect(await store.nextAdmission(150)).toEqual(null);
    expect(await take(150, [d, 4])).toEqual(["ok"]);
  });

  test("no more wait in a line than may, also of one batch; one that may begin at once is let in", async (store) => {
    await store.heartbeat(me, 0, ttlMs);
    const create = (n: number, maxWaiting: number, tenant_id = "acme") => {
      const queue = waiting(n, { concurrency: 1, maxWaiting });
      return firstTurn(testStream(n, { tenant_id }), {}, { claim: me, indexes: { queue } }).entry;
    };
    const append = async (...all: readonly Append[]) =>
      (await store.append(all)).map((one) => (one.ok ? "ok" : one.reason));
    expect(await append(create(1, 1), create(2, 1), create(3, 1))).toEqual(["ok", "ok", "full"]);
    expect(await append(create(3, 1))).toEqual(["full"]);
    expect(await append(create(3, 2))).toEqual(["ok"]);
    expect(await append(create(4, 0, "umbrella"), create(5, 0, "umbrella"))).toEqual(["ok", "full"]);
    // So it is for one that another process will own. A row that is written again names no bound.
    const { claim: _claim, ...others } = create(6, 0);
    expect(await append(others)).toEqual(["full"]);
    const { maxWaiting: _bound, ...queue } = waiting(6, { concurrency: 1, maxWaiting: 0 });
    expect(await append({ ...others, indexes: { ...others.indexes, queue } })).toEqual(["ok"]);
  });
}

function addLineTests({ test, expect }: SuiteParts): void {
  test("lines are counted by name and key, a page at a time, and those of another tenant are not", async (store) => {
    const line = (name: string, key: string) => ({ line: JSON.stringify([name, key]) });
    await putAll(store, { 1: taking(1, line("a", "")), 2: waiting(7, line("a", "")), 3: waiting(5, line("a", "")) });
    await putAll(store, { 4: taking(1, line("a", "x")), 5: waiting(2, { ...line("b", "x"), concurrency: 1 }) });
    await putAll(store, { 6: waiting(1, line("a", "")) }, "umbrella");
    const counted = async (page: Partial<LinePage> = {}) => store.queueLines("acme", { limit: 9, ...page });
    const [a, ax, bx] = [line("a", ""), line("a", "x"), line("b", "x")];
    const all = [
      { ...a, running: 1, waiting: 2, oldest: 5, concurrency: 2 },
      { ...ax, running: 1, waiting: 0, oldest: null, concurrency: 2 },
      { ...bx, running: 0, waiting: 1, oldest: 2, concurrency: 1 },
    ];
    expect(await counted()).toEqual(all);
    const members = (await store.queueMembers("acme", a.line)).map(({ workflow_id, since }) => [workflow_id, since]);
    expect(members).toEqual([
      [idOf(1), 1],
      [idOf(3), 5],
      [idOf(2), 7],
    ]);
    expect(await store.queueMembers("umbrella", bx.line)).toEqual([]);
    // One that waits for newer requests is there to be found, and keeps nobody from a place.
    await putAll(store, { 7: waiting(0, { ...line("c", ""), place: "upcoming" }), 8: waiting(9, line("c", "")) });
    const inLine = (await store.queueMembers("acme", line("c", "").line)).map((member) => ({ ...member }));
    expect(inLine).toEqual([
      { workflow_id: idOf(7), since: 0, place: "upcoming" },
      { workflow_id: idOf(8), since: 9, place: "waiting" },
    ]);
    expect(await counted({ name: "c" })).toEqual([
      { ...line("c", ""), running: 0, waiting: 2, oldest: 0, concurrency: 2 },
    ]);
    expect(await store.queuePlace("acme", idOf(8), waiting(9, { ...line("c", ""), concurrency: 1 }), 0)).toEqual({
      ...{ isFree: true, ahead: 0 },
    });
    expect(await counted({ limit: 1, after: a.line })).toEqual([all[1]]);
    expect(await counted({ name: "a" })).toEqual(all.slice(0, 2));
    expect(await counted({ name: "b", after: ax.line })).toEqual([all[2]]);
    expect(await store.queueLines("acm", { limit: 9 })).toEqual([]);
  });

  test("queued is whose turn has come and whom nobody holds; each line gives one in turn", async (store) => {
    await putAll(store, { 1: taking(1), 2: waiting(2), 3: waiting(3, { priority: 9 }), 4: waiting(4) });
    await putAll(store, { 5: waiting(9), 6: waiting(9) }, "umbrella");
    // One that allows fewer keeps those behind it waiting: it would never begin otherwise.
    const narrow = { line: "m", concurrency: 1 };
    await putAll(store, { 7: taking(1, { line: "m" }), 8: waiting(2, narrow), 9: waiting(3, { line: "m" }) });
    await store.heartbeat(me, 0, ttlMs);
    const found = async (limit: number) =>
      (await store.takeUp("queued", me, 10, limit)).map(({ head }) => head.workflow_id).toSorted();
    expect(await found(2)).toEqual([idOf(3), idOf(5)]);
    expect(await found(9)).toEqual([idOf(6)]);
    expect(await found(9)).toEqual([]);
    expect(await store.countQueued()).toEqual(7);
    const queued = (await store.listHeads({ limit: 9 })).filter((head) => head.queued).map((head) => head.workflow_id);
    expect(queued.toSorted()).toEqual([2, 3, 4, 5, 6, 8, 9].map(idOf));
  });
}
