/**
 * Budgets as people read them: each ceiling of the kernel, the nearest to it first, page by page, and when counting
 * begins anew.
 */
import { describe, expect, it } from "vitest";
import type { Budgets } from "../../src/contract/budget.ts";
import { budgetCursor, type ListedBudget, readBudgetCursor, shareOf } from "../../src/contract/budget-page.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";

const work = counted("Note.Work", {}, () => "done");

const open = (budgets: Budgets, more: object = {}): Promise<TestKernel> =>
  createTestKernel({ capabilities: [story([work], [step("a", work)])], budgets, ledger: memoryLedger(), ...more });

const named = ({ scope, id, window, share }: ListedBudget) => [scope, id, window, share];

describe("the list of budgets", () => {
  it("begins with what is nearest to its ceiling, whatever the order of the configuration", async () => {
    await using t = await open({
      limits: [
        { scope: "tenant", invocations: 100 },
        { scope: "operator", id: "Note.Work", window: "day", invocations: 2 },
        { scope: "principal", id: "bo", money: 5 },
        { scope: "tenant", tenant_id: 2, money: 5 },
      ],
    });
    await t.run(intent);
    expect((await t.kernel.budgets({ tenant_id: 1 })).map(named)).toEqual([
      ["operator", "Note.Work", "day", 0.5],
      ["tenant", 1, "total", 0.01],
      ["principal", "bo", "total", 0],
    ]);
  });

  it("says when the counting of each window began, and when it begins anew, also over the end of a year", async () => {
    const windows = ["month", "day", "hour", "total"] as const;
    await using t = await open(
      { limits: windows.map((window) => ({ scope: "tenant", window, money: 1 })) },
      { clock: createVirtualClock(Date.UTC(2026, 11, 31, 23, 30)) },
    );
    const told = await t.kernel.budgets({ tenant_id: 1 });
    expect(told.map(({ window, since, resets_at }) => [window, since, resets_at])).toEqual([
      ["month", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
      ["day", "2026-12-31T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
      ["hour", "2026-12-31T23:00:00.000Z", "2027-01-01T00:00:00.000Z"],
      ["total", null, null],
    ]);
  });

  it("ends with the ceilings of each run and of models, which have no usage over runs", async () => {
    const plain = { capabilities: ["text"], deployment: "local", latency_weight: 1, cost_weight: 1 };
    const models = { endpoints: [{ ...plain, name: "small", budget: { max_tokens: 9 } }] };
    await using t = await open(
      {
        ...{
          maxCost: 5,
          perToken: 3,
          governor: { tokens: 900, cpu_time: null, memory_bytes: null, network_bytes: null },
        },
        ...{ capabilities: { "Note.Work": { max_invocations: 4, max_tokens: null } } },
        limits: [{ scope: "tenant", invocations: 100 }],
      },
      { models },
    );
    const [first, ...rest] = await t.kernel.budgets({ tenant_id: 1 });
    expect(first?.used).not.toBeNull();
    expect(rest.map(({ scope, id, window, ceiling, used }) => [scope, id, window, ceiling, used])).toEqual([
      ["request", null, "run", { cost: 5 }, null],
      ["step", null, "run", { cost: 3 }, null],
      ["workflow", null, "run", { tokens: 900 }, null],
      ["operator", "Note.Work", "run", { invocations: 4 }, null],
      ["model", "small", "total", { tokens: 9 }, null],
    ]);
  });

  it("is read page by page: each of 130 counters once, also those with equal shares", async () => {
    await using t = await open({
      limits: [
        { scope: "workflow", invocations: 2 },
        { scope: "tenant", money: 1 },
      ],
    });
    for (let i = 0; i < 129; i += 1) await t.submit(intent);
    await t.clock.settle();
    const seen: ListedBudget[] = [];
    for (let after: string | undefined; ; ) {
      const page = await t.kernel.budgets({ tenant_id: 1, limit: 50, ...(after !== undefined && { after }) });
      seen.push(...page);
      if (page.length < 50) break;
      after = budgetCursor(page.at(-1) as ListedBudget);
    }
    expect(seen).toHaveLength(130);
    expect(new Set(seen.map(({ scope, id }) => `${scope} ${id}`)).size).toBe(130);
    expect(seen.at(-1)?.scope).toBe("tenant");
    expect((await t.kernel.budgets({ tenant_id: 1, scope: "tenant" })).map(({ scope }) => scope)).toEqual(["tenant"]);
  });

  it.each(["", "x", "0.5/1", "0.5/1/{}", "NaN/0/null", "0.5/-1/null", "0.5/1/[1"])(
    "refuses the cursor %j, which no page gave, with the next step",
    async (after) => {
      await using t = await open({});
      await expect(t.kernel.budgets({ tenant_id: 1, after })).rejects.toMatchObject({
        error: {
          code: "T0_VALIDATION_SCHEMA_MISMATCH",
          message: expect.stringContaining("give what the page before it called next"),
        },
      });
    },
  );

  it("is refused for another tenant than the caller's", async () => {
    await using t = await open({});
    const caller = { tenant_id: 2, principal: { type: "user", id: "x", role: "user" } };
    await expect(t.kernel.budgets({ tenant_id: 1 }, caller)).rejects.toMatchObject({
      error: { code: "T5_IDENTITY_VIOLATION" },
    });
  });
});

describe("the share of a ceiling", () => {
  const used = { tokens: 5, money: 1, invocations: 0, wall_ms: 0 };

  it("is that of the amount that is nearest; of a ceiling of 0 nothing is left", () => {
    expect(shareOf(used, { tokens: 10, money: 8 })).toBe(0.5);
    expect(shareOf(used, { invocations: 0 })).toBe(1);
    expect(shareOf(used, { cost: 3 })).toBe(0);
  });

  it("is read from its cursor as it was written, however small", () => {
    for (const share of [null, 0, 1, 1 / 3, 1e-9, 1.25e21])
      expect(readBudgetCursor(budgetCursor({ share, position: 3, id: "a/b" }))).toEqual({
        share,
        position: 3,
        id: "a/b",
      });
  });
});
