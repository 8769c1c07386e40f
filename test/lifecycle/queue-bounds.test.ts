/** Bounds on a queue: how many may wait for a place, and queues of which one workflow runs and none waits. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type QueueLimits } from "../../src/index.ts";
import {
  createTestKernel,
  createVirtualClock,
  memoryLedger,
  type TestKernel,
  testCaller,
} from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { began, calls, end, fresh, open, order, pay, placeOf, type Queue, shop } from "./queue-shop.ts";

describe("a queue with a bound on who waits", () => {
  it("refuses a request beyond it, whoever asks at the same moment, and takes one in when one has ended", async () => {
    fresh();
    await using t = await open({ concurrency: 1, maxWaiting: 1 });
    const asked = ["a", "b", "c", "d"].map((of) => t.submit("Shop.Order", { of }));
    const answers = await Promise.allSettled(asked);
    await t.clock.settle();
    const refused = answers.flatMap((one) => (one.status === "rejected" ? [one.reason.error] : []));
    expect(refused.map(({ code, retry_eligible }) => [code, retry_eligible])).toEqual([
      ["T7_QUEUE_FULL", true],
      ["T7_QUEUE_FULL", true],
    ]);
    expect(await t.kernel.workflows()).toHaveLength(2);
    const [first, second] = await t.kernel.workflows();
    await end(t, "a");
    const e = await order(t, "e");
    expect([began, await placeOf(t, e)]).toEqual([["a", "b"], "waiting"]);
    for (const n of ["b", "e"]) await end(t, n);
    for (const { workflow_id: id } of [first, second] as { workflow_id: string }[])
      expect((await t.kernel.replay(id)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("lets none wait where it says 0, and takes in what joins later: delayed work, and a retry", async () => {
    fresh();
    await using t = await open({ concurrency: 1, maxWaiting: 0 });
    const a = await order(t, "a");
    expect((await refusalOf(t.submit("Shop.Order", { of: "b" }))).code).toBe("T7_QUEUE_FULL");
    await order(t, "later", { more: { delay_ms: 1000 } });
    calls.get("a")?.fail();
    await t.clock.settle();
    await order(t, "c");
    await t.kernel.retry(a, { ...testCaller, mode: "resume_failed_steps" });
    await t.clock.advance(1000);
    for (const n of ["c", "a", "later", "a"]) await end(t, n);
    expect([...began].toSorted()).toEqual(["a", "a", "c", "later"]);
    expect(await t.kernel.queues({}, testCaller)).toEqual([]);
  });

  it("holds in a process that leaves the work to others, which then do it", async () => {
    fresh();
    const [ledger, clock] = [memoryLedger(), createVirtualClock()];
    const parts = { capabilities: [shop({ concurrency: 1, maxWaiting: 1 })], defaultPolicies: false, ledger, clock };
    {
      await using desk = await createTestKernel({ ...parts, elsewhere: ["Shop.Order"] });
      for (const n of ["a", "b"]) await desk.submit("Shop.Order", { of: n });
      expect((await refusalOf(desk.submit("Shop.Order", { of: "c" }))).code).toBe("T7_QUEUE_FULL");
      await desk.clock.settle();
      expect(began).toEqual([]);
    }
    await using t = await createTestKernel({ ...parts, seed: 2 });
    await t.clock.settle();
    for (const n of ["a", "b"]) await end(t, n);
    expect(began).toEqual(["a", "b"]);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("is a bound of a request's own queue as well", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [shop()], defaultPolicies: false });
    const more = { queue: { name: "mine", concurrency: 1, max_waiting: 0 } };
    await order(t, "a", { more });
    expect((await refusalOf(t.submit("Shop.Order", { of: "b" }, more))).code).toBe("T7_QUEUE_FULL");
    await end(t, "a");
    await order(t, "b", { more });
    await end(t, "b");
    expect(began).toEqual(["a", "b"]);
  });
});

describe("a queue with a rate", () => {
  it("lets no more begin within any time than it says, also after the process that took places is gone", async () => {
    fresh();
    const [ledger, clock] = [memoryLedger(), createVirtualClock()];
    const queue: Queue = { concurrency: 9, rate: { limit: 2, perMs: 1000 } };
    const parts = { capabilities: [shop(queue)], defaultPolicies: false, ledger, clock } as const;
    const ids: string[] = [];
    {
      await using t = await createTestKernel(parts);
      for (const n of ["a", "b", "c", "d", "e"]) {
        ids.push(await order(t, n));
        await clock.advance(100);
      }
      for (const n of ["a", "b"]) await end(t, n);
      expect(began).toEqual(["a", "b"]);
    }
    await using t = await createTestKernel(parts);
    await clock.advance(499);
    expect(began).toEqual(["a", "b"]);
    await clock.advance(1);
    expect(began).toEqual(["a", "b", "c"]);
    await clock.advance(100);
    expect(began).toEqual(["a", "b", "c", "d"]);
    await clock.advance(899);
    expect(began).toHaveLength(4);
    await clock.advance(1);
    expect(began).toHaveLength(5);
    for (const n of ["c", "d", "e"]) await end(t, n);
    expect(await t.kernel.workflow(ids[4] as string)).toMatchObject({
      state: "completed",
      queue: { rate: { limit: 2, per_ms: 1000 } },
    });
    expect((await t.kernel.replay(ids[4] as string)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });
});

describe("a queue with a rate, and a workflow that is retried at once", () => {
  it("counts each of its places, though they are taken at one instant", async () => {
    fresh();
    await using t = await open({ concurrency: 1, rate: { limit: 2, perMs: 1000 } });
    const a = await order(t, "a");
    calls.get("a")?.fail();
    await t.clock.settle();
    await t.kernel.retry(a, { ...testCaller, mode: "resume_failed_steps" });
    await t.clock.settle();
    await end(t, "a");
    await order(t, "b");
    expect(began).toEqual(["a", "a"]);
    await t.clock.advance(1000);
    await end(t, "b");
    expect(began).toEqual(["a", "a", "b"]);
  });
});

describe("a queue whose limits a person sets", () => {
  const admin = { ...testCaller, principal: { ...testCaller.principal, role: "admin" } };
  const setLimits = (t: TestKernel, limits: QueueLimits | null) =>
    t.kernel.limitQueue({ ...admin, name: "Shop.Order", limits, reason: "the bank is slow" });

  it("obeys them from then on, also in another process, until they are lifted; those who run go on", async () => {
    fresh();
    const [ledger, clock] = [memoryLedger(), createVirtualClock()];
    const queue: Queue = { key: "{{input.vendor}}", concurrency: 1 };
    const parts = { capabilities: [shop(queue)], defaultPolicies: false, ledger, clock } as const;
    const ids: string[] = [];
    {
      await using t = await createTestKernel(parts);
      for (const n of ["a", "b", "c", "d", "e"]) ids.push(await order(t, n, { vendor: "x" }));
      expect(await setLimits(t, { concurrency: 3 })).toEqual({ name: "Shop.Order", status: "set" });
      await setLimits(t, { concurrency: 3 });
      await clock.settle();
      expect(began).toEqual(["a", "b", "c"]);
      expect(await t.kernel.queues({}, testCaller)).toMatchObject([
        { concurrency: 3, running: 3, waiting: 2, set: { reason: "the bank is slow", by: admin.principal } },
      ]);
      await setLimits(t, { concurrency: 1, rate: { limit: 1, per_ms: 1000 } });
      for (const n of ["a", "b"]) await end(t, n);
      expect(began).toEqual(["a", "b", "c"]);
    }
    await using t = await createTestKernel(parts);
    await end(t, "c");
    for (const n of began.splice(0)) await end(t, n);
    await clock.settle();
    expect(calls.size).toBe(1);
    await end(t, "d");
    expect(calls.size).toBe(0);
    await clock.advance(1000);
    expect([...calls.keys()]).toEqual(["e"]);
    expect(await setLimits(t, null)).toEqual({ name: "Shop.Order", status: "lifted" });
    expect(await t.kernel.queues({}, testCaller)).toMatchObject([{ concurrency: 1, set: null }]);
    await end(t, "e");
    for (const id of ids) expect((await t.kernel.replay(id)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
    const refused = t.kernel.limitQueue({ ...testCaller, name: "Shop.Order", limits: null, reason: "no" });
    expect((await refusalOf(refused)).code).toBe("T5_AUTHZ_FORBIDDEN");
  });
});

describe("a singleton", () => {
  const vendor = "x";
  const one = (singleton: NonNullable<Queue["singleton"]>): Queue => ({
    key: "{{input.vendor}}",
    concurrency: 1,
    singleton,
  });

  it("answers a request with the workflow of its key that runs, and begins another once that has ended", async () => {
    fresh();
    await using t = await open(one("return_existing"));
    const submit = (of: string, vendor: string) =>
      t.kernel.submit({ ...testCaller, intent_hint: { intent_type: "Shop.Order", inputs: { of, vendor } } });
    const [a, b] = await Promise.all([submit("a", vendor), submit("b", vendor)]);
    const c = await submit("c", "y");
    expect([b.workflow_id, b.intent_id, a.existing, b.existing]).toEqual([a.workflow_id, a.intent_id, undefined, true]);
    expect(c.workflow_id).not.toBe(a.workflow_id);
    await t.clock.settle();
    await end(t, "a");
    const d = await submit("d", vendor);
    await t.clock.settle();
    expect([began, d.existing]).toEqual([["a", "c", "d"], undefined]);
    for (const n of ["c", "d"]) await end(t, n);
    expect((await t.kernel.replay(d.workflow_id)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("refuses a request while another workflow of its key runs", async () => {
    fresh();
    await using t = await open(one("refuse"));
    await order(t, "a", { vendor });
    expect((await refusalOf(t.submit("Shop.Order", { of: "b", vendor }))).code).toBe("T7_QUEUE_FULL");
    await end(t, "a");
    await order(t, "b", { vendor });
    await end(t, "b");
    expect(began).toEqual(["a", "b"]);
  });

  it("is replaced by the newest request: the others end as cancelled, which name it, before it begins", async () => {
    fresh();
    await using t = await open(one("replace"));
    const a = await order(t, "a", { vendor });
    const [b, c] = await Promise.all(["b", "c"].map((of) => t.submit("Shop.Order", { of, vendor })));
    await t.clock.settle();
    const other = await order(t, "d", { vendor: "y" });
    const [first, second, last] = [a, b, c] as [string, string, string];
    for (const [id, by] of [
      [first, second],
      [second, last],
    ] as const) {
      expect(await t.kernel.workflow(id)).toMatchObject({ state: "cancelled", queue: { place: null } });
      expect((await t.kernel.explain(id)).why.join("\n")).toContain(`cancelled: replaced by ${by}`);
      expect((await t.kernel.replay(id)).identical).toBe(true);
    }
    expect([began, await placeOf(t, last), await placeOf(t, other)]).toEqual([["a", "c", "d"], "taken", "taken"]);
    expect((await t.kernel.explain(last)).why.join("\n")).toContain(`${second} was cancelled to make way for it`);
    for (const n of ["c", "d"]) await end(t, n);
    expect((await t.kernel.workflow(last)).state).toBe("completed");
    expect((await t.kernel.replay(last)).identical).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("lets a child of it wait for its turn: a parent is answered with no workflow but its own child", async () => {
    fresh();
    const child = shop({ concurrency: 1, singleton: "return_existing" });
    const parent = defineCapability({
      intentType: "Shop.Cart",
      version: "1.0",
      input: z.looseObject({}),
      operators: [pay],
      plan: ({ run }) => ({
        reasoning: "cart",
        steps: [run({ step_id: "order", name: "Order", capability: child, input: { of: "b" } })],
      }),
    });
    await using t = await createTestKernel({ capabilities: [child, parent], defaultPolicies: false });
    await order(t, "a");
    const id = await t.submit("Shop.Cart");
    await t.clock.settle();
    await end(t, "a");
    await t.clock.advance(60_000);
    await end(t, "b");
    expect([began, (await t.kernel.workflow(id)).state]).toEqual([["a", "b"], "completed"]);
  });

  it.each([{ concurrency: 2 }, { concurrency: 1, maxWaiting: 0 }])("is none with %j", (queue) => {
    expect(() => shop({ ...queue, singleton: "refuse" })).toThrowError(/singleton/);
  });
});
