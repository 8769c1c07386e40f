/**
 * Routing inside a kernel: an operator asks, T7 decides, the ledger keeps each decision beside the action it was for.
 */
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/fold.ts";
import { createKernel, type KernelErrorException, type LedgerEvent, operatorError } from "../../src/index.ts";
import { memoryLedger } from "../../src/testing/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { askData } from "../actors/fixture.ts";
import { flow, intent, oneStep, payloads, type SkillCall, skill, step } from "../execution/flow.ts";
import { postgresLike } from "../sim/postgres-like.ts";
import { endpoint } from "./model-fixture.ts";

const small = endpoint("small", { budget: { max_invocations: 1 } });
const large = endpoint("large", { deployment: "cloud", budget: { max_tokens: 100 } });

/** Asks for a model and says which it got; reports `tokens` as used. */
const ask =
  (tokens = 0, request: object = {}) =>
  async ({ route, usage }: SkillCall) => {
    const { endpoint: got } = await route(request);
    usage({ model: got.name, tokens: { in: tokens, out: 0, total: tokens }, cost: { total: tokens / 100 } });
    return got.name;
  };

const counters = ["small", "large"].map((name) => `endpoint:${JSON.stringify(name)}`);
const oneOf = (tokens: number, invocations = 1) => ({ invocations, tokens, money: tokens / 100, wall_ms: 0 });

const asking = (tokens?: number, request?: object) => skill("Probe.Ask", ask(tokens, request));
const chain = (count: number) =>
  Array.from({ length: count }, (_, i) => step(`s${i + 1}`, "Probe.Ask", i === 0 ? {} : { depends_on: [`s${i}`] }));

const routed = (capabilities: TestKernelOptions["capabilities"], more: Partial<TestKernelOptions> = {}) =>
  createTestKernel({ capabilities, models: { seed: 1, endpoints: [small, large] }, ...more });

async function eventsOf(t: TestKernel, workflowId: string): Promise<readonly LedgerEvent[]> {
  return Array.fromAsync(t.kernel.events(workflowId, { live: false }));
}

const refusal = (code: string) => expect.objectContaining({ error: expect.objectContaining({ code }) });

describe("calls that are made ahead of their rows", () => {
  it("[ROU-04] route behind them: what tries for one budget ends, each at an endpoint that is on record", async () => {
    const plan = ["s1", "s2", "s3"].map((id) => step(id, "Probe.Ask"));
    await using t = await routed([flow([asking()], plan)], { durability: "effects" });
    const { workflow_id, state, steps } = await t.run(intent);
    expect([state, steps.map(({ output_text }) => output_text).sort()]).toEqual([
      "completed",
      ["large", "large", "small"],
    ]);
    const told = (await eventsOf(t, workflow_id)).filter((e) => e.event_type === "ROUTE_DECIDED");
    const actions = await t.kernel.actions(workflow_id);
    expect(told.map((e) => e.payload["action_id"]).sort()).toEqual(actions.map(({ action_id }) => action_id).sort());
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });
});

describe("the ledger", () => {
  it("[ROU-06] holds each decision, linked to its step and action, between the call's start and end", async () => {
    await using t = await routed([oneStep(asking(0, { capabilities: ["text"], expected_tokens: 7 }))]);
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const events = await eventsOf(t, workflow_id);
    const decided = events.filter((e) => e.event_type === "ROUTE_DECIDED");
    const [action] = await t.kernel.actions(workflow_id);
    expect(decided).toHaveLength(1);
    expect(decided[0]).toMatchObject({
      step_id: "s1",
      payload: {
        action_id: action?.action_id,
        attempt: 1,
        request: { capabilities: ["text"], expected_tokens: 7, avoid: [] },
        decision: { endpoint: small, reason: { kind: "Primary" } },
        refusal: null,
        exhausted: [],
      },
    });
    const order = events.map((e) => e.event_type);
    expect(order.indexOf("ACTION_STARTED")).toBeLessThan(order.indexOf("ROUTE_DECIDED"));
    expect(order.indexOf("ROUTE_DECIDED")).toBeLessThan(order.indexOf("ACTION_SUCCEEDED"));
    expect((await t.kernel.verify(workflow_id)).ok).toBe(true);
  });

  it("[ROU-06] holds the decision before the operator hears of it", async () => {
    const seen: number[] = [];
    let kernel: TestKernel | null = null;
    const look = skill("Probe.Ask", async ({ route, context }) => {
      await route();
      seen.push((await payloads(kernel as TestKernel, context.workflow_id, "ROUTE_DECIDED")).length);
      return "done";
    });
    await using t = await routed([oneStep(look)]);
    kernel = t;
    await t.run(intent);
    expect(seen).toEqual([1]);
  });

  it("[ROU-03][ROU-06] the second call falls back when the preferred budget is spent, with the reason", async () => {
    await using t = await routed([flow([asking()], chain(2))]);
    const { workflow_id, steps } = await t.run(intent);
    expect(steps.map((s) => s.output_text)).toEqual(["small", "large"]);
    const [first, second] = await payloads(t, workflow_id, "ROUTE_DECIDED");
    expect(first?.decision?.reason).toEqual({ kind: "Primary" });
    expect(second?.decision?.reason).toEqual({ kind: "BudgetFallback", skipped: ["small"] });
    const { why } = await t.kernel.explain(workflow_id);
    expect(why).toContain("s1: model small chosen (Primary)");
    expect(why).toContain("s2: model large chosen (BudgetFallback, no budget left: small)");
  });

  it("[ROU-04][ROU-06] a refusal blocks the step with 429, is not retried, and is recorded with names", async () => {
    await using t = await routed([flow([asking(100)], chain(3))]);
    const state = await t.run(intent);
    expect(state).toMatchObject({ state: "failed", status: "blocked", error: { code: "T5_BUDGET_EXHAUSTED" } });
    expect(state.steps.map((s) => s.state)).toEqual(["succeeded", "succeeded", "failed"]);
    const decisions = await payloads(t, state.workflow_id, "ROUTE_DECIDED");
    expect(decisions).toHaveLength(3);
    const last = decisions[2];
    expect(last).toMatchObject({ decision: null, exhausted: ["small", "large"], attempt: 1 });
    expect(last?.refusal).toEqual(state.steps[2]?.error);
    expect(last?.refusal?.message).toMatch(/small .*large /);
    expect(last?.action_id).toBe((await t.kernel.actions(state.workflow_id))[2]?.action_id);
    expect(await payloads(t, state.workflow_id, "STEP_FAILED")).toMatchObject([{ blocked: true }]);
    const { why } = await t.kernel.explain(state.workflow_id);
    expect(why).toContain(`s3: no model: ${last?.refusal?.message}`);
  });

  it("[ROU-04] a kernel without endpoints refuses, with a code, and says so in the ledger", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(asking())], limits: { maxReplans: 0 } });
    const state = await t.run(intent);
    expect(state).toMatchObject({ state: "failed", error: { code: "T7_ROUTE_NO_ENDPOINT", category: "resource" } });
    expect(await payloads(t, state.workflow_id, "ROUTE_DECIDED")).toMatchObject([{ decision: null, exhausted: [] }]);
  });

  it("[ROU-05][ROU-06] equal runs under one seed leave equal decisions", async () => {
    const run = async () => {
      const twins = ["a", "b", "c"].map((name) => endpoint(name, { budget: { max_invocations: 2 } }));
      await using t = await routed([flow([asking()], chain(6))], {
        models: { seed: 3, endpoints: twins, prefer: "cost" },
      });
      return await payloads(t, (await t.run(intent)).workflow_id, "ROUTE_DECIDED");
    };
    const first = await run();
    expect(first).toHaveLength(6);
    expect(await run()).toEqual(first);
  });
});

describe("what is spent", () => {
  it.each([
    ["tokens", { max_tokens: 12 }],
    ["money, exactly", { max_money: 0.1 }],
    ["more money than was left", { max_money: 0.05 }],
  ])("[ROU-03] counts against a route that is committed with the end that spent it: %s", async (_, budget) => {
    const within = endpoint("small", { budget });
    for (let seed = 1; seed <= 20; seed += 1) {
      const { connect, close } = await postgresLike(seed);
      const models = { seed, endpoints: [within] };
      const both = flow([asking(10, { expected_tokens: 5 })], [step("s1", "Probe.Ask"), step("s2", "Probe.Ask")]);
      await using t = await routed([both], { ledger: connect(), models });
      const events = await eventsOf(t, (await t.run(intent)).workflow_id);
      const last = events.findLast((e) => e.event_type === "ROUTE_DECIDED" && e.payload["decision"] !== null);
      const ended = events.findIndex((e) => e.event_type === "ACTION_SUCCEEDED");
      expect([seed, events.indexOf(last as LedgerEvent) < ended]).toEqual([seed, true]);
      await close();
    }
  });

  it("[ROU-03] counts over all workflows of a kernel", async () => {
    await using t = await routed([oneStep(asking(50))]);
    const said = [];
    for (let i = 0; i < 4; i += 1) {
      const { error, steps } = await t.run(intent);
      said.push(error?.code ?? steps[0]?.output_text);
    }
    expect(said).toEqual(["small", "large", "large", "T5_BUDGET_EXHAUSTED"]);
  });

  it("[ROU-03] two calls at once never share the last invocation", async () => {
    const both = flow([asking()], [step("s1", "Probe.Ask"), step("s2", "Probe.Ask")]);
    await using t = await routed([both]);
    const { steps } = await t.run(intent);
    expect(steps.map((s) => s.output_text).sort()).toEqual(["large", "small"]);
  });

  it("[ROU-03] is counted in the ledger with the events, also for the next process and workflow", async () => {
    const ledger = memoryLedger();
    const gated = flow(
      [asking(60)],
      [
        step("s1", "Probe.Ask"),
        step("s2", "Probe.Ask", { depends_on: ["s1"] }),
        step("s3", "Probe.Ask", { depends_on: ["s2"], gate: { reason: "look" } }),
        step("s4", "Probe.Ask", { depends_on: ["s3"] }),
      ],
    );
    const first = await routed([gated], { ledger });
    const { workflow_id } = await first.run(intent);
    expect(await ledger.charges(1, counters)).toEqual([oneOf(60), oneOf(60)]);
    await first.kernel.stop({ drainMs: 0 });
    await using second = await routed([gated], { ledger, clock: first.clock, seed: 2 });
    await second.approve(workflow_id);
    const state = await second.rest(workflow_id);
    const reasons = (await payloads(second, workflow_id, "ROUTE_DECIDED")).map(
      (d) => d.decision?.reason.kind ?? "refused",
    );
    expect(reasons).toEqual(["Primary", "BudgetFallback", "BudgetFallback", "refused"]);
    expect(state.status).toBe("blocked");
    await using third = await routed([oneStep(asking())], { ledger, clock: first.clock, seed: 3 });
    expect((await third.run(intent)).error?.code).toBe("T5_BUDGET_EXHAUSTED");
  });

  it("[ROU-03] of the last process, and two calls at once in this one, are added up", async () => {
    const ledger = memoryLedger();
    const models = { endpoints: [endpoint("small", { budget: { max_invocations: 2 } }), large] };
    const first = await routed([oneStep(asking())], { ledger, models });
    await first.run(intent);
    await first.kernel.stop({ drainMs: 0 });
    const both = flow([asking()], [step("s1", "Probe.Ask"), step("s2", "Probe.Ask")]);
    await using second = await routed([both], { ledger, models, clock: first.clock, seed: 2 });
    expect((await second.run(intent)).steps.map((s) => s.output_text).sort()).toEqual(["large", "small"]);
  });

  it("[ROU-03] is over all tenants of the ledger, also in a process that has just begun", async () => {
    const ledger = memoryLedger();
    const first = await routed([oneStep(asking(60, { expected_tokens: 60 }))], { ledger });
    await first.run(intent, {}, { tenant_id: "acme" });
    await first.kernel.stop({ drainMs: 0 });
    await using second = await routed([oneStep(asking(60, { expected_tokens: 60 }))], {
      ledger,
      clock: first.clock,
      seed: 2,
    });
    const said = [];
    for (const tenant_id of ["umbrella", "acme"]) {
      const { error, steps } = await second.run(intent, {}, { tenant_id });
      said.push(error?.code ?? steps[0]?.output_text);
    }
    expect(said).toEqual(["large", "T5_BUDGET_EXHAUSTED"]);
    expect(await ledger.charges(null, counters)).toEqual([oneOf(60), oneOf(60)]);
    expect(await ledger.charges("acme", counters)).toEqual([oneOf(60), oneOf(0, 0)]);
    expect((await second.kernel.verify()).ok).toBe(true);
  });

  it("an answer from the record and a running call charge nothing; a late end is charged once", async () => {
    const ledger = memoryLedger();
    const slow = skill(
      "Probe.Ask",
      async (call: SkillCall) => {
        const name = await ask(7)(call);
        await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
        await Array.fromAsync({ length: 20 }, () => new Promise(setImmediate));
        return name;
      },
      { effect: "write_draft", timeoutSec: 5, retry: "STANDARD" },
    );
    await using t = await routed([oneStep(slow)], { ledger, models: { endpoints: [large] } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    expect(await payloads(t, workflow_id, "ACTION_FAILED")).toMatchObject([
      { pending: true, usage: { model: "large" } },
    ]);
    expect(await payloads(t, workflow_id, "ACTION_SUCCEEDED")).toMatchObject([{ late: true }]);
    const [charged] = await ledger.charges(1, [`endpoint:${JSON.stringify("large")}`]);
    expect(charged).toMatchObject({ invocations: 1, tokens: 7 });
  });

  it("a ledger that cannot be asked for its counters refuses the route, for another attempt to ask again", async () => {
    const ledger = memoryLedger();
    const { charges } = ledger;
    let down = true;
    const flaky = Object.assign(ledger, {
      charges: (...args: Parameters<typeof charges>) => {
        if (!down) return charges.apply(ledger, args);
        down = false;
        return Promise.reject(new Error("gone"));
      },
    });
    await using t = await routed([oneStep(asking())], { ledger: flaky });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const decisions = await payloads(t, workflow_id, "ROUTE_DECIDED");
    expect(decisions.map((d) => d.refusal?.code ?? d.decision?.endpoint.name)).toEqual([
      "T0_LEDGER_UNAVAILABLE",
      "small",
    ]);
  });

  it("[ROU-03] a second attempt asks for the endpoint that failed last of all", async () => {
    const failing = skill("Probe.Ask", async (call: SkillCall) => {
      const name = await ask(1)(call);
      if (call.attempt < 3) throw operatorError({ code: "BUSY", category: "transient", message: "busy" });
      return name;
    });
    const endpoints = [endpoint("a"), endpoint("b")];
    await using t = await routed([oneStep(failing)], { models: { endpoints } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const decisions = await payloads(t, workflow_id, "ROUTE_DECIDED");
    expect(decisions.map((d) => [d.attempt, d.request.avoid, d.decision?.endpoint.name])).toEqual([
      [1, [], "a"],
      [2, ["a"], "b"],
      [3, ["a", "b"], "a"],
    ]);
    const record = foldEvents(await eventsOf(t, workflow_id));
    expect(record?.routes.map((r) => [r.attempt, r.endpoint])).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "a"],
    ]);
    expect((await t.kernel.explain(workflow_id)).why).toContain("s1: model b chosen (Primary; failed before: a)");
  });
});

describe("what is refused", () => {
  it.each([{ expected_tokens: -1 }, { capabilities: [5] }, { budget: 1 }, null, "cloud"])(
    "[ROU-04] a request of %j is refused to the operator with a code; nothing is decided",
    async (request) => {
      const heard: unknown[] = [];
      const bad = skill("Probe.Ask", async ({ route }) => {
        await route(request as never).catch((thrown: unknown) =>
          heard.push((thrown as KernelErrorException).error.code),
        );
        return "done";
      });
      await using t = await routed([oneStep(bad)]);
      const { workflow_id } = await t.run(intent);
      expect(heard).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(await payloads(t, workflow_id, "ROUTE_DECIDED")).toEqual([]);
    },
  );

  it("one attempt routes at most limits.maxRoutes times", async () => {
    const greedy = skill("Probe.Ask", async ({ route }) => {
      for (;;) await route();
    });
    const limits = { maxRoutes: 3, maxReplans: 0 };
    await using t = await routed([oneStep(greedy)], { limits, models: { endpoints: [endpoint("a")] } });
    const state = await t.run(intent);
    expect(state).toMatchObject({ status: "blocked", error: { code: "T5_BUDGET_EXHAUSTED", detail: { limit: 3 } } });
    expect(await payloads(t, state.workflow_id, "ROUTE_DECIDED")).toHaveLength(3);
  });

  it("a call whose attempt has ended routes no more, and leaves nothing in the ledger", async () => {
    let late: SkillCall["route"] | null = null;
    const leak = skill("Probe.Ask", ({ route }) => {
      late = route;
      return "done";
    });
    await using t = await routed([oneStep(leak)]);
    const { workflow_id } = await t.run(intent);
    await expect((late as unknown as SkillCall["route"])()).rejects.toEqual(refusal("T4_WORKFLOW_CONFLICT"));
    expect(await payloads(t, workflow_id, "ROUTE_DECIDED")).toEqual([]);
  });

  it.each([
    { endpoints: [small, small] },
    { endpoints: [{ ...small, cost_weight: -1 }] },
    { endpoints: [], seed: 0.5 },
    { endpoints: [], prefer: "luck" },
    { endpoints: "small" },
    { endpoints: [], other: 1 },
  ])("[ROU-02] a kernel with models %j does not open", async (models) => {
    await expect(createKernel({ models: models as never })).rejects.toEqual(refusal("T0_VALIDATION_SCHEMA_MISMATCH"));
  });

  it.each([[null], [{ request: { expected_tokens: -1 } }], [{ request: "small" }]])(
    "[ROU-04] T7's door refuses the route request %j with an input error and stays up",
    async (data) => {
      await using t = await routed([oneStep(asking())]);
      const result = await askData(t, 7, "RouteRequest", data);
      expect(result).toMatchObject({ status: "error", error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } });
      expect((await t.run(intent)).steps[0]?.output_text).toBe("small");
    },
  );

  it("[ROU-04] T7's door answers a refusal as an error Result, and a decision as data", async () => {
    await using t = await routed([oneStep(asking())]);
    const decided = await askData(t, 7, "RouteRequest", { request: {} });
    expect(decided.signals[0]?.body).toMatchObject({ schema: "RouteDecision", data: { endpoint: small } });
    const refused = await askData(t, 7, "RouteRequest", { request: { capabilities: ["vision"] } });
    expect(refused).toMatchObject({ status: "error", error: { code: "T7_ROUTE_NO_ENDPOINT" } });
  });
});

describe("what is set aside", () => {
  it("[ROU-03] two calls at once never share an endpoint's last tokens; then their usage counts", async () => {
    const ledger = memoryLedger();
    const operator = asking(30, { expected_tokens: 80 });
    const both = flow([operator], [step("s1", "Probe.Ask"), step("s2", "Probe.Ask")]);
    const models = { endpoints: [endpoint("small", { budget: { max_tokens: 100 } }), large] };
    await using t = await routed([both], { ledger, models });
    expect((await t.run(intent)).steps.map((s) => s.output_text).sort()).toEqual(["large", "small"]);
    const [small] = await ledger.charges(1, [`endpoint:${JSON.stringify("small")}`]);
    expect(small).toMatchObject({ invocations: 1, tokens: 30 });
  });
});
