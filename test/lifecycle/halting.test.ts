/** Halts: what they concern is held in every process before its next call, and goes on once they are lifted. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator, type HaltFilter } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsOf, freshPaths, refusalOf } from "../fixtures.ts";
import { calling, planned, type Step } from "./plain-plans.ts";

const hour = 3_600_000;
const day = 24 * hour;
const freshPath = freshPaths();
const admin = { tenant_id: 1, principal: { type: "user", id: 9, role: "admin" } };

const world: { calls: string[]; end: (() => void) | null } = { calls: [], end: null };
const begin = (): void => void Object.assign(world, { calls: [], end: null });

const operatorOf = (name: string, effect: "none" | "final_write" = "final_write") =>
  defineOperator({
    name,
    input: z.looseObject({}),
    effect,
    run: ({ context }) => {
      world.calls.push(context.step_id);
      return context.step_id;
    },
  });
const pay = operatorOf("Bank.Pay");
const read = operatorOf("Bank.Read", "none");
const slow = defineOperator({
  name: "Bank.Slow",
  input: z.looseObject({}),
  effect: "final_write",
  run: ({ context }) =>
    new Promise<string>((resolve) => {
      world.calls.push(context.step_id);
      world.end = () => resolve("slow");
    }),
});

const capability = (steps: readonly Step[], intentType = "Bank.Order") => planned(intentType, [pay, read, slow], steps);
const inRow = [
  calling("a", "Bank.Read"),
  calling("b", "Bank.Pay", { depends_on: ["a"] }),
  calling("c", "Bank.Read", { depends_on: ["a"] }),
];
const open = (given: Parameters<typeof createTestKernel>[0] = {}) =>
  createTestKernel({ capabilities: [capability(inRow)], defaultPolicies: false, ...given });

const halt = async (t: TestKernel, of: HaltFilter = {}): Promise<string> =>
  (await t.kernel.halt({ ...admin, of, reason: "payments go astray" })).halt_id;
const lift = (t: TestKernel, halt_id: string) => t.kernel.lift({ ...admin, halt_id });
const isSound = async (t: TestKernel, id: string): Promise<void> => {
  expect((await t.kernel.replay(id)).difference).toBeNull();
  expect((await t.kernel.verify()).broken).toEqual([]);
};

describe("a halt of an operator", () => {
  it("holds the steps that would call it, lets all others go on, and they go on once it is lifted", async () => {
    begin();
    await using t = await open();
    const halt_id = await halt(t, { operator: "Bank.Pay" });
    const id = await t.submit("Bank.Order");
    await t.clock.settle();
    const held = await t.kernel.workflow(id);
    expect(world.calls).toEqual(["a", "c"]);
    expect(held).toMatchObject({ state: "waiting", held_by: [], error: null });
    expect(held.steps.map((step) => step.held_by)).toEqual([[], [halt_id], []]);
    expect(await t.kernel.halts(1, testCaller)).toMatchObject([
      { halt_id, of: { operator: "Bank.Pay" }, reason: "payments go astray", held: { workflows: 0, steps: 1 } },
    ]);
    expect(await t.kernel.workflows({}, testCaller)).toMatchObject([{ held_by: [halt_id], due_at: null }]);
    expect(await t.kernel.holds()).toEqual({ queued: 0, paused: 0, halts: 1, workflows: 0, steps: 1 });
    await lift(t, halt_id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(world.calls).toEqual(["a", "c", "b"]);
    expect(await t.kernel.halts(1)).toEqual([]);
    expect(await t.kernel.holds()).toEqual({ queued: 0, paused: 0, halts: 0, workflows: 0, steps: 0 });
    await isSound(t, id);
  });

  it("does not interrupt a call that is under way", async () => {
    begin();
    await using t = await open({
      capabilities: [capability([calling("a", "Bank.Slow"), calling("b", "Bank.Slow", { depends_on: ["a"] })])],
    });
    const id = await t.submit("Bank.Order");
    await t.clock.settle();
    const halt_id = await halt(t, { operator: "Bank.Slow" });
    world.end?.();
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).steps.map(({ state }) => state)).toEqual(["succeeded", "running"]);
    expect(world.calls).toEqual(["a"]);
    await lift(t, halt_id);
    await t.clock.settle();
    world.end?.();
    expect((await t.rest(id)).state).toBe("completed");
    await isSound(t, id);
  });

  it("holds an approved call, which begins once it is lifted", async () => {
    begin();
    await using t = await open({
      capabilities: [capability([calling("a", "Bank.Pay", { gate: { reason: "look" } })])],
    });
    const id = await t.submit("Bank.Order");
    await t.rest(id);
    const halt_id = await halt(t, { operator: "Bank.Pay" });
    await t.approve(id);
    await t.clock.settle();
    expect(world.calls).toEqual([]);
    await lift(t, halt_id);
    expect((await t.rest(id)).state).toBe("completed");
    await isSound(t, id);
  });
});

describe("a halt without an operator", () => {
  it.each([
    ["everything", {}],
    ["a capability", { capability: "Bank.Order" }],
    ["a principal", { principal: { type: "user", id: 1 } }],
  ] as const)("of %s accepts requests and holds them, and judges, plans and calls nothing", async (_, of) => {
    begin();
    await using t = await open();
    const halt_id = await halt(t, of);
    const id = await t.submit("Bank.Order");
    await t.clock.advance(day);
    expect(await t.types(id)).toEqual(["INTENT_RECEIVED", "WORK_HELD"]);
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "accepted", held_by: [halt_id] });
    expect(await t.kernel.halts(1)).toMatchObject([{ held: { workflows: 1, steps: 0 } }]);
    await lift(t, halt_id);
    expect((await t.rest(id)).state).toBe("completed");
    await isSound(t, id);
  });

  it("does not concern other work", async () => {
    begin();
    await using t = await open();
    const others: readonly HaltFilter[] = [
      { capability: "Bank.Other" },
      { principal: { id: 2 } },
      { operator: "Bank.Slow" },
    ];
    for (const other of others) await halt(t, other);
    await t.kernel.halt({ ...admin, tenant_id: 2, reason: "elsewhere" });
    expect((await t.run("Bank.Order")).state).toBe("completed");
  });

  it("keeps the times of timers: what fell due meanwhile happens once it is lifted", async () => {
    begin();
    const gate = { reason: "look", expiry: { after_ms: hour, action: "deny" } };
    await using t = await open({ capabilities: [capability([calling("a", "Bank.Pay", { gate })])] });
    const id = await t.submit("Bank.Order");
    await t.rest(id);
    const halt_id = await halt(t);
    await t.clock.advance(day);
    expect((await t.kernel.workflow(id)).gates[0]?.status).toBe("open");
    await lift(t, halt_id);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).gates[0]?.status).toBe("expired");
    await isSound(t, id);
  });
});

describe("two halts", () => {
  it("hold until both are lifted", async () => {
    begin();
    await using t = await open();
    const [one, two] = [await halt(t, { operator: "Bank.Pay" }), await halt(t, { capability: "Bank.Order" })];
    const id = await t.submit("Bank.Order");
    await t.clock.settle();
    await lift(t, two);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).steps.map((step) => step.held_by)).toEqual([[], [one], []]);
    await lift(t, one);
    expect((await t.rest(id)).state).toBe("completed");
    await isSound(t, id);
  });

  it("[INV-11] of one kind are one; lifting twice is lifting once; another tenant's cannot be lifted", async () => {
    await using t = await open();
    const first = await halt(t, { operator: "Bank.Pay" });
    expect(await halt(t, { operator: "Bank.Pay" })).toBe(first);
    const elsewhere = t.kernel.lift({ ...admin, tenant_id: 2, halt_id: first });
    expect(await refusalOf(elsewhere)).toMatchObject({ code: "T5_HALT_NOT_FOUND" });
    expect(await refusalOf(t.kernel.halt({ ...testCaller, reason: "me too" }))).toMatchObject({
      code: "T5_AUTHZ_FORBIDDEN",
    });
    expect(await lift(t, first)).toEqual(await lift(t, first));
    expect(await halt(t, { operator: "Bank.Pay" })).not.toBe(first);
  });
});

describe("a halt and several processes", () => {
  it("stops another process before its next call, and frees what that one held", async () => {
    begin();
    const path = freshPath();
    const steps = [calling("a", "Bank.Slow"), calling("b", "Bank.Pay", { depends_on: ["a"] })];
    const at = (seed: number) =>
      open({ capabilities: [capability(steps)], ledger: sqliteLedger({ path, synchronous: "normal" }), seed });
    await using one = await at(1);
    await using two = await at(2);
    const id = await one.submit("Bank.Order");
    await one.clock.settle();
    const halt_id = await halt(two, { operator: "Bank.Pay" });
    world.end?.();
    await one.clock.settle();
    expect(world.calls).toEqual(["a"]);
    expect((await one.kernel.workflow(id)).steps[1]?.held_by).toEqual([halt_id]);
    await lift(two, halt_id);
    for (const t of [one, two]) {
      await t.clock.advance(hour);
      await t.clock.settle();
    }
    expect((await one.kernel.workflow(id)).state).toBe("completed");
    expect(world.calls).toEqual(["a", "b"]);
    await isSound(one, id);
  });

  it("holds after a restart, and what a dead process held goes on in another", async () => {
    begin();
    const ledger = memoryLedger();
    const first = await open({ ledger, seed: 1 });
    const halt_id = await halt(first);
    const id = await first.submit("Bank.Order");
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    await using t = await open({ ledger, seed: 2, clock: first.clock });
    await t.clock.advance(day);
    expect((await t.kernel.workflow(id)).held_by).toEqual([halt_id]);
    expect((await t.types(id)).filter((type) => type === "WORK_HELD")).toHaveLength(1);
    await lift(t, halt_id);
    expect((await t.rest(id)).state).toBe("completed");
    await isSound(t, id);
  });
});

describe("a workflow that is held", () => {
  it("can be cancelled, and paused, and says why it stands", async () => {
    begin();
    await using t = await open();
    const halt_id = await halt(t);
    const [id, other] = [await t.submit("Bank.Order"), await t.submit("Bank.Order")];
    await t.clock.settle();
    await t.kernel.pause(id, testCaller);
    await lift(t, halt_id);
    await t.clock.settle();
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "accepted", held_by: [], paused: {} });
    await t.kernel.resume(id, testCaller);
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.explain(id)).why).toContain(`the workflow was held by ${halt_id} until lifted`);
    const again = await halt(t);
    await t.kernel.cancel(other, testCaller).catch(() => undefined);
    const third = await t.submit("Bank.Order");
    await t.clock.settle();
    await t.kernel.cancel(third, testCaller);
    expect(await t.kernel.workflow(third)).toMatchObject({ state: "cancelled", held_by: [] });
    expect(await t.kernel.halts(1)).toMatchObject([{ halt_id: again, held: { workflows: 0 } }]);
    for (const one of [id, third]) await isSound(t, one);
    expect((await eventsOf(t, third)).at(-1)?.event_type).toBe("WORKFLOW_CANCELLED");
  });
});
