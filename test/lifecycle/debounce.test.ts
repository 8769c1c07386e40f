/** Debounced queues: a newer request supersedes the one that waits, and work begins once none has come for a time. */
import { describe, expect, it } from "vitest";
import {
  createTestKernel,
  createVirtualClock,
  memoryLedger,
  type TestKernel,
  testCaller,
} from "../../src/testing/index.ts";
import { began, calls, end, fresh, open, order, placeOf, type Queue, shop } from "./queue-shop.ts";

const queue: Queue = { key: "{{input.vendor}}", concurrency: 1, debounce: { ms: 1_000, maxMs: 2_500 } };
const vendor = "x";
const ends = async (t: TestKernel, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await t.kernel.workflow(id)).state));

describe("a debounced queue", () => {
  it("begins the newest request once none came for the time; the others end as cancelled, which name it", async () => {
    fresh();
    await using t = await open(queue);
    const a = await order(t, "a", { vendor });
    const seen = await t.kernel.workflow(a);
    expect(seen).toMatchObject({ state: "accepted", queue: { debounce: { ms: 1_000, max_ms: 2_500 }, place: null } });
    expect(Date.parse(seen.queue?.debounced_until ?? "") - Date.parse(seen.accepted_at)).toBe(1_000);
    expect((await t.kernel.workflows())[0]?.queued).toBe(true);
    expect(await t.kernel.queues({}, testCaller)).toMatchObject([{ running: 0, waiting: 1 }]);
    await t.clock.advance(900);
    const b = await order(t, "b", { vendor });
    const other = await order(t, "c", { vendor: "y" });
    const tenant = await order(t, "d", { vendor, more: { tenant_id: 2 } });
    await t.clock.advance(999);
    expect(began).toEqual([]);
    await t.clock.advance(1);
    expect([...began].toSorted()).toEqual(["b", "c", "d"]);
    for (const n of ["b", "c", "d"]) await end(t, n);
    expect(await ends(t, [a, b, other, tenant])).toEqual(["cancelled", "completed", "completed", "completed"]);
    expect((await t.kernel.explain(a)).why.join("\n")).toContain(`cancelled: replaced by ${b}`);
    expect((await t.kernel.explain(b)).why.join("\n")).toContain(`${a} was cancelled to make way for it`);
    for (const id of [a, b]) expect((await t.kernel.replay(id)).identical).toBe(true);
    expect(await t.kernel.queues({}, testCaller)).toEqual([]);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("begins at the latest when its greatest time since the first request is over, over restarts as well", async () => {
    fresh();
    const [ledger, clock] = [memoryLedger(), createVirtualClock()];
    const parts = { capabilities: [shop(queue)], defaultPolicies: false, ledger, clock } as const;
    const ids: string[] = [];
    {
      await using t = await createTestKernel(parts);
      for (const n of ["a", "b", "c", "d"]) {
        if (ids.length > 0) await clock.advance(800);
        ids.push(await order(t, n, { vendor }));
      }
      expect(await ends(t, ids)).toEqual(["cancelled", "cancelled", "cancelled", "accepted"]);
    }
    await using t = await createTestKernel({ ...parts, seed: 2 });
    await clock.advance(99);
    expect(began).toEqual([]);
    await clock.advance(1);
    expect(began).toEqual(["d"]);
    await end(t, "d");
    expect((await t.kernel.workflow(ids[3] as string)).state).toBe("completed");
  });

  it("begins what has joined its queue in its turn, in a process whose clock is behind as well", async () => {
    fresh();
    const [ledger, clock] = [memoryLedger(), createVirtualClock()];
    const parts = { capabilities: [shop(queue)], defaultPolicies: false, ledger } as const;
    const ids: string[] = [];
    {
      await using t = await createTestKernel({ ...parts, clock });
      ids.push(await order(t, "a", { vendor }));
      await clock.advance(1_000);
      ids.push(await order(t, "b", { vendor }));
      await clock.advance(1_000);
      expect([began, await placeOf(t, ids[1] as string)]).toEqual([["a"], "waiting"]);
    }
    const behind = createVirtualClock(clock.now() - 500);
    await using t = await createTestKernel({ ...parts, clock: behind, seed: 2 });
    await behind.settle();
    await end(t, "a");
    expect(began).toEqual(["a", "a", "b"]);
    await end(t, "b");
    expect(await ends(t, ids)).toEqual(["completed", "completed"]);
  });

  it("lets what has begun go on, and a request behind it wait, superseded by the next alone", async () => {
    fresh();
    await using t = await open(queue);
    const a = await order(t, "a", { vendor });
    await t.clock.advance(1_000);
    const b = await order(t, "b", { vendor });
    await t.clock.advance(1_000);
    expect([began, await placeOf(t, b)]).toEqual([["a"], "waiting"]);
    const c = await order(t, "c", { vendor });
    await end(t, "a");
    expect(began).toEqual(["a"]);
    await t.clock.advance(1_000);
    await end(t, "c");
    expect([began, await ends(t, [a, b, c])]).toEqual([
      ["a", "c"],
      ["completed", "cancelled", "completed"],
    ]);
  });

  it("takes of requests at one moment one alone, and leaves those that begin at a time of their own", async () => {
    fresh();
    await using t = await open(queue);
    const later = await order(t, "later", { vendor, more: { delay_ms: 5_000 } });
    const ids = await Promise.all(["a", "b", "c"].map((of) => t.submit("Shop.Order", { of, vendor })));
    await t.clock.advance(1_000);
    expect(began).toHaveLength(1);
    for (const n of [...calls.keys()]) await end(t, n);
    expect((await ends(t, ids)).toSorted()).toEqual(["cancelled", "cancelled", "completed"]);
    await t.clock.advance(4_000);
    await end(t, "later");
    expect(await ends(t, [later])).toEqual(["completed"]);
  });

  it.each([
    { debounce: { ms: 0 } },
    { debounce: { ms: 10, maxMs: 9 } },
    { debounce: { ms: 10 }, singleton: "replace" },
    { debounce: { ms: 10 }, maxWaiting: 2 },
  ])("is none with %j", (wrong) => {
    expect(() => shop({ concurrency: 1, ...wrong } as Queue)).toThrowError(/debounce/);
  });
});
