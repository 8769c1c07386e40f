// Admission of calls inside workflows: capability, governor, token budget, and budgets over workflows. A refusal is one
// event and charges nothing; what is reserved is settled; counters are the fold of the events.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventPayloads } from "../../src/contract/event.ts";
import { type Budgets, createKernel, errorToProblemDetails } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { flow, intent, payloads, skill, step } from "../execution/flow.ts";
import { freshPaths } from "../ledgers/ledger-files.ts";
import { runs } from "../properties/property-runs.ts";
import { calls, foldCharges, type Kind, kernelOf, tenantCharges, working } from "./charges.ts";

async function refusalOf(t: TestKernel, workflowId: string) {
  const [refused, ...more] = await payloads(t, workflowId, "BUDGET_REFUSED");
  expect(more).toEqual([]);
  return refused?.error;
}

describe("ceilings of one workflow", () => {
  it.each<[string, Kind, Budgets, object]>([
    [
      "invocations of a capability",
      { limits: { max_invocations: 2 } },
      {},
      { kind: "capability_violation", error: "invocation_budget_exceeded" },
    ],
    [
      "a host's ceiling in place of the definition's",
      { limits: { max_invocations: 9 } },
      { capabilities: { "Probe.Work": { max_invocations: 2, max_tokens: null } } },
      { kind: "capability_violation", error: "invocation_budget_exceeded" },
    ],
    [
      "tokens of a capability",
      { tokens: 40, limits: { max_tokens: 80 } },
      {},
      { kind: "capability_violation", error: "token_budget_exceeded", attempted: 40, remaining: 0 },
    ],
    [
      "the governor",
      { tokens: 40 },
      { governor: { tokens: 100 } },
      {
        kind: "resource_violation",
        error: "resource_budget_exceeded",
        resource: "tokens",
        attempted: 40,
        remaining: 20,
      },
    ],
  ])("%s: the third call is refused before it starts, and charges nothing", async (_, kind, budgets, detail) => {
    const { operator, ran } = working(kind);
    await using t = await kernelOf(operator, 3, { budgets });
    const { workflow_id, state, status, error } = await t.run(intent);
    expect([state, status, error?.code]).toEqual(["failed", "blocked", "T5_BUDGET_EXHAUSTED"]);
    expect(errorToProblemDetails(error as never).status).toBe(429);
    expect(ran).toEqual([0, 1]);
    const refused = await refusalOf(t, workflow_id);
    expect(refused?.detail).toMatchObject(detail);
    expect((await payloads(t, workflow_id, "ACTION_STARTED")).length).toBe(2);
    const usage = (await t.kernel.tokens.capabilities(workflow_id)).find((c) => c.name === "Probe.Work")?.usage;
    expect(usage).toEqual({ invocations: 2, tokens: 2 * (kind.tokens ?? 0) });
    const tokens = await t.kernel.tokens.events(workflow_id);
    const violated = tokens.findLast((e) => e.kind.endsWith("_violation"));
    expect(violated?.detail).toMatchObject(detail);
    expect(tokens.filter((e) => e.token_id === violated?.token_id).map((e) => e.kind)).toEqual([
      "scheduled",
      (detail as { kind: string }).kind,
    ]);
  });

  it("a token's budget bounds what all attempts of its step may cost", async () => {
    const work = skill(
      "Probe.Work",
      () => {
        throw new Error("again");
      },
      { resources: { tokens: 40 } },
    );
    await using t = await createTestKernel({ capabilities: [flow([work], calls(1))], budgets: { perToken: 100 } });
    const { workflow_id, error } = await t.run(intent);
    expect((await payloads(t, workflow_id, "ACTION_STARTED")).map((a) => a.attempt)).toEqual([1, 2]);
    expect(error?.detail).toMatchObject({ kind: "budget_violation", attempted: 40, remaining: 20 });
  });

  it("parallel calls never pass a ceiling together", async () => {
    const { operator, ran } = working({ limits: { max_invocations: 3 } });
    const steps = Array.from({ length: 5 }, (_, i) => step(`s${i}`, "Probe.Work", { params: { n: i } }));
    await using t = await createTestKernel({ capabilities: [flow([operator], steps)] });
    const { workflow_id } = await t.run(intent);
    expect(ran.length).toBe(3);
    expect((await payloads(t, workflow_id, "BUDGET_REFUSED")).length).toBe(2);
  });

  it("a call that the record answers asks for nothing: what was done counts once", async () => {
    const { operator, ran } = working({ limits: { max_invocations: 2 } });
    await using t = await kernelOf(operator, 2);
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const again = await t.kernel.retry(workflow_id, {
      tenant_id: 1,
      principal: { type: "user", id: 1, role: "user" },
      mode: "regenerate",
      step_ids: ["s2"],
    });
    await t.rest(again.workflow_id);
    expect(ran).toEqual([0, 1, 1]);
    const usage = (await t.kernel.tokens.capabilities(again.workflow_id)).find((c) => c.name === "Probe.Work")?.usage;
    expect(usage?.invocations).toBe(1);
  });

  it("rounds of planning count for the package", async () => {
    const broken = skill(
      "Probe.Work",
      () => {
        throw new Error("never");
      },
      { retry: "NONE" },
    );
    const capability = flow([broken], calls(1), { limits: { max_invocations: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 5 } });
    const { workflow_id, error } = await t.run(intent);
    expect(error?.code).toBe("T5_BUDGET_EXHAUSTED");
    expect((await payloads(t, workflow_id, "PLAN_CREATED")).length).toBe(2);
  });

  it.each([
    [{ limits: [{ scope: "planet", tokens: 1 }] }],
    [{ limits: [{ scope: "tenant", tokens: -1 }] }],
    [{ perToken: 1.5 }],
    [{ maxMoney: 3 }],
  ])("budgets that say nothing lawful are refused at once: %j", async (budgets) => {
    await expect(createKernel({ budgets: budgets as never })).rejects.toMatchObject({
      error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" },
    });
  });
});

const freshPath = freshPaths();
const stores: readonly [string, () => LedgerStore][] = [
  ["rows in memory", memoryLedger],
  ["SQLite", () => sqliteLedger({ path: freshPath() })],
];

describe.each(stores)("budgets over workflows, %s", (_, makeStore) => {
  it.each<[string, Budgets["limits"]]>([
    ["tenant", [{ scope: "tenant", tokens: 100 }]],
    ["tenant by day", [{ scope: "tenant", window: "day", invocations: 2 }]],
    ["principal", [{ scope: "principal", id: 1, money: 5 }]],
    ["operator", [{ scope: "operator", id: "Probe.Work", wall_ms: 150_000 }]],
  ])(
    "%s: reserved before the call, refused before it would pass, across workflows and restarts",
    async (_name, limits) => {
      const ledger = makeStore();
      const { operator, ran } = working({ tokens: 40 });
      const options = {
        ledger,
        capabilities: [flow([operator], [step("s1", "Probe.Work", { estimated_cost: 2 })])],
        budgets: { limits },
      };
      const states = [];
      {
        await using before = await createTestKernel(options);
        states.push(await before.run(intent), await before.run(intent));
      }
      const clock = createVirtualClock(Date.UTC(2026, 0, 1, 1));
      await using t = await createTestKernel({ ...options, seed: 2, clock });
      states.push(await t.run(intent));
      const counted = await tenantCharges(ledger);
      expect(counted).toEqual(await foldCharges(ledger));
      const wall = limits?.[0]?.scope === "operator";
      expect(states.map((s) => s.state)).toEqual(["completed", "completed", wall ? "completed" : "failed"]);
      if (wall) return;
      expect(ran.length).toBe(2);
      const refused = await refusalOf(t, states[2]?.workflow_id as string);
      expect(refused).toMatchObject({ code: "T5_BUDGET_EXHAUSTED", detail: { kind: "scoped_budget" } });
      expect(await payloads(t, states[2]?.workflow_id as string, "BUDGET_RESERVED")).toEqual([]);
    },
  );

  it("a budget that names somebody else, or another tenant, concerns nobody here", async () => {
    const ledger = makeStore();
    const { operator } = working({ tokens: 40 });
    const limits = [
      { scope: "principal", id: 2, tokens: 1 },
      { scope: "tenant", tenant_id: 2, tokens: 1 },
      { scope: "operator", id: "Probe.Other", tokens: 1 },
    ] as const;
    await using t = await kernelOf(operator, 1, { ledger, budgets: { limits } });
    expect((await t.run(intent)).state).toBe("completed");
    expect(await ledger.chargesOf(1)).toEqual([]);
  });

  it("three calls of a tenth fit a ceiling of three tenths; a fourth does not", async () => {
    const { operator, ran } = working();
    const limits: Budgets["limits"] = [{ scope: "tenant", money: 0.3 }];
    const steps = calls(4, { estimated_cost: 0.1 });
    await using t = await createTestKernel({
      ledger: makeStore(),
      capabilities: [flow([operator], steps)],
      budgets: { limits },
    });
    expect((await t.run(intent)).error?.code).toBe("T5_BUDGET_EXHAUSTED");
    expect(ran).toEqual([0, 1, 2]);
  });

  it("what is settled is what the operator said it used; what it did not say counts as reserved", async () => {
    const ledger = makeStore();
    const { operator } = working({ tokens: 40, usage: { total: 25, cost: 0.5 } });
    const limits = [{ scope: "tenant", tokens: 1000 }] as const;
    await using t = await kernelOf(operator, 2, { ledger, budgets: { limits } });
    await t.run(intent);
    expect(await tenantCharges(ledger)).toEqual({ tenant: { tokens: 50, money: 1, invocations: 2, wall_ms: 0 } });
  });

  it("workflows that ask at once never pass a ceiling together", async () => {
    const ledger = makeStore();
    const { operator, ran } = working({ tokens: 40 });
    const limits = [{ scope: "tenant", tokens: 400 }] as const;
    await using t = await kernelOf(operator, 1, { ledger, budgets: { limits } });
    const ids = await Promise.all(Array.from({ length: 25 }, () => t.submit(intent)));
    for (const id of ids) await t.rest(id);
    expect(ran.length).toBe(10);
    expect(await tenantCharges(ledger)).toEqual(await foldCharges(ledger));
    expect((await tenantCharges(ledger))["tenant"]?.tokens).toBe(400);
  });
});

it("a budget that cannot be read is no refusal: the step failed, and the next plan makes the call", async () => {
  const ledger = memoryLedger();
  let reads = 0;
  const failing: LedgerStore = {
    ...ledger,
    async charges(tenant, counters) {
      reads += 1;
      if (reads === 1) throw new Error("the store is away");
      return ledger.charges(tenant, counters);
    },
  };
  const { operator, ran } = working();
  const limits: Budgets["limits"] = [{ scope: "tenant", invocations: 5 }];
  await using t = await kernelOf(operator, 1, { ledger: failing, budgets: { limits } });
  const { workflow_id, state } = await t.run(intent);
  expect(await payloads(t, workflow_id, "BUDGET_REFUSED")).toEqual([]);
  expect([state, ran]).toEqual(["completed", [0]]);
});

it("calls never pass a ceiling together where the store takes its time to answer", async () => {
  const ledger = memoryLedger();
  const slow: LedgerStore = {
    ...ledger,
    async charges(tenant, counters) {
      const read = await ledger.charges(tenant, counters);
      await new Promise((resolve) => setImmediate(resolve));
      return read;
    },
  };
  const { operator, ran } = working();
  const steps = Array.from({ length: 5 }, (_, i) => step(`s${i}`, "Probe.Work", { params: { n: i } }));
  const limits: Budgets["limits"] = [{ scope: "tenant", invocations: 75 }];
  await using t = await createTestKernel({
    ledger: slow,
    capabilities: [flow([operator], steps)],
    budgets: { limits },
  });
  const ids = await Promise.all(Array.from({ length: 20 }, () => t.submit(intent)));
  for (const id of ids) await t.rest(id);
  expect(ran.length).toBe(75);
  expect(await tenantCharges(ledger)).toEqual(await foldCharges(ledger));
});

describe("counters", () => {
  it("are the fold of the events, whatever the operators use, say, or fail with", async () => {
    const use = fc.record({
      tokens: fc.nat(60),
      said: fc.option(fc.nat(60), { nil: null }),
      fails: fc.boolean(),
      after: fc.nat(5_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(use, { minLength: 1, maxLength: 6 }), fc.nat(300), async (uses, ceiling) => {
        const ledger = memoryLedger();
        const operators = uses.map(({ tokens, said, fails }, i) =>
          skill(
            `Probe.W${i}`,
            (call) => {
              if (said !== null) call.usage({ tokens: { in: said, out: 0, total: said } });
              if (fails) throw new Error("it fails");
              return i;
            },
            { resources: { tokens }, retry: "STANDARD" },
          ),
        );
        const steps = uses.map((_, i) => step(`s${i}`, `Probe.W${i}`));
        const limits: EventPayloads extends never ? never : Budgets["limits"] = [
          { scope: "tenant", tokens: ceiling },
          { scope: "operator", invocations: 2 },
          { scope: "workflow", window: "hour", money: 100 },
        ];
        await using t = await createTestKernel({
          ledger,
          capabilities: [flow(operators, steps)],
          budgets: { limits },
          limits: { maxReplans: 0 },
        });
        await t.run(intent);
        await t.run(intent);
        const counted = await tenantCharges(ledger);
        expect(counted).toEqual(await foldCharges(ledger));
        for (const [counter, { invocations }] of Object.entries(counted))
          if (counter.startsWith("operator:")) expect(invocations).toBeLessThanOrEqual(2);
      }),
      { numRuns: runs(25) },
    );
  });
});
