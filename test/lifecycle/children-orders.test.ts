/** Children under orders on their parents, policy and budgets. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, definePolicy } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { calls, childOf, fresh, order, pay, replaysAlike, shop, take } from "./shop-children.ts";

describe("cancelling a workflow with a child", () => {
  it("cancels the child, and has ended once the child has", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    const child = await childOf(t, id);
    const { status } = await t.kernel.cancel(id, { ...testCaller, reason: "not today" });
    expect(status).toBe("cancelling");
    expect((await t.rest(id)).state).toBe("cancelled");
    expect((await t.kernel.workflow(child)).state).toBe("cancelled");
    await replaysAlike(t, id, child);
  });

  it("reaches every level below, and leaves a detached child alone", async () => {
    fresh();
    const middle = defineCapability({
      intentType: "Shop.Middle",
      version: "1.0",
      input: z.looseObject({}),
      operators: [take],
      plan: ({ run }) => ({
        reasoning: "middle",
        steps: [
          run({ step_id: "pay", name: "Pay", capability: pay, input: { sum: 1, asks: true } }),
          run({ step_id: "loose", name: "Loose", capability: pay, input: { sum: 2, asks: true }, detached: true }),
        ],
      }),
    });
    const top = shop(({ run }) => ({
      reasoning: "top",
      steps: [run({ step_id: "pay", name: "Middle", capability: middle, input: {} })],
    }));
    await using t = await createTestKernel({ capabilities: [top, middle, pay] });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    const below = await childOf(t, id);
    const [lowest, loose] = (await t.kernel.workflow(below)).steps.map(({ child }) => child as string);
    await t.kernel.cancel(id, { ...testCaller });
    expect((await t.rest(id)).state).toBe("cancelled");
    expect((await t.kernel.workflow(below)).state).toBe("cancelled");
    expect((await t.kernel.workflow(lowest as string)).state).toBe("cancelled");
    expect((await t.kernel.workflow(loose as string)).state).toBe("waiting_for_user");
    await replaysAlike(t, id, below, lowest as string);
  });
});

describe("pausing a workflow with a child", () => {
  it("pauses the child, takes its end in after the pause, and resumes the child with it", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    const child = await childOf(t, id);
    await t.kernel.pause(id, { ...testCaller, reason: "wait" });
    await t.clock.settle();
    expect((await t.kernel.workflow(child)).paused).toMatchObject({ reason: "wait", principal: testCaller.principal });
    await t.approve(child);
    await t.kernel.resume(child, { ...testCaller });
    expect((await t.rest(child)).state).toBe("completed");
    await t.clock.settle();
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "waiting", steps: [{ phase: "parked" }, {}] });
    await t.kernel.resume(id, { ...testCaller });
    expect((await t.rest(id)).state).toBe("completed");
    await replaysAlike(t, id, child);
  });
});

describe("a child and the places of a kernel", () => {
  it("gets its place while its parent holds the only one", async () => {
    fresh();
    await using t = await createTestKernel({
      capabilities: [order, pay],
      limits: { maxInFlight: 1, maxWaitingSubmits: 0 },
    });
    expect((await t.run("Shop.Order")).state).toBe("completed");
    expect(t.kernel.vitals().places).toBe(0);
  });
});

describe("policy, approvals and budgets over children", () => {
  it("rules see the capability that a plan runs, and the parent of the work that they judge", async () => {
    fresh();
    const seen: unknown[] = [];
    const rule = definePolicy({
      name: "look",
      stages: ["plan", "action"],
      evaluate: ({ stage, subject: { parent, payload } }) => {
        seen.push({ stage, parent, runs: (payload as { steps?: { runs?: string }[] }).steps?.map(({ runs }) => runs) });
        return null;
      },
    });
    await using t = await createTestKernel({ capabilities: [order, pay], policies: [rule] });
    const { workflow_id } = await t.run("Shop.Order");
    const parent = { workflow_id, step_id: "pay", root_workflow_id: workflow_id, depth: 1 };
    expect(seen[0]).toEqual({ stage: "plan", parent: undefined, runs: ["Shop.Pay@1.0", undefined] });
    expect(seen[1]).toEqual({ stage: "plan", parent, runs: [undefined, undefined] });
    expect(seen[2]).toMatchObject({ stage: "action", parent });
  });

  it("fails a parent whose child policy denies, as refused", async () => {
    fresh();
    const rule = definePolicy({
      name: "no children",
      stages: ["plan"],
      evaluate: ({ subject }) => (subject.parent === undefined ? null : { decision: "DENY", reason: "not here" }),
    });
    await using t = await createTestKernel({ capabilities: [order, pay], policies: [rule] });
    const { state, error } = await t.run("Shop.Order");
    expect(state).toBe("failed");
    expect(error).toMatchObject({ code: "T4_CHILD_FAILED", cause: { code: "T5_POLICY_DENIED" } });
    expect(calls).toEqual([]);
  });

  it("an approval that policy demands of the parent's plan is asked before the first steps of its child", async () => {
    fresh();
    const rule = definePolicy({
      name: "ask",
      stages: ["plan"],
      evaluate: ({ subject, intent }) =>
        subject.parent === undefined && intent.type === "Shop.Order"
          ? { decision: "REQUIRE_APPROVAL", reason: "look at orders" }
          : null,
    });
    await using t = await createTestKernel({ capabilities: [order, pay], policies: [rule] });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    const child = await childOf(t, id);
    expect(calls).toEqual([]);
    expect(await t.kernel.workflow(child)).toMatchObject({
      state: "waiting_for_user",
      gates: [{ step_id: "reserve", reasons: [{ reason: "look at orders" }] }],
    });
    await t.approve(child);
    expect((await t.rest(id)).state).toBe("completed");
    await replaysAlike(t, id, child);
  });

  it("the calls of a child count in the budget of every workflow above it, and are held to its ceiling", async () => {
    fresh();
    const budgets = { limits: [{ scope: "workflow", invocations: 2 }] } as const;
    await using t = await createTestKernel({ capabilities: [order, pay], budgets, limits: { maxReplans: 0 } });
    const state = await t.run("Shop.Order");
    const child = await childOf(t, state.workflow_id);
    expect(calls).toEqual(["reserve", "book"]);
    expect(state).toMatchObject({ state: "failed", error: { code: "T5_BUDGET_EXHAUSTED" } });
    const standing = await t.kernel.budgets({ tenant_id: 1 });
    const used = Object.fromEntries(standing.map(({ id, used: amounts }) => [id, amounts?.invocations]));
    expect(used).toEqual({ [state.workflow_id]: 2, [child]: 2 });
  });

  it("a child's spending counts for its parent's maxCost at its end, and it begins with the parent's", async () => {
    fresh();
    const dear = shop(({ step, run }) => {
      const first = step({ step_id: "first", name: "First", operator: "Shop.Take", params: {}, estimated_cost: 1 });
      const paid = run({ step_id: "pay", name: "Pay", capability: costing, input: {}, depends_on: [first] });
      return { reasoning: "dear", steps: [first, paid] };
    });
    const costing = defineCapability({
      intentType: "Shop.Cost",
      version: "1.0",
      input: z.looseObject({}),
      operators: [take],
      plan: ({ step }) => ({
        reasoning: "cost",
        steps: [step({ step_id: "cost", name: "Cost", operator: "Shop.Take", params: {}, estimated_cost: 2 })],
      }),
    });
    await using t = await createTestKernel({ capabilities: [dear, costing] });
    const state = await t.run("Shop.Order");
    expect(state.spent).toBe(3);
    expect((await t.kernel.workflow(await childOf(t, state.workflow_id))).spent).toBe(3);
  });
});
