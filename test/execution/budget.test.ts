// The request budget: where it is asked and charged, that it only rises, and what a breach does (seed 002 section 13;
// Its limit is abstract cost units.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Planner } from "../../src/index.ts";
import { createBudgetAccount, defineCapability, errorToProblemDetails, KernelErrorException } from "../../src/index.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { anyObject, flow, intent, named, payloads, skill, step } from "./flow.ts";

const act = skill("Probe.Act", () => "done");
const costing = (stepId: string, estimated_cost: number, ...depends_on: string[]) =>
  step(stepId, "Probe.Act", { estimated_cost, depends_on });

const chain = [costing("s1", 1), costing("s2", 2, "s1"), costing("s3", 4, "s2"), costing("s4", 8, "s3")];

/** A planner that plans these steps and says what planning cost. */
const planner = (steps: typeof chain, total_cost: number): Planner => ({
  plan: () => ({ plan: { reasoning: "as the test asks", steps }, usage: { total_cost } }),
});

describe("the four points", () => {
  it("[BUD-01] are before planning, before each node, after each step, and the planner's usage", async () => {
    const steps = [costing("s1", 3), costing("s2", 5, "s1")];
    await using t = await createTestKernel({ capabilities: [flow([act], steps)], planner: planner(steps, 0.01) });
    const state = await t.run(intent);
    const wanted = [
      "policy.check_budget",
      "plan.create",
      "policy.record_cost",
      "policy.budget_check",
      "skill.execute",
      "policy.record_step_cost",
    ];
    expect(t.marks.map((m) => m.stage).filter((stage) => wanted.includes(stage))).toEqual([
      "policy.check_budget",
      "plan.create",
      "policy.record_cost",
      ...["policy.budget_check", "skill.execute", "policy.record_step_cost"],
      ...["policy.budget_check", "skill.execute", "policy.record_step_cost"],
    ]);
    expect(named(t, "policy.record_cost", "total_cost")).toEqual([0.01]);
    expect(named(t, "policy.budget_check", "step_id")).toEqual(["s1", "s2"]);
    const recorded = t.marks.filter((m) => m.stage === "policy.record_step_cost");
    expect(recorded.map((m) => [m["step_id"], m["skill"], m["estimated_cost"]])).toEqual([
      ["s1", "Probe.Act", 3],
      ["s2", "Probe.Act", 5],
    ]);
    expect(state.spent).toBeCloseTo(8.01, 10);
  });
});

describe("what is spent", () => {
  it("[BUD-02] 1, 2 and -1: the total is 3 and the last is an input error", () => {
    const account = createBudgetAccount(null);
    expect(account.recordStepCost("s1", "Probe.Act", 1)).toBe(1);
    expect(account.recordCost(2)).toBe(3);
    for (const record of [() => account.recordCost(-1), () => account.recordStepCost("s2", "Probe.Act", -1)])
      expect(record).toThrow(expect.objectContaining({ error: expect.objectContaining({ category: "input" }) }));
    expect(account.spent()).toBe(3);
  });

  it("[BUD-02] spent never decreases, whatever is recorded", () => {
    fc.assert(
      fc.property(fc.array(fc.double()), fc.double({ min: 0, noNaN: true }), (costs, limit) => {
        const account = createBudgetAccount(limit);
        for (const cost of costs) {
          const before = account.spent();
          try {
            account.recordCost(cost);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(KernelErrorException);
            expect(account.spent()).toBe(before);
          }
          expect(account.spent()).toBeGreaterThanOrEqual(before);
        }
        expect(account.checkBudget() === null).toBe(account.spent() < limit);
      }),
    );
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "1"])(
    "[BUD-02] a planner that says it cost %s is refused, and charges nothing",
    async (cost) => {
      await using t = await createTestKernel({
        capabilities: [flow([act], chain)],
        planner: planner(chain, cost as number),
      });
      const state = await t.run(intent);
      expect(state).toMatchObject({ state: "failed", spent: 0 });
      expect(named(t, "skill.execute", "step_id")).toEqual([]);
    },
  );

  it("[BUD-02] neither a plan nor an operator can have a negative cost", async () => {
    const steps = [costing("s1", -1)];
    await using t = await createTestKernel({ capabilities: [flow([act], steps)] });
    expect(await t.run(intent)).toMatchObject({ state: "failed", spent: 0, error: { code: "T3_PLAN_INVALID" } });
    expect(() => skill("Probe.Cheap", () => 1, { estimatedCost: -1 })).toThrow(KernelErrorException);
  });
});

describe("a breach", () => {
  it("[BUD-03] stops scheduling: unstarted steps are skipped, nothing is replanned, the run is blocked", async () => {
    await using t = await createTestKernel({ capabilities: [flow([act], chain)], budgets: { maxCost: 3 } });
    const state = await t.run(intent);
    expect(state).toMatchObject({ state: "failed", status: "blocked", spent: 3, error: { category: "resource" } });
    expect(state.response.status).toBe("blocked");
    expect(state.steps.map((s) => [s.step_id, s.state, s.skip_reason])).toEqual([
      ["s1", "succeeded", null],
      ["s2", "succeeded", null],
      ["s3", "skipped", "budget"],
      ["s4", "skipped", "budget"],
    ]);
    expect(named(t, "plan.create")).toHaveLength(1);
    expect(await payloads(t, state.workflow_id, "PLAN_CREATED")).toHaveLength(1);
    expect(await payloads(t, state.workflow_id, "BUDGET_REFUSED")).toHaveLength(1);
  });

  it("[BUD-03] a step that is running when the budget is spent ends; only then the run does", async () => {
    const answer = Promise.withResolvers<string>();
    const slow = skill("Probe.Slow", () => answer.promise);
    const steps = [costing("s1", 5), step("s2", "Probe.Slow"), costing("s3", 1, "s1")];
    await using t = await createTestKernel({ capabilities: [flow([act, slow], steps)], budgets: { maxCost: 5 } });
    const workflowId = await t.submit(intent);
    await t.clock.settle();
    expect((await t.kernel.workflow(workflowId)).state).toBe("running");
    answer.resolve("done");
    const state = await t.rest(workflowId);
    expect(state.steps.map((s) => s.state)).toEqual(["succeeded", "succeeded", "skipped"]);
    expect(state).toMatchObject({ status: "blocked", error: { code: "T5_BUDGET_EXHAUSTED" } });
  });

  it("[BUD-03] a step makes no call after its gate if the budget is spent, and calls once it grows", async () => {
    const called: string[] = [];
    const gated = skill("Probe.Gated", () => called.push("s1"), { retry: "NONE" });
    const steps = [step("s1", "Probe.Gated", { gate: { reason: "look" }, estimated_cost: 6 }), costing("s2", 12)];
    const ledger = memoryLedger();
    const options = { capabilities: [flow([act, gated], steps)], ledger };
    const t = await createTestKernel({ ...options, budgets: { maxCost: 10 } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("waiting_for_user");
    await t.approve(workflow_id, "gate-s1");
    expect(await t.rest(workflow_id)).toMatchObject({
      state: "failed",
      spent: 12,
      error: { code: "T5_BUDGET_EXHAUSTED" },
    });
    expect(called).toEqual([]);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
    await t.kernel.stop({ drainMs: 0 });
    await using again = await createTestKernel({ ...options, budgets: { maxCost: 20 }, seed: 2 });
    await again.kernel.retry(workflow_id, { ...testCaller, mode: "resume_failed_steps" });
    expect(await again.rest(workflow_id)).toMatchObject({ state: "completed", spent: 18 });
    expect(called).toEqual(["s1"]);
  });

  it("[BUD-03] a step that fails with nothing left to spend is not replanned", async () => {
    const broken = skill(
      "Probe.Broken",
      () => {
        throw new Error("broken");
      },
      { retry: "NONE" },
    );
    const steps = [costing("s1", 5), step("s2", "Probe.Broken", { depends_on: [] })];
    await using t = await createTestKernel({
      capabilities: [flow([act, broken], steps)],
      budgets: { maxCost: 5 },
      limits: { maxConcurrentSteps: 2 },
    });
    const state = await t.run(intent);
    expect(state.state).toBe("failed");
    expect(await payloads(t, state.workflow_id, "PLAN_CREATED")).toHaveLength(1);
  });

  it("[BUD-03] with nothing to spend from the start the planner is not asked", async () => {
    const asked: unknown[] = [];
    const capability = defineCapability({
      intentType: intent,
      version: "1.0",
      input: anyObject,
      operators: [act],
      plan: () => {
        asked.push(1);
        return { reasoning: "none", steps: chain };
      },
    });
    await using t = await createTestKernel({ capabilities: [capability], budgets: { maxCost: 0 } });
    expect(await t.run(intent)).toMatchObject({ state: "failed", status: "blocked" });
    expect(asked).toEqual([]);
  });

  it("[BUD-03] the step that reaches the limit is the last; a plan that ends there completes", async () => {
    const steps = [costing("s1", 1), costing("s2", 9, "s1")];
    await using t = await createTestKernel({ capabilities: [flow([act], steps)], budgets: { maxCost: 2 } });
    expect(await t.run(intent)).toMatchObject({ state: "completed", spent: 10 });
  });

  it("[BUD-04] is T5_BUDGET_EXHAUSTED, resource, fatal, and 429 over HTTP", async () => {
    await using t = await createTestKernel({ capabilities: [flow([act], chain)], budgets: { maxCost: 1 } });
    const { error, workflow_id } = await t.run(intent);
    expect(error).toMatchObject({
      code: "T5_BUDGET_EXHAUSTED",
      category: "resource",
      severity: "fatal",
      retry_eligible: false,
      detail: { limit: 1, spent: 1 },
    });
    expect(errorToProblemDetails(error as NonNullable<typeof error>)).toMatchObject({ status: 429 });
    expect((await t.kernel.trace(workflow_id)).error).toEqual(error);
  });
});
