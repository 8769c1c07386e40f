/** Queues: no more run than the queue allows, the others wait in order, and each end lets the next one begin. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { lineOf } from "../../src/contract/queue.ts";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import {
  began,
  calls,
  end,
  fresh,
  most,
  Order,
  one,
  open,
  order,
  pay,
  placeOf,
  type Queue,
  shop,
} from "./queue-shop.ts";

describe("a queue", () => {
  it("lets as many run as it allows, the others wait and begin in the order of their requests", async () => {
    fresh();
    await using t = await open({ concurrency: 2 });
    const ids: string[] = [];
    for (const n of ["a", "b", "c", "d", "e"]) ids.push(await order(t, n));
    expect(began).toEqual(["a", "b"]);
    expect(await t.types(ids[2] as string)).toEqual(["INTENT_RECEIVED", "WORKFLOW_QUEUED"]);
    const waiting = await t.kernel.workflow(ids[3] as string);
    expect(waiting).toMatchObject({ state: "accepted", plan: null, queue: { name: "Shop.Order", place: "waiting" } });
    expect((await t.kernel.workflows()).map(({ queued }) => queued)).toEqual([true, true, true, false, false]);
    await t.clock.advance(3000);
    for (const n of ["b", "a", "c", "d", "e"]) await end(t, n);
    expect([began, most.running]).toEqual([["a", "b", "c", "d", "e"], 2]);
    for (const id of ids) {
      expect(await t.kernel.workflow(id)).toMatchObject({
        state: "completed",
        queue: { place: null, queued_at: null },
      });
      expect((await t.kernel.replay(id)).identical).toBe(true);
    }
    const why = (await t.kernel.explain(ids[3] as string)).why.join("\n");
    expect(why).toContain("no place was free in its queue, in which 1 waited before it");
    expect(why).toContain("it took a place in its queue, after it had waited 3 s");
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("has places of their own for each key, and for each tenant", async () => {
    fresh();
    await using t = await open({ key: "{{input.vendor}}", concurrency: 1 });
    await order(t, "a", { vendor: "x" });
    await order(t, "b", { vendor: "x" });
    await order(t, "c", { vendor: "y" });
    await order(t, "d", { vendor: "x", more: { tenant_id: 2 } });
    expect(began).toEqual(["a", "c", "d"]);
    for (const n of ["a", "b", "c", "d"]) await end(t, n);
    expect(began).toEqual(["a", "c", "d", "b"]);
  });

  it("lets those of a higher priority go first", async () => {
    fresh();
    await using t = await open();
    await order(t, "a");
    await order(t, "b");
    await order(t, "c", { more: { queue: { priority: 5 } } });
    await order(t, "d", { more: { queue: { priority: 5 } } });
    for (const n of ["a", "c", "d", "b"]) await end(t, n);
    expect(began).toEqual(["a", "c", "d", "b"]);
  });

  it.each(["completed", "failed", "cancelled", "cancelled while it waits"])(
    "gives the place of one that is %s to the next",
    async (how) => {
      fresh();
      await using t = await open();
      const a = await order(t, "a");
      const b = await order(t, "b");
      const c = await order(t, "c");
      if (how === "completed") await end(t, "a");
      else if (how === "failed") calls.get("a")?.fail();
      else await t.kernel.cancel(how === "cancelled" ? a : b, { ...testCaller, reason: "no more" });
      await t.clock.settle();
      expect(began).toEqual(how === "cancelled while it waits" ? ["a"] : ["a", "b"]);
      await end(t, "a");
      await end(t, "b");
      await end(t, "c");
      expect((await t.kernel.workflow(c)).state).toBe("completed");
      expect((await t.kernel.workflow(b)).state).toBe(how === "cancelled while it waits" ? "cancelled" : "completed");
      expect((await t.kernel.verify()).broken).toEqual([]);
    },
  );

  it("keeps the place of one that waits for a person", async () => {
    fresh();
    await using t = await open();
    const a = await order(t, "a", { asks: true });
    await order(t, "b");
    expect([(await t.kernel.workflow(a)).state, began]).toEqual(["waiting_for_user", []]);
    await t.approve(a);
    await t.clock.settle();
    await end(t, "a");
    expect(began).toEqual(["a", "b"]);
  });

  it("lets one that is rolled back undo its work without a place, also past a gate", async () => {
    fresh();
    const undone: string[] = [];
    const undo = defineOperator({
      name: "Shop.Undo",
      input: z.object({ of: z.string() }),
      run: async ({ input: { of } }) => undone.push(of),
    });
    const paying = defineCapability({
      ...{ intentType: "Shop.Order", version: "1.0", input: Order, operators: [pay, undo], queue: one },
      plan: ({ input: { of }, step }) => {
        const back = { operator: "Shop.Undo" as const, params: () => ({ of }), gate: { reason: "look" } };
        const steps = [step({ step_id: "pay", name: "Pay", operator: "Shop.Pay", params: { of }, undo: back })];
        return { reasoning: "pay", steps };
      },
    });
    await using t = await createTestKernel({ capabilities: [paying], defaultPolicies: false });
    const a = await order(t, "a");
    await end(t, "a");
    await order(t, "b");
    await t.kernel.rollback(a, { ...testCaller, reason: "wrong" });
    await t.clock.settle();
    await t.approve(a);
    await t.clock.settle();
    expect([undone, (await t.kernel.workflow(a)).state, began]).toEqual([["a"], "cancelled", ["a", "b"]]);
    await end(t, "b");
  });

  it("passes over one that is paused, which is in its old place when it is resumed", async () => {
    fresh();
    await using t = await open();
    await order(t, "a");
    const b = await order(t, "b");
    await order(t, "c");
    await order(t, "d");
    await t.kernel.pause(b, { ...testCaller, reason: "look" });
    await end(t, "a");
    expect(began).toEqual(["a", "c"]);
    await t.kernel.resume(b, testCaller);
    await t.clock.settle();
    expect(await placeOf(t, b)).toBe("waiting");
    await end(t, "c");
    expect(began).toEqual(["a", "c", "b"]);
    expect((await t.kernel.replay(b)).identical).toBe(true);
  });

  it("passes over one that a halt holds", async () => {
    fresh();
    await using t = await open();
    const principal = { type: "user", id: 2, role: "admin" };
    await order(t, "a");
    const b = await order(t, "b", { more: { principal } });
    await order(t, "c");
    const of = { principal: { type: "user", id: 2 } };
    const { halt_id } = await t.kernel.halt({ tenant_id: 1, principal, of, reason: "look" });
    await end(t, "a");
    expect([began, (await t.kernel.workflow(b)).held_by]).toEqual([["a", "c"], [halt_id]]);
    await t.kernel.lift({ tenant_id: 1, principal, halt_id });
    await t.clock.settle();
    await end(t, "c");
    expect(began).toEqual(["a", "c", "b"]);
  });

  it("takes in one that begins later when its time has come, and one that is retried anew", async () => {
    fresh();
    await using t = await open();
    await order(t, "later", { more: { delay_ms: 1000 } });
    const a = await order(t, "a");
    await order(t, "b");
    await t.clock.advance(1000);
    calls.get("a")?.fail();
    await t.clock.settle();
    expect(began).toEqual(["a", "b"]);
    await t.kernel.retry(a, { ...testCaller, mode: "resume_failed_steps" });
    await t.clock.settle();
    expect(await placeOf(t, a)).toBe("waiting");
    for (const n of ["b", "later", "a"]) await end(t, n);
    expect(began).toEqual(["a", "b", "later", "a"]);
    expect(await t.kernel.workflow(a)).toMatchObject({ state: "completed", queue: { place: null } });
    expect((await t.kernel.replay(a)).identical).toBe(true);
  });

  it("lets a child work in the place of its parent, which would wait for it for ever", async () => {
    fresh();
    const child = shop({ name: "shop", concurrency: 1 });
    const parent = defineCapability({
      intentType: "Shop.Cart",
      version: "1.0",
      input: z.looseObject({}),
      operators: [pay],
      queue: { name: "shop", concurrency: 1 },
      plan: ({ run }) => ({
        reasoning: "cart",
        steps: [run({ step_id: "order", name: "Order", capability: child, input: { of: "a" } })],
      }),
    });
    await using t = await createTestKernel({ capabilities: [child, parent], defaultPolicies: false });
    const id = await t.submit("Shop.Cart");
    await t.clock.settle();
    await order(t, "b");
    expect(began).toEqual(["a"]);
    await end(t, "a");
    expect([(await t.kernel.workflow(id)).state, began]).toEqual(["completed", ["a", "b"]]);
  });

  it("holds over the death of a process: those who run keep their places, those who wait their order", async () => {
    fresh();
    const ledger = memoryLedger();
    const parts = { capabilities: [shop(one)], ledger, defaultPolicies: false };
    const first = await createTestKernel({ ...parts, seed: 1 });
    const ids: string[] = [];
    for (const n of ["a", "b", "c"]) ids.push(await order(first, n));
    const clock = createVirtualClock(first.clock.now());
    await using t = await createTestKernel({ ...parts, clock, seed: 2 });
    await t.clock.advance(120_000);
    expect(began).toEqual(["a", "a"]);
    for (const n of ["a", "b", "c"]) await end(t, n);
    expect(began).toEqual(["a", "a", "b", "c"]);
    for (const id of ids) expect((await t.kernel.workflow(id)).state).toBe("completed");
    await first[Symbol.asyncDispose]();
  });
});

describe("the list of queues", () => {
  it("names each queue and key of the tenant with its limit, who runs and who waits, a page at a time", async () => {
    fresh();
    await using t = await open({ key: "{{input.vendor}}", concurrency: 1 });
    for (const [of, vendor] of [
      ["a", "x"],
      ["b", "x"],
      ["c", "x"],
      ["d", "y"],
    ] as const)
      await order(t, of, { vendor });
    await order(t, "e", { vendor: "x", more: { tenant_id: 2 } });
    const oldest_waiting = new Date(t.clock.now()).toISOString();
    const x = { name: "Shop.Order", key: "x", concurrency: 1, running: 1, waiting: 2, oldest_waiting, set: null };
    const y = { name: "Shop.Order", key: "y", concurrency: 1, running: 1, waiting: 0, oldest_waiting: null, set: null };
    expect(await t.kernel.queues({}, testCaller)).toEqual([x, y]);
    expect(await t.kernel.queues({ tenant_id: 1, name: "Shop.Order", limit: 1, after: lineOf(x) })).toEqual([y]);
    const refused = await refusalOf(t.kernel.queues({ tenant_id: 2 }, testCaller));
    expect(refused.code).toBe("T5_IDENTITY_VIOLATION");
    for (const n of ["a", "b", "c", "d", "e"]) await end(t, n);
    expect(await t.kernel.queues({}, testCaller)).toEqual([]);
  });
});

describe("a request that names a queue", () => {
  it("waits in it, where its capability has none", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [shop()], defaultPolicies: false });
    const more = { queue: { name: "mine", key: "k", concurrency: 1 } };
    await order(t, "a", { more });
    await order(t, "b", { more });
    await order(t, "c");
    expect(began).toEqual(["a", "c"]);
    await end(t, "a");
    expect(began).toEqual(["a", "c", "b"]);
  });

  it.each([
    [one, { concurrency: 9 }, "Shop.Order has a queue of its own"],
    [one, { name: "mine", concurrency: 9 }, "Shop.Order has a queue of its own"],
    [{ concurrency: 1, key: "{{input.vendor}}" }, undefined, "{{input.vendor}} needs inputs"],
    [undefined, { priority: 3 }, "the request must give its name and its concurrency"],
  ] as const)("of a capability with %j, %j is refused", async (queue, wanted, problem) => {
    await using t = await createTestKernel({ capabilities: [shop(queue)] });
    const request = { ...testCaller, intent_hint: { intent_type: "Shop.Order", inputs: { of: "a" } } };
    const refused = await refusalOf(t.kernel.submit({ ...request, ...(wanted !== undefined && { queue: wanted }) }));
    expect([refused.code, refused.message]).toEqual(["T1_QUEUE_INVALID", expect.stringContaining(problem)]);
  });

  it.each([{ concurrency: 0 }, { concurrency: 1, key: "{{vendor}}" }, { concurrency: 1, limit: 3 }])(
    "%j is no queue of a capability",
    (queue) => {
      expect(() => shop(queue as Queue)).toThrowError(/queue/);
    },
  );
});
