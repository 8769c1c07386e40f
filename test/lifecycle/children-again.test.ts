/** Work that is done again under its keys: what a child has done is not done again by another child in its place. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { broken, calls, childOf, fresh, order, pay, replaysAlike, shop } from "./shop-children.ts";

const list = shop(({ intent, each, run }) => ({
  reasoning: "a list of children",
  steps: [
    each({
      step_id: "each",
      name: "Each",
      items: (intent.inputs["sums"] as number[] | undefined) ?? [1, 2],
      key: (sum) => sum,
      do: (sum) => run({ capability: pay, input: { sum, asks: true } }),
    }),
  ],
}));

async function approveBelow({ kernel, clock }: TestKernel, id: string, count = Number.POSITIVE_INFINITY) {
  await clock.settle();
  const gates = await kernel.gates({ under: id });
  for (const { workflow_id } of gates.slice(0, count))
    await kernel.decideGate(workflow_id, {
      ...testCaller,
      principal: { type: "user", id: "boss", role: "admin" },
      decision: "approve",
    });
  await clock.settle();
}

describe("a child in the place of another", () => {
  it("begins when its parent is migrated, and answers with what the other has done", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    expect(calls).toEqual(["reserve"]);
    const again = await t.kernel.retry(id, { ...testCaller, mode: "migrate" });
    await approveBelow(t, again.workflow_id);
    expect((await t.rest(again.workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["reserve", "book", "ship"]);
    const child = await childOf(t, again.workflow_id);
    expect((await t.kernel.workflow(child)).regenerated_from).toBe(await childOf(t, id));
    await replaysAlike(t, id, again.workflow_id, child);
  });

  it("is not migrated by itself while its parent waits for it", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    const child = await childOf(t, id);
    await expect(t.kernel.retry(child, { ...testCaller, mode: "migrate" })).rejects.toMatchObject({
      error: { code: "T4_WORKFLOW_CONFLICT", detail: { parent: id } },
    });
    expect((await t.kernel.workflow(child)).state).toBe("waiting_for_user");
  });

  it("begins when its parent is run again, and asks nobody about what is done", async () => {
    fresh();
    broken.add("ship");
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await approveBelow(t, id);
    expect((await t.rest(id)).state).toBe("failed");
    broken.clear();
    const again = await t.kernel.retry(id, { ...testCaller, mode: "replay" });
    expect((await t.rest(again.workflow_id)).state).toBe("completed");
    expect(calls.filter((step) => !step.startsWith("ship"))).toEqual(["reserve", "book"]);
    await replaysAlike(t, again.workflow_id, await childOf(t, again.workflow_id));
  });

  it("begins when a step is retried whose child was cancelled", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    await t.kernel.cancel(await childOf(t, id), { ...testCaller });
    expect((await t.rest(id)).state).toBe("failed");
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    await approveBelow(t, id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["reserve", "book", "ship"]);
    await replaysAlike(t, id);
  });

  it("begins for the same item of a list, wherever that stands in it", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [list, pay] });
    const id = await t.submit("Shop.Order", { sums: [1, 2] });
    await approveBelow(t, id, 1);
    expect(calls).toEqual(["reserve", "reserve", "book"]);
    const again = await t.kernel.retry(id, { ...testCaller, mode: "migrate" });
    await approveBelow(t, again.workflow_id);
    expect((await t.rest(again.workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["reserve", "reserve", "book", "book"]);
  });

  it("begins in the next plan of its workflow, which repeats the call that failed alone", async () => {
    fresh();
    broken.add("ship");
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order");
    await t.rest(id);
    expect(calls.filter((step) => step.startsWith("reserve") || step.startsWith("book"))).toHaveLength(2);
    await replaysAlike(t, id);
  });

  it("takes over what the other has left, and undoes it when its own parent fails", async () => {
    const log: string[] = [];
    const add = defineOperator({
      name: "Books.Add",
      effect: "final_write",
      input: z.looseObject({}),
      run: () => void log.push("add"),
    });
    const remove = defineOperator({
      name: "Books.Remove",
      effect: "write_draft",
      idempotent: true,
      input: z.looseObject({}),
      run: () => void log.push("remove"),
    });
    const added = defineCapability({
      intentType: "Books.Entry",
      version: "1.0",
      input: z.looseObject({}),
      operators: [add, remove],
      plan: ({ step }) => ({
        reasoning: "one entry",
        steps: [
          step({
            step_id: "add",
            name: "Add",
            operator: "Books.Add",
            params: {},
            undo: { operator: "Books.Remove", params: () => ({}) },
          }),
        ],
      }),
    });
    const whole = shop(({ step, run }) => {
      const paid = run({ step_id: "pay", name: "Pay", capability: added, input: {} });
      const gate = { reason: "last look" };
      const last = { name: "Ship", operator: "Shop.Take", params: {}, depends_on: [paid], gate } as const;
      return { reasoning: "whole", steps: [paid, step({ step_id: "ship", ...last })] };
    });
    await using t = await createTestKernel({ capabilities: [whole, added], defaultPolicies: false });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    const again = await t.kernel.retry(id, { ...testCaller, mode: "migrate" });
    await t.clock.settle();
    expect(log).toEqual(["add"]);
    await t.kernel.cancel(again.workflow_id, { ...testCaller, undo: true });
    expect(await t.rest(again.workflow_id)).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(log).toEqual(["add", "remove"]);
  });

  it("does all of it anew when a person asks for it anew", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order");
    expect((await t.rest(id)).state).toBe("completed");
    const again = await t.kernel.retry(id, { ...testCaller, mode: "regenerate" });
    expect((await t.rest(again.workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["reserve", "book", "ship", "reserve", "book", "ship"]);
  });
});
