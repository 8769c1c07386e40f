/**
 * Planners that throw, never end, or propose what cannot be done: the workflow fails with a code before any step runs.
 */

import { describe, expect, it } from "vitest";
import type { ExecutionPlan } from "../../src/contract/plan.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import type { Planner, PlannerAnswer } from "../../src/ports/planner.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { endOf, expectAlive, expectOnly, neighbour, never, openKernel, throws } from "./fixture.ts";

const usage = { total_cost: 0 };
const planOf = (steps: unknown) => ({ reasoning: "because", steps: steps as never[] });
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;
const act = (id: string, rest: object = {}) => ({ ...step(id, "Test.Act"), ...rest });

const plans: readonly (readonly [string, unknown, string])[] = [
  ["null", null, "T3_PLAN_INVALID"],
  ["a text", "do it", "T3_PLAN_INVALID"],
  ["no steps", { reasoning: "" }, "T3_PLAN_INVALID"],
  ["no reasoning", { steps: [act("s1")] }, "T3_PLAN_INVALID"],
  ["steps that are no list", planOf({ s1: 1 }), "T3_PLAN_INVALID"],
  ["a step that is null", planOf([null]), "T3_PLAN_INVALID"],
  ["a step without an operator", planOf([{ step_id: "s1", name: "x" }]), "T3_PLAN_INVALID"],
  ["a step id that is none", planOf([act("../s1")]), "T3_PLAN_INVALID"],
  ["two steps of one id", planOf([act("s1"), act("s1")]), "T3_PLAN_INVALID"],
  ["a negative cost", planOf([act("s1", { estimated_cost: -1 })]), "T3_PLAN_INVALID"],
  ["a cost that is no number", planOf([act("s1", { estimated_cost: Number.NaN })]), "T3_PLAN_INVALID"],
  ["params that are a list", planOf([act("s1", { params: [1] })]), "T3_PLAN_INVALID"],
  ["params with a cycle", planOf([act("s1", { params: cyclic })]), "T3_PLAN_INVALID"],
  ["params with a bigint", planOf([act("s1", { params: { n: 1n } })]), "T3_PLAN_INVALID"],
  ["params with a function", planOf([act("s1", { params: { f: () => 1 } })]), "T3_PLAN_INVALID"],
  ["params without end", planOf([act("s1", { params: { n: Number.POSITIVE_INFINITY } })]), "T3_PLAN_INVALID"],
  ["an empty list of steps", planOf([]), "T3_PLAN_EMPTY"],
  ["an unknown operator", planOf([step("s1", "Test.Nobody")]), "T3_PLAN_UNKNOWN_OPERATOR"],
  ["an unknown version", planOf([act("s1", { operator_version: "9.9" })]), "T3_PLAN_UNKNOWN_OPERATOR"],
  ["an operator called as a prototype member", planOf([step("s1", "constructor")]), "T3_PLAN_UNKNOWN_OPERATOR"],
  ["an operator of another package", planOf([step("s1", "Test.Neighbour")]), "T3_PLAN_OPERATOR_NOT_ALLOWED"],
  ["an unknown dependency", planOf([act("s1", { depends_on: ["s9"] })]), "T3_DAG_COMPILE_UNRESOLVED_DEPS"],
  ["a step that applies an unknown one", planOf([act("s1", { applies: "s9" })]), "T3_DAG_COMPILE_UNRESOLVED_DEPS"],
  ["a step that waits for itself", planOf([act("s1", { depends_on: ["s1"] })]), "T2_DECOMPOSE_CYCLE_DETECTED"],
  [
    "a cycle of three",
    planOf([act("a", { depends_on: ["c"] }), act("b", { depends_on: ["a"] }), act("c", { depends_on: ["b"] })]),
    "T2_DECOMPOSE_CYCLE_DETECTED",
  ],
];

const plannerOf = (plan: Planner["plan"]): Planner => ({
  plan: (question) =>
    question.intent.type === "Test.Neighbour"
      ? { plan: question.capability.plan as unknown as ExecutionPlan, usage }
      : plan(question),
});

/** A kernel whose planner answers so for the job; the neighbour is planned as ever. */
async function openPlanned(plan: Planner["plan"]) {
  const world = createWorld();
  const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act")])];
  const t = await openKernel({ capabilities, planner: plannerOf(plan) });
  return { t, world };
}

describe("a plan", () => {
  it.each(plans)(
    "with %s fails the workflow before any step, by name, and says so in the ledger",
    async (_what, plan, code) => {
      const { t, world } = await openPlanned(() => ({ plan, usage }) as PlannerAnswer);
      await using _ = t;
      const { workflow_id: id } = await endOf(t, code);
      expect(world.calls).toEqual([]);
      const types = await t.types(id);
      expect(types).toContain("PLAN_REJECTED");
      expect(types.filter((type) => type.startsWith("STEP_"))).toEqual([]);
      await expectAlive(t);
      await expectOnly(t, ["failed", "completed"]);
    },
  );

  it("[PLN-08] that names an operator nobody registered fails planning before any step runs", async () => {
    const { t, world } = await openPlanned(() => ({ plan: planOf([act("s1"), step("s2", "Test.Nobody")]), usage }));
    await using _ = t;
    const { plan, steps, error } = await endOf(t, "T3_PLAN_UNKNOWN_OPERATOR");
    expect({ plan, steps }).toEqual({ plan: null, steps: [] });
    expect(error?.message).toContain("Test.Nobody");
    expect(world.calls).toEqual([]);
  });

  it("of a thousand steps is cut to the limit, and the dropped ones are named", async () => {
    const many = Array.from({ length: 1000 }, (_, i) => act(`s${i}`));
    const { t, world } = await openPlanned(() => ({ plan: planOf(many), usage }) as PlannerAnswer);
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(10);
    await expectAlive(t);
  });
});

const planners: readonly (readonly [string, Planner["plan"], string])[] = [
  ["throws an error", throws(new Error("no idea")), "T3_PLANNER_FAILED"],
  ["throws a text", throws("no idea"), "T3_PLANNER_FAILED"],
  ["throws nothing at all", throws(undefined), "T3_PLANNER_FAILED"],
  ["throws what cannot be shown", throws(cyclic), "T3_PLANNER_FAILED"],
  ["rejects", () => Promise.reject(new Error("no idea")), "T3_PLANNER_FAILED"],
  ["never ends", never, "T3_PLANNER_TIMEOUT"],
  ["answers nothing", () => undefined as never, "T3_PLAN_INVALID"],
  ["states no cost", () => ({ plan: planOf([act("s1")]) }) as never, "T3_PLAN_INVALID"],
  [
    "states a cost without end",
    () => ({ plan: planOf([act("s1")]), usage: { total_cost: Infinity } }) as never,
    "T3_PLAN_INVALID",
  ],
];

describe("a planner", () => {
  it.each(planners)(
    "that %s fails the workflow as a coded error; others are served meanwhile",
    async (_what, plan, code) => {
      const { t, world } = await openPlanned(plan);
      await using _ = t;
      const hurt = await t.submit("Test.Job");
      await t.clock.settle();
      const id = await t.submit("Test.Neighbour");
      await t.clock.settle();
      expect((await t.kernel.workflow(id)).state).toBe("completed");
      const state = await t.rest(hurt);
      expect(state).toMatchObject({ state: "failed", error: { code } });
      expect(world.calls).toEqual([]);
      await expectAlive(t);
    },
  );

  it("that answers with a thenable which is no promise is understood", async () => {
    const answer = { plan: planOf([act("s1")]), usage };
    // biome-ignore lint/suspicious/noThenProperty: what a query builder returns has one
    const thenable = { then: (resolve: (value: unknown) => void) => void resolve(answer) };
    const { t, world } = await openPlanned(() => thenable as never);
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
  });

  it("that never ends does not keep the kernel from stopping", async () => {
    const { t } = await openPlanned(never);
    await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.stop({ drainMs: 0 });
    expect(t.clock.pending()).toBeLessThan(10);
  });

  it("that throws in a later round fails the workflow, and what was done stays done", async () => {
    const world = createWorld();
    const breaks = work(world, "Test.Break", { run: throws(operatorError({ code: "BROKEN", message: "broken" })) });
    const planner = plannerOf(({ situation }) => {
      if (situation.round > 0) throw new Error("no idea");
      return { plan: planOf([act("s1"), step("s2", "Test.Break", { depends_on: ["s1"] })]), usage } as PlannerAnswer;
    });
    await using t = await openKernel({
      capabilities: [job([step("s1", "Test.Act")], [work(world, "Test.Act"), breaks])],
      planner,
    });
    const state = await endOf(t, "T3_PLANNER_FAILED");
    expect(state.steps.map((s) => s.state)).toEqual(["succeeded", "failed"]);
    await expectAlive(t);
  });

  it("may be a plan function of the package that throws or never ends", async () => {
    for (const [plan, code] of [
      [throws(new Error("no")), "T3_PLANNER_FAILED"],
      [never, "T3_PLANNER_TIMEOUT"],
    ] as const) {
      await using t = await openKernel({ capabilities: [{ ...neighbour, intentType: "Test.Job", plan }] });
      await endOf(t, code);
      await expectAlive(t);
    }
  });
});
