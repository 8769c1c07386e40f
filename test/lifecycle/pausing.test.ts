/** Pause and resume: nothing begins while a workflow is paused, and all of it goes on afterwards. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator, operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { calling, planned, type Step } from "./plain-plans.ts";

const hour = 3_600_000;
const day = 24 * hour;

interface Shop {
  /** The steps whose calls were made, in order. */
  readonly calls: string[];
  /** Ends the call of `slow`. */
  end: (() => void) | null;
  fails: number;
}

const shop: Shop = { calls: [], end: null, fails: 0 };
const begin = (): void => void Object.assign(shop, { calls: [], end: null, fails: 0 });

const take = defineOperator({
  name: "Shop.Take",
  input: z.looseObject({}),
  run: ({ context }) => {
    shop.calls.push(context.step_id);
    return context.step_id;
  },
});
const slow = defineOperator({
  name: "Shop.Slow",
  input: z.looseObject({}),
  effect: "final_write",
  run: ({ context }) =>
    new Promise<string>((resolve) => {
      shop.calls.push(context.step_id);
      shop.end = () => resolve("slow");
    }),
});
const flaky = defineOperator({
  name: "Shop.Flaky",
  input: z.looseObject({}),
  retry: "standard",
  run: ({ context }) => {
    shop.calls.push(context.step_id);
    shop.fails += 1;
    if (shop.fails === 1)
      throw operatorError({ code: "BUSY", message: "not now", category: "transient", retry_after_ms: hour });
    return "done";
  },
});

const works = (steps: readonly Step[]) => planned("Shop.Order", [take, slow, flaky], steps);

const reason = "the supplier is being checked";
const pause = (t: TestKernel, id: string) => t.kernel.pause(id, { ...testCaller, reason });
const resume = (t: TestKernel, id: string) => t.kernel.resume(id, testCaller);
const isReplayed = async (t: TestKernel, id: string): Promise<boolean> => (await t.kernel.replay(id)).identical;

describe("a paused workflow", () => {
  it("records the end of the call that is under way, and begins the next one when it is resumed", async () => {
    begin();
    await using t = await createTestKernel({
      capabilities: [works([calling("a", "Shop.Slow"), calling("b", "Shop.Take", { depends_on: ["a"] })])],
      defaultPolicies: false,
    });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    expect(shop.calls).toEqual(["a"]);
    expect(await pause(t, id)).toMatchObject({ workflow_id: id, status: "paused" });
    shop.end?.();
    await t.clock.settle();
    const paused = await t.kernel.workflow(id);
    expect(paused).toMatchObject({ state: "running", paused: { reason, principal: testCaller.principal } });
    expect(paused.steps.map(({ step_id, state, phase }) => [step_id, state, phase])).toEqual([
      ["a", "running", "finishing"],
      ["b", "queued", null],
    ]);
    expect((await t.kernel.settled(id)).paused).not.toBeNull();
    expect(await resume(t, id)).toMatchObject({ workflow_id: id, status: "resumed" });
    expect(await t.rest(id)).toMatchObject({ state: "completed", paused: null });
    expect(shop.calls).toEqual(["a", "b"]);
    expect(await isReplayed(t, id)).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("lets people decide, and acts on their decision when it is resumed", async () => {
    begin();
    await using t = await createTestKernel({
      capabilities: [
        works([calling("a", "Shop.Take", { gate: { reason: "look", expiry: { after_ms: day, action: "deny" } } })]),
      ],
    });
    const id = await t.submit("Shop.Order");
    await t.rest(id);
    await pause(t, id);
    await t.clock.advance(2 * day);
    expect((await t.kernel.workflow(id)).gates[0]?.status).toBe("open");
    await t.approve(id);
    await t.clock.settle();
    expect(shop.calls).toEqual([]);
    expect((await t.kernel.workflow(id)).gates[0]?.status).toBe("approved");
    await resume(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(shop.calls).toEqual(["a"]);
    expect(await isReplayed(t, id)).toBe(true);
  });

  it("notes what fell due meanwhile when it is resumed: an expiry, the end of a sleep, a retry, a start", async () => {
    begin();
    await using t = await createTestKernel({
      capabilities: [
        works([
          calling("ask", "Shop.Take", { gate: { reason: "look", expiry: { after_ms: day, action: "deny" } } }),
          { step_id: "rest", name: "rest", kind: "sleep", params: { ms: hour } },
          calling("again", "Shop.Flaky"),
          calling("then", "Shop.Take", { depends_on: ["rest"] }),
        ]),
      ],
    });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    await pause(t, id);
    await t.clock.advance(3 * day);
    const before = await t.types(id);
    expect(before.at(-1)).toBe("WORKFLOW_PAUSED");
    expect(shop.calls).toEqual(["again"]);
    await resume(t, id);
    await t.rest(id);
    expect((await t.types(id)).slice(before.length)).toEqual(
      expect.arrayContaining(["WORKFLOW_UNPAUSED", "GATE_EXPIRED", "STEP_RESUMED"]),
    );
    expect(shop.calls).toEqual(expect.arrayContaining(["again", "again", "then"]));
    const late = await t.submit("Shop.Order", {}, { delay_ms: hour });
    await pause(t, late);
    await t.clock.advance(day);
    expect((await t.kernel.workflow(late)).state).toBe("accepted");
    await resume(t, late);
    expect((await t.rest(late)).state).not.toBe("accepted");
    for (const one of [id, late]) expect(await isReplayed(t, one)).toBe(true);
  });

  it("stays paused in another process, which is woken for nothing", async () => {
    begin();
    const ledger = memoryLedger();
    const capabilities = [works([calling("a", "Shop.Take", { gate: { reason: "look" } }), calling("b", "Shop.Flaky")])];
    const first = await createTestKernel({ capabilities, ledger, seed: 1 });
    const id = await first.submit("Shop.Order");
    await first.clock.settle();
    await pause(first, id);
    await first.clock.settle();
    expect(await ledger.nextDue()).toBeGreaterThan(Date.parse("9999-12-31"));
    expect((await ledger.head(id))?.owner).toBeNull();
    await first.kernel.stop({ drainMs: 0 });
    await using t = await createTestKernel({ capabilities, ledger, clock: first.clock, seed: 2 });
    await t.clock.advance(30 * day);
    expect(shop.calls).toEqual(["b"]);
    expect(await ledger.takeUp("abandoned", "other", t.clock.now(), 10)).toEqual([]);
    expect(await ledger.takeUp("due", "other", t.clock.now(), 10)).toEqual([]);
    expect(await t.kernel.workflows({}, testCaller)).toMatchObject([{ workflow_id: id, paused: true, due_at: null }]);
    await resume(t, id);
    await t.approve(id, "gate-a");
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(await t.kernel.workflows({}, testCaller)).toMatchObject([{ paused: false }]);
    expect(shop.calls).toEqual(["b", "b", "a"]);
    expect(await isReplayed(t, id)).toBe(true);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("can be cancelled, which ends the pause", async () => {
    begin();
    await using t = await createTestKernel({
      capabilities: [works([calling("a", "Shop.Slow")])],
      defaultPolicies: false,
    });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    await pause(t, id);
    expect((await t.kernel.cancel(id, testCaller)).status).toBe("cancelling");
    expect((await t.kernel.workflow(id)).paused).toBeNull();
    expect(await refusalOf(pause(t, id))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    shop.end?.();
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", paused: null });
    expect(await refusalOf(resume(t, id))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    expect(await t.kernel.workflows({}, testCaller)).toMatchObject([{ paused: false, state: "cancelled" }]);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });

  it("answers the same order again alike, and notes it once", async () => {
    begin();
    await using t = await createTestKernel({
      capabilities: [works([calling("a", "Shop.Take", { gate: { reason: "look" } })])],
    });
    const id = await t.submit("Shop.Order");
    await t.rest(id);
    const idle = await resume(t, id);
    expect(idle.status).toBe("resumed");
    expect(await pause(t, id)).toEqual(await pause(t, id));
    expect((await t.types(id)).filter((type) => type.startsWith("WORKFLOW_PAUSED"))).toHaveLength(1);
    const { why } = await t.kernel.explain(id);
    expect(why).toContain(`user 1 paused the workflow: ${reason}; nothing begins until it is resumed`);
  });

  it("keeps a plan that was being made, and begins none of its steps", async () => {
    begin();
    let answer: (() => void) | null = null;
    const planner = {
      plan: () =>
        new Promise((resolve) => {
          const plan = { reasoning: "late", steps: [calling("a", "Shop.Take", { params: {} })] };
          answer = () => resolve({ plan, usage: { total_cost: 0 } });
        }),
    };
    await using t = await createTestKernel({ capabilities: [works([])], planner: planner as never });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    await pause(t, id);
    (answer as (() => void) | null)?.();
    await t.clock.settle();
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "planned" });
    await resume(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(shop.calls).toEqual(["a"]);
    expect(await isReplayed(t, id)).toBe(true);
  });
});
