/** Steps that run another capability as a child workflow: what they give, and how they fail. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type LedgerEvent, settled } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { broken, calls, childOf, fresh, order, pay, replaysAlike, running, shop, take } from "./shop-children.ts";

describe("a step that runs a child", () => {
  it("parks until the child has ended, and gives its text, its last result and its outcome", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const state = await t.run("Shop.Order");
    const child = await childOf(t, state.workflow_id);
    expect(state).toMatchObject({ state: "completed", parent: null });
    expect(calls).toEqual(["reserve", "book", "ship"]);
    const events: LedgerEvent[] = [];
    for await (const event of t.kernel.events(state.workflow_id, { live: false })) events.push(event);
    const output = events.find(({ event_type }) => event_type === "STEP_SUCCEEDED")?.payload["output"];
    const booked = { taken: "book", sum: 5 };
    expect(output).toMatchObject({ workflow_id: child, result: booked, outcome: booked });
    expect(await t.kernel.workflow(child)).toMatchObject({
      state: "completed",
      intent: { type: "Shop.Pay", version: "1.0", actor: testCaller.principal },
      parent: { workflow_id: state.workflow_id, step_id: "pay", above: [], spent: 0 },
      correlation_id: state.correlation_id,
    });
    await replaysAlike(t, state.workflow_id, child);
  });

  it.each([
    ["an unknown capability", { intent: "Shop.Nobody" }, "runs Shop.Nobody, which is not registered"],
    ["an unknown version", { intent: "Shop.Pay@7.0" }, "runs Shop.Pay@7.0, which is not registered"],
    ["inputs that the capability refuses", { intent: "Shop.Pay", inputs: { sum: "much" } }, "inputs of Shop.Pay"],
    ["no intent type", { intent: "pay" }, "must be an intent type"],
    ["a key that there is not", { intent: "Shop.Pay", inputs: { sum: 1 }, detach: true }, "there is no such key"],
  ])("refuses a plan with %s", async (_what, params, problem) => {
    fresh();
    await using t = await createTestKernel({ capabilities: [running(params), pay] });
    const { state, error } = await t.run("Shop.Order");
    expect({ state, code: error?.code }).toEqual({ state: "failed", code: "T3_PLAN_INVALID" });
    expect(error?.message).toContain(problem);
  });

  it("fixes the version of the capability in its plan", async () => {
    fresh();
    await using t = await createTestKernel({
      capabilities: [running({ intent: "Shop.Pay", inputs: { sum: 1 } }), pay],
    });
    const { plan } = await t.run("Shop.Order");
    expect(plan?.steps[0]?.params).toMatchObject({ intent: "Shop.Pay@1.0" });
  });

  it("fails with the error of its child as cause, and is not planned again", async () => {
    fresh();
    broken.add("book");
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const state = await t.run("Shop.Order");
    const child = await childOf(t, state.workflow_id);
    expect(state.state).toBe("failed");
    expect(state.error).toMatchObject({
      code: "T4_CHILD_FAILED",
      detail: { workflow_id: child, state: "failed", code: "T4_OPERATOR_BUG" },
      cause: { code: "T4_OPERATOR_BUG" },
    });
    expect((await t.kernel.workflows({})).length).toBe(2);
    await replaysAlike(t, state.workflow_id, child);
  });

  it("retries its failed child and waits for it again, when its workflow is retried", async () => {
    fresh();
    broken.add("book");
    await using t = await createTestKernel({ capabilities: [order, pay], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run("Shop.Order");
    const child = await childOf(t, workflow_id);
    broken.clear();
    calls.length = 0;
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "resume_failed_steps" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["book", "ship"]);
    expect(await childOf(t, workflow_id)).toBe(child);
    expect((await t.kernel.workflows({})).length).toBe(2);
    await replaysAlike(t, workflow_id, child);
  });

  it("goes on with a child that somebody has retried meanwhile, and calls nothing of it again", async () => {
    fresh();
    broken.add("book");
    await using t = await createTestKernel({ capabilities: [order, pay], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run("Shop.Order");
    const child = await childOf(t, workflow_id);
    broken.clear();
    calls.length = 0;
    await t.kernel.retry(child, { ...testCaller, mode: "resume_failed_steps" });
    expect((await t.rest(child)).state).toBe("completed");
    expect((await t.kernel.workflow(workflow_id)).state).toBe("failed");
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "resume_failed_steps" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["book", "ship"]);
    await replaysAlike(t, workflow_id, child);
  });

  it("fails when its child is cancelled, and begins another child when it is retried", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [order, pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    const child = await childOf(t, id);
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "waiting", gates: [] });
    await t.kernel.cancel(child, { ...testCaller, reason: "not today" });
    const state = await t.rest(id);
    expect(state.state).toBe("failed");
    expect(state.error).toMatchObject({ code: "T4_CHILD_CANCELLED", detail: { workflow_id: child } });
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    await t.clock.settle();
    const second = await childOf(t, id);
    expect(second).not.toBe(child);
    await t.approve(second);
    expect((await t.rest(id)).state).toBe("completed");
    await replaysAlike(t, id, child, second);
  });

  it("is refused with a child whose gate a person rejected: nothing goes on from that", async () => {
    fresh();
    const joined = shop(({ step, run }) => {
      const paid = run({ step_id: "pay", name: "Pay", capability: pay, input: { sum: 5, asks: true } });
      const told = step({
        step_id: "tell",
        name: "Tell",
        operator: "Shop.Take",
        params: {},
        depends_on: [settled(paid)],
      });
      return { reasoning: "joined", steps: [paid, told] };
    });
    await using t = await createTestKernel({ capabilities: [joined, pay] });
    const id = await t.submit("Shop.Order");
    await t.clock.settle();
    await t.reject(await childOf(t, id));
    const { state, error } = await t.rest(id);
    expect({ state, code: error?.code, cause: error?.cause?.code }).toEqual({
      state: "failed",
      code: "T4_CHILD_FAILED",
      cause: "T5_HUMAN_DENIED",
    });
  });

  it("is answered for by a step that waits for any end of it", async () => {
    fresh();
    broken.add("book");
    const joined = shop(({ step, run }) => {
      const paid = run({ step_id: "pay", name: "Pay", capability: pay, input: { sum: 5 } });
      const told = step({
        step_id: "tell",
        name: "Tell",
        operator: "Shop.Take",
        params: {},
        depends_on: [settled(paid)],
      });
      return { reasoning: "joined", steps: [paid, told] };
    });
    await using t = await createTestKernel({ capabilities: [joined, pay], limits: { maxReplans: 0 } });
    expect((await t.run("Shop.Order")).state).toBe("completed");
    expect(calls).toEqual(["reserve", "book", "tell"]);
  });

  it("gives the id of a detached child once that is accepted, and is not waited for by it", async () => {
    fresh();
    const begins = shop(({ step, run }) => {
      const paid = run({ step_id: "pay", name: "Pay", capability: pay, input: { sum: 5, asks: true }, detached: true });
      const params = { begun: paid.output.workflow_id };
      return {
        reasoning: "begins",
        steps: [paid, step({ step_id: "tell", name: "Tell", operator: "Shop.Take", params })],
      };
    });
    await using t = await createTestKernel({ capabilities: [begins, pay] });
    const state = await t.run("Shop.Order");
    const child = await childOf(t, state.workflow_id);
    expect(state.state).toBe("completed");
    expect((await t.kernel.workflow(child)).state).toBe("waiting_for_user");
    await t.approve(child);
    expect((await t.rest(child)).state).toBe("completed");
    await replaysAlike(t, state.workflow_id, child);
  });

  it("finds the child that it has begun, if its process dies before it parks", async () => {
    fresh();
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [order, pay], ledger, owner: "one" });
    const id = await first.submit("Shop.Order", { asks: true });
    await first.clock.settle();
    await first[Symbol.asyncDispose]();
    await using t = await createTestKernel({ capabilities: [order, pay], ledger, owner: "two", seed: 2 });
    await t.approve(await childOf(t, id));
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["reserve", "book", "ship"]);
  });
});

describe("a capability that runs itself", () => {
  const nested = (depth: object) =>
    defineCapability({
      intentType: "Shop.Nest",
      version: "1.0",
      input: z.looseObject({}),
      operators: [take],
      plan: () => ({
        reasoning: "deeper",
        steps: [{ step_id: "down", name: "Down", kind: "run", params: { intent: "Shop.Nest", ...depth } }],
      }),
    });

  it("is refused below limits.maxChildDepth levels with its own code, and each level fails by its child", async () => {
    await using t = await createTestKernel({ capabilities: [nested({})], limits: { maxChildDepth: 3, maxReplans: 0 } });
    const state = await t.run("Shop.Nest");
    const codes: string[] = [];
    for (let at = state.error; at !== null; at = at.cause) codes.push(at.code);
    expect(codes).toEqual(["T4_CHILD_FAILED", "T4_CHILD_FAILED", "T4_CHILD_FAILED", "T4_CHILD_TOO_DEEP"]);
    const all = await t.kernel.workflows({});
    expect(all).toHaveLength(4);
    const depths = await Promise.all(
      all.map(async (one) => (await t.kernel.workflow(one.workflow_id)).parent?.above.length),
    );
    expect(depths.toSorted()).toEqual([0, 1, 2, undefined]);
  });
});
