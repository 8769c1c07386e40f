/**
 * Planning (seed 002 section 3, seed 003 sections 2.4, 5.4): what a planner may answer, what the compiler makes of it,
 * and what never becomes a plan.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { templatePlanner } from "../../src/adapters/template-planner.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import {
  type CapabilityDefinition,
  createDataSignal,
  ExecutionPlan,
  generateId,
  Plan,
  type Planner,
  PlanStep,
  type Signal,
} from "../../src/index.ts";
import { folderInventory, projectHandover, releaseNotes } from "../../src/packages/capabilities/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { type Counted, counted, eventsOf, intentType, ofType, oneStep, packageOf, planStep, ruleOf } from "./parts.ts";

const write = (): Counted => counted("Notes.Write");
const chain = (operator: Counted, length: number): PlanStepDraft[] =>
  Array.from({ length }, (_, i) => planStep(`s${i + 1}`, operator, { depends_on: i === 0 ? [] : [`s${i}`] }));

/** A planner that answers with whatever it is given, and counts. */
function planning(plan: unknown, total_cost = 0): Planner & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    plan: () => {
      asked += 1;
      return { plan: plan as ExecutionPlan, usage: { total_cost } };
    },
  };
}

async function failedPlan(steps: readonly PlanStepDraft[], operators: readonly Counted[]) {
  const t = await createTestKernel({
    capabilities: [packageOf(operators, [])],
    planner: planning({ reasoning: "", steps }),
  });
  await using _closed = t;
  const state = await t.run(intentType);
  return { state, events: await eventsOf(t, state.workflow_id) };
}

describe("what a planner answers", () => {
  it("[PLN-01] has steps, reasoning and direct_response, which is null where it says none", () => {
    const plan = { steps: [planStep("s1", write())], reasoning: "because" };
    expect(ExecutionPlan.parse(plan)).toMatchObject({ ...plan, direct_response: null });
    expect(ExecutionPlan.safeParse({ steps: plan.steps }).success).toBe(false);
    expect(ExecutionPlan.safeParse({ reasoning: "because" }).success).toBe(false);
    expect(ExecutionPlan.safeParse({ ...plan, direct_response: 5 }).success).toBe(false);
  });

  it("[PLN-01] without reasoning is no plan: nothing runs", async () => {
    const operator = write();
    const planner = planning({ steps: [planStep("s1", operator)] });
    await using t = await createTestKernel({ capabilities: [oneStep(operator)], planner });
    expect((await t.run(intentType)).error?.code).toBe("T3_PLAN_INVALID");
    expect(operator.calls).toEqual([]);
  });

  it("[PLN-02] a direct response is returned without any operator of the package, and is on record", async () => {
    const operator = write();
    const planner = planning({ steps: [planStep("s1", operator)], reasoning: "", direct_response: "It rains." });
    await using t = await createTestKernel({ capabilities: [oneStep(operator)], planner });
    const state = await t.run(intentType);
    expect(state).toMatchObject({ state: "completed", response: { text: "It rains." } });
    expect(operator.calls).toEqual([]);
    expect(state.steps.map((s) => [s.step_id, s.operator, s.state])).toEqual([
      ["respond", "Kernel.Respond", "succeeded"],
    ]);
    expect(state.spent).toBe(0);
    const [planned] = ofType(await eventsOf(t, state.workflow_id), "PLAN_CREATED");
    expect(planned?.payload["plan"]).toMatchObject({
      steps: [{ outcome: "Response", outputs: ["text"], effect: "none", gate: null }],
    });
    const types = await t.types(state.workflow_id);
    for (const type of ["INTENT_RECEIVED", "PLAN_CREATED", "OUTCOME_DRAFTED", "ACTION_SUCCEEDED", "WORKFLOW_COMPLETED"])
      expect(types.filter((at) => at === type)).toHaveLength(1);
  });

  it("[PLN-02] a direct response does not enter the DAG executor", async () => {
    const planner = planning({ steps: [], reasoning: "", direct_response: "It rains." });
    await using t = await createTestKernel({ capabilities: [oneStep(write())], planner });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(t.marks.filter((m) => m.stage === "dag.run")).toEqual([]);
  });

  it("each step of a plan has a kind: respond for a direct response, else call, which rows leave out", async () => {
    const kinds = async (plan: object) => {
      await using t = await createTestKernel({ capabilities: [oneStep(write())], planner: planning(plan) });
      const { workflow_id } = await t.run(intentType);
      const [planned] = ofType(await eventsOf(t, workflow_id), "PLAN_CREATED");
      const stored = (await Array.fromAsync(t.kernel.export(workflow_id))).map((row) => JSON.stringify(row)).join();
      const { steps } = planned!.payload["plan"] as Plan;
      return { kinds: steps.map(({ kind }) => kind), stands: /kind\W+(call|respond)/.exec(stored)?.[1] ?? null };
    };
    expect(await kinds({ steps: [], reasoning: "", direct_response: "It rains." })).toEqual({
      kinds: ["respond"],
      stands: "respond",
    });
    expect(await kinds({ steps: chain(write(), 2), reasoning: "" })).toEqual({ kinds: ["call", "call"], stands: null });
  });

  it("[PLN-03] neither steps nor a direct response end as empty_plan", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(write())],
      planner: planning({ steps: [], reasoning: "nothing to do" }),
    });
    const state = await t.run(intentType);
    expect(state).toMatchObject({ state: "failed", steps: [], response: { status: "empty_plan" } });
    expect(state.error?.code).toBe("T3_PLAN_EMPTY");
    expect((await t.kernel.trace(state.workflow_id)).status).toBe("empty_plan");
    const types = await t.types(state.workflow_id);
    expect(types.filter((type) => type.startsWith("STEP_"))).toEqual([]);
    expect(types.at(-1)).toBe("WORKFLOW_FAILED");
  });

  it("[PLN-04] of 13 steps the first ten run; the events name the three that were cut", async () => {
    const operator = write();
    const planner = planning({ steps: chain(operator, 13), reasoning: "long" });
    await using t = await createTestKernel({ capabilities: [oneStep(operator)], planner });
    const state = await t.run(intentType);
    const events = await eventsOf(t, state.workflow_id);
    expect(state).toMatchObject({ state: "completed", error: null });
    expect(operator.calls.map((c) => c.context.step_id)).toEqual(chain(operator, 10).map((s) => s.step_id));
    const dropped = ["s11", "s12", "s13"];
    const warning = {
      code: "T3_PLAN_TRUNCATED",
      severity: "degraded",
      detail: { limit: "maxSteps", maxSteps: 10, dropped },
    };
    expect(ofType(events, "PLAN_TRUNCATED")[0]?.payload).toMatchObject({ kept: 10, dropped, warning });
    expect(state.warnings).toMatchObject([warning]);
    expect((await t.kernel.replay(state.workflow_id)).difference).toBeNull();
    expect(ofType(events, "STEP_SKIPPED").map((e) => [e.step_id, e.payload["reason"]])).toEqual([
      ["s11", "max_steps"],
      ["s12", "max_steps"],
      ["s13", "max_steps"],
    ]);
  });

  it("[PLN-04] a plan of the package's own code is never cut: too many steps are refused with the limit", async () => {
    const operator = write();
    const own = (count: number) => ({
      ...oneStep(operator),
      plan: () => ({ steps: chain(operator, count), reasoning: "long" }),
    });
    for (const [count, maxSteps] of [
      [11, 10],
      [30, 10],
      [3, 2],
    ] as const) {
      await using t = await createTestKernel({ capabilities: [own(count)], limits: { maxSteps } });
      const state = await t.run(intentType);
      expect(state).toMatchObject({ state: "failed", steps: [], warnings: [] });
      expect(state.error).toMatchObject({
        code: "T3_PLAN_TOO_LONG",
        detail: { limit: "maxSteps", maxSteps, steps: count },
      });
      expect(state.error?.message).toContain("limits.maxSteps");
      expect(await t.types(state.workflow_id)).toContain("PLAN_REJECTED");
    }
    expect(operator.calls).toEqual([]);
    await using t = await createTestKernel({ capabilities: [own(30)], limits: { maxSteps: 30 } });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(operator.calls).toHaveLength(30);
  });

  it("[PLN-05] with the budget spent the planner is not asked", async () => {
    const operator = write();
    const planner = planning({ steps: chain(operator, 1), reasoning: "" });
    await using t = await createTestKernel({ capabilities: [oneStep(operator)], planner, budgets: { maxCost: 0 } });
    const state = await t.run(intentType);
    expect(planner.asked()).toBe(0);
    expect(state).toMatchObject({ status: "blocked", plan: null, error: { code: "T5_BUDGET_EXHAUSTED" } });
  });
});

describe("what the compiler states", () => {
  const bare = { step_id: "s1", name: "Send it", operator: "Notes.Send", params: { text: "wet" } };
  const send = (): Counted =>
    counted("Notes.Send", { policyTags: ["external_send"], riskLevel: "high", outputs: ["receipt"], version: "2.1" });

  it("[PLN-06] policy tags, risk, outputs, version and idempotency default to those of the operator", async () => {
    await using t = await createTestKernel({ capabilities: [packageOf([send()], [bare])] });
    const { plan } = await t.run(intentType);
    expect(plan?.steps[0]).toMatchObject({
      ...bare,
      operator_version: "2.1",
      policy_tags: ["external_send"],
      risk_level: "high",
      outputs: ["receipt"],
      idempotency: { strategy: "inputs" },
    });
  });

  it.each(["name", "operator", "params", "outputs", "policy_tags", "risk_level", "idempotency"])(
    "[PLN-06] a compiled step without %s is none",
    async (field) => {
      await using t = await createTestKernel({ capabilities: [packageOf([send()], [bare])] });
      const step = (await t.run(intentType)).plan?.steps[0];
      expect(PlanStep.safeParse(step).success).toBe(true);
      expect(PlanStep.safeParse({ ...step, [field]: undefined }).success).toBe(false);
    },
  );

  it("[PLN-06] the plan lists its human gates", async () => {
    const operator = write();
    const steps = [
      planStep("s1", operator),
      planStep("s2", operator, { gate: { reason: "look" }, depends_on: ["s1"] }),
    ];
    await using t = await createTestKernel({ capabilities: [packageOf([operator], steps)] });
    const { plan } = await t.run(intentType);
    expect(Plan.parse(plan)).toEqual(plan);
    expect(plan?.gates).toEqual(["gate-s2"]);
    expect(Plan.safeParse({ ...plan, gates: undefined }).success).toBe(false);
  });

  it("[PLN-09] step ids and names are the same whenever the same intent is planned", async () => {
    const operator = write();
    await using t = await createTestKernel({ capabilities: [packageOf([operator], chain(operator, 4))] });
    const named = async () => (await t.run(intentType, { a: 1 })).plan?.steps.map((s) => [s.step_id, s.name]);
    const first = await named();
    expect(first).toHaveLength(4);
    expect(await named()).toEqual(first);
  });

  it("[PLN-09] two steps of one id are no plan", async () => {
    const operator = write();
    const { state } = await failedPlan([planStep("s1", operator), planStep("s1", operator)], [operator]);
    expect(state.error).toMatchObject({ code: "T3_PLAN_INVALID", detail: { step_id: "s1" } });
    expect(operator.calls).toEqual([]);
  });
});

describe("what never becomes a plan", () => {
  it("[PLN-08] a step whose operator is not registered", async () => {
    const operator = write();
    const steps = [planStep("s1", operator), { ...planStep("s2", operator), operator: "Notes.Nobody" }];
    const { state, events } = await failedPlan(steps, [operator]);
    expect(state.error).toMatchObject({ code: "T3_PLAN_UNKNOWN_OPERATOR", detail: { operator: "Notes.Nobody" } });
    expect(operator.calls).toEqual([]);
    expect(ofType(events, "PLAN_REJECTED")).toHaveLength(1);
    expect(events.filter((e) => e.event_type.startsWith("STEP_"))).toEqual([]);
  });

  it("[PLN-12] a circle: T2_DECOMPOSE_CYCLE_DETECTED, fatal, and it is named", async () => {
    const operator = write();
    const steps = [
      planStep("s1", operator),
      planStep("s2", operator, { depends_on: ["s3"] }),
      planStep("s3", operator, { depends_on: ["s2"] }),
    ];
    const { state, events } = await failedPlan(steps, [operator]);
    expect(state.error).toMatchObject({ code: "T2_DECOMPOSE_CYCLE_DETECTED", severity: "fatal" });
    expect(new Set(state.error?.detail["cycle"] as string[])).toEqual(new Set(["s2", "s3"]));
    expect(operator.calls).toEqual([]);
    expect(events.at(-1)?.event_type).toBe("WORKFLOW_FAILED");
  });

  it("[PLN-12] an unknown dependency: T3_DAG_COMPILE_UNRESOLVED_DEPS, fatal", async () => {
    const operator = write();
    const { state } = await failedPlan([planStep("s1", operator, { depends_on: ["s9"] })], [operator]);
    expect(state.error).toMatchObject({ code: "T3_DAG_COMPILE_UNRESOLVED_DEPS", severity: "fatal" });
    expect(operator.calls).toEqual([]);
  });

  it("[PLN-11] what policy denies at stage plan, by a tag of one of its steps", async () => {
    const first = write();
    const send = counted("Notes.Send", { policyTags: ["external_send"] });
    await using t = await createTestKernel({
      capabilities: [packageOf([first, send], [planStep("s1", first), planStep("s2", send)])],
      policies: [
        ruleOf(["plan"], ({ subject }) =>
          subject.tags.includes("external_send") ? { decision: "DENY", reason: "no plans that send" } : null,
        ),
      ],
    });
    const state = await t.run(intentType);
    const [decided] = ofType(await eventsOf(t, state.workflow_id), "POLICY_DECIDED");
    expect(state).toMatchObject({ state: "failed", status: "blocked", plan: null });
    expect(decided?.payload).toMatchObject({ stage: "plan", decision: "DENY", reason: "no plans that send" });
    expect([first.calls.length, send.calls.length]).toEqual([0, 0]);
  });
});

describe("planners", () => {
  const planners: readonly (readonly [string, (steps: readonly PlanStepDraft[]) => Planner | undefined])[] = [
    ["the default one", () => undefined],
    ["a stub", (steps) => planning({ steps, reasoning: "stub" })],
  ];

  it.each(planners)(
    "[PLN-07] %s: a plan runs in dependency order, through its gate, to its end",
    async (_who, make) => {
      const operator = write();
      const steps = chain(operator, 3).map((s) => (s.step_id === "s3" ? { ...s, gate: { reason: "look" } } : s));
      const planner = make(steps);
      await using t = await createTestKernel({
        capabilities: [packageOf([operator], planner === undefined ? steps : [])],
        ...(planner === undefined ? {} : { planner }),
      });
      const { workflow_id } = await t.run(intentType);
      await t.approve(workflow_id, "gate-s3");
      expect((await t.rest(workflow_id)).state).toBe("completed");
      expect(operator.calls.map((c) => c.context.step_id)).toEqual(["s1", "s2", "s3"]);
    },
  );

  it("[PLN-07] is handed the intent, the context and the authority", async () => {
    const seen: Parameters<Planner["plan"]>[0][] = [];
    const planner: Planner = {
      plan(question) {
        seen.push(question);
        return templatePlanner.plan(question);
      },
    };
    await using t = await createTestKernel({ capabilities: [oneStep(write())], planner });
    const { intent } = await t.run(intentType, { a: 1 });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ intent, auth: { principal_id: 1 }, context: { profile: { principal_id: 1 } } });
  });

  const samples: readonly (readonly [CapabilityDefinition, object])[] = [
    [releaseNotes, { repo: "/tmp/repo", out: "notes.md" }],
    [folderInventory, { folder: "/tmp/folder", out: "inventory.md" }],
    [projectHandover, { folder: "/tmp/repo" }],
  ];

  it.each(samples)("[PLN-10] the default one plans $intentType repeatably, without a model", async (pkg, inputs) => {
    await using t = await createTestKernel({ capabilities: [pkg] });
    const { plan: first } = await planOf(t, pkg, inputs);
    expect(first.steps.length).toBeGreaterThan(0);
    expect(z.array(PlanStep).safeParse(first.steps).success).toBe(true);
    expect((await planOf(t, pkg, inputs)).plan).toEqual(first);
  });
});

/** Asks T3 for the plan of an intent, and runs nothing. */
async function planOf(t: TestKernel, { intentType: type, version }: CapabilityDefinition, inputs: object) {
  const intent_id = fixedIntent;
  const intent = { intent_id, type, version, inputs, constraints: {}, context_refs: {}, text: "", scope: null };
  const data = {
    intent,
    auth: { tenant_id: 1, role: "user", scopes: [] },
    bundle: {},
    workflow_id: fixedWorkflow,
    plan_id: fixedPlan,
    parent_plan_id: null,
    used_step_ids: [],
    regenerate: { steps: [], draft_version: 1, kept: null },
    situation: { round: 0, completed: [], failed: [], objective: null },
  };
  const answer = await t.kernel.ask(3, createDataSignal(data, "PlanRequest", moduleRef(4, "test", "plan"), "cor_test"));
  expect(answer.error).toBeNull();
  return (answer.signals[0] as Signal).body["data"] as { readonly plan: Plan };
}

const [fixedIntent, fixedWorkflow, fixedPlan] = ["intent", "workflow", "plan"].map(generateId) as [
  string,
  string,
  string,
];
