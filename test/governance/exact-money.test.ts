/** Money is decimal: sums, rules and messages are exact, and amounts are bounded where they come in. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addCost } from "../../machines/fold-usage.ts";
import { addUsage, Usage } from "../../src/contract/action.ts";
import { addCharge, fieldBeyond, noCharge } from "../../src/contract/budget.ts";
import { addMoney, Money, maxMoney, priceOf, roundUpMoney } from "../../src/contract/money.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";

/** An amount in whole millionths, as the decimal that a person would write. */
const decimalOf = (units: bigint): number => {
  const digits = String(units < 0n ? -units : units).padStart(7, "0");
  return Number(`${units < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`);
};
const unitsIn = (most: bigint) => fc.bigInt({ min: 0n, max: most });
const oneAmount = unitsIn(BigInt(maxMoney) * 1_000_000n);

describe("amounts against whole numbers of millionths", () => {
  it("sums and differences are the nearest doubles of the exact decimals, in the contract and in the fold", () => {
    fc.assert(
      fc.property(oneAmount, oneAmount, (a, b) => {
        const [x, y] = [decimalOf(a), decimalOf(b)];
        expect(addMoney(x, y)).toBe(decimalOf(a + b));
        expect(addMoney(x, y, -1) + 0).toBe(decimalOf(a - b));
        expect(addCost(x, y)).toBe(decimalOf(a + b));
      }),
    );
  });

  it("a long sum does not depend on its order, and what is given back leaves what was there", () => {
    fc.assert(
      fc.property(fc.array(unitsIn(1_000_000_000_000n), { maxLength: 200 }), (all) => {
        const amounts = all.map(decimalOf);
        const sum = amounts.reduce((a, b) => addMoney(a, b), 0);
        expect(sum).toBe(decimalOf(all.reduce((a, b) => a + b, 0n)));
        expect(amounts.toReversed().reduce((a, b) => addMoney(a, b), 0)).toBe(sum);
        expect(amounts.reduce((a, b) => addMoney(a, b, -1), sum) + 0).toBe(0);
      }),
    );
  });

  it("what has more digits is rounded up to the unit, what has none more is kept, and binary noise is no cost", () => {
    fc.assert(
      fc.property(unitsIn(1_000_000_000_000n), fc.integer({ min: 1, max: 99 }), (units, hundredths) => {
        expect(roundUpMoney(decimalOf(units))).toBe(decimalOf(units));
        const more = Number(`${units}.${String(hundredths).padStart(2, "0")}`) / 1e6;
        expect(roundUpMoney(more)).toBe(decimalOf(units + 1n));
      }),
    );
    expect([roundUpMoney(0.1 + 0.2), roundUpMoney(1e-9), roundUpMoney(5e-8)]).toEqual([0.3, 0, 0.000001]);
  });

  it("a ceiling is exact: what reaches it fits, a millionth more does not", () => {
    fc.assert(
      fc.property(oneAmount, oneAmount, (a, b) => {
        const charged = { ...noCharge, money: decimalOf(a) };
        const amounts = { ...noCharge, money: decimalOf(b) };
        expect(fieldBeyond({ money: decimalOf(a + b) }, { charged, amounts })).toBe(null);
        expect(fieldBeyond({ money: decimalOf(a + b - 1n) }, { charged, amounts })).toBe("money");
      }),
    );
    const [charged, amounts] = [
      { ...noCharge, tokens: 999_999_999_999_000 },
      { ...noCharge, tokens: 1_001 },
    ];
    expect(fieldBeyond({ tokens: 1_000_000_000_000_000 }, { charged, amounts })).toBe("tokens");
    expect(addCharge({ ...noCharge, money: 0.1 }, { ...noCharge, money: 0.2 }).money).toBe(0.3);
  });

  it("a price for a million pieces is exact to the unit", () => {
    expect(priceOf([1_000, 3], [1_000, 15])).toBe(0.018);
    expect([priceOf([7, 0.1]), priceOf([1, 0.000001])]).toEqual([0.000001, 0]);
  });

  it("reports of usage add up exactly, and are refused beyond the bound", () => {
    const used = (total: number) => Usage.parse({ cost: { total } });
    expect(addUsage(used(0.1), used(0.2)).cost?.total).toBe(0.3);
    for (const total of [1e308, maxMoney + 1, -1, Number.NaN]) expect(Money.safeParse(total).success).toBe(false);
  });
});

describe("a budget in money", () => {
  it("prints tenths as tenths: in the state and in the refusal", async () => {
    const work = counted("Note.Work", { estimatedCost: 0.1 });
    const ids = ["a", "b", "c", "d"];
    const steps = ids.map((id, i) => step(id, work, { depends_on: ids.slice(Math.max(0, i - 1), i) }));
    const options = { capabilities: [story([work], steps)], budgets: { maxCost: 0.3 } };
    await using t = await createTestKernel(options);
    const { state, spent, error } = await t.run(intent);
    expect([state, spent, work.calls.length]).toEqual(["failed", 0.3, 3]);
    expect(error?.message).toBe("the request budget of 0.3 is spent (0.3)");
  });

  it.each([
    ["memory", memoryLedger],
    ["sqlite", undefined],
  ] as const)(
    "is counted exactly in the store (%s), and a ceiling is reached to the millionth",
    async (_name, store) => {
      const work = counted("Note.Work", { estimatedCost: 0.1 }, ({ usage }) => usage({ cost: { total: 0.1 } }));
      const budgets = { limits: [{ scope: "tenant" as const, money: 0.7 }] };
      const options = { capabilities: [story([work], [step("a", work)])], budgets, limits: { maxReplans: 0 } };
      await using t = await createTestKernel({ ...options, ...(store === undefined ? {} : { ledger: store() }) });
      for (let i = 0; i < 7; i += 1) expect((await t.run(intent)).state).toBe("completed");
      const [budget] = await t.kernel.budgets({ tenant_id: 1 });
      expect(budget?.used?.money).toBe(0.7);
      const { error } = await t.run(intent);
      expect(error?.message).toContain("has 0 money left of 0.7; the call asks for 0.1");
      expect(work.calls).toHaveLength(7);
      expect(await t.kernel.verify()).toMatchObject({ ok: true });
    },
  );

  it.each([1e308, 2e9, Number.POSITIVE_INFINITY])(
    "hears of a usage of %d as refused; counters and ledger stay sound",
    async (total) => {
      const work = counted("Note.Work", { effect: "read" }, ({ usage }) => usage({ cost: { total } }));
      const budgets = { limits: [{ scope: "tenant" as const, money: 100 }] };
      const capabilities = [story([work], [step("a", work)])];
      await using t = await createTestKernel({ capabilities, budgets, limits: { maxReplans: 0 } });
      for (let i = 0; i < 2; i += 1) {
        const { error, workflow_id } = await t.run(intent);
        expect(error?.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
        expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
      }
      expect(await t.kernel.verify()).toMatchObject({ ok: true });
    },
  );

  it("near 10^15 tokens lets nothing pass that is not left", async () => {
    const most = 1_000_000_000_000_000;
    const work = counted("Note.Work", { resources: { tokens: 400 } }, ({ usage }) =>
      usage({ tokens: { in: 500_000_000_000, out: 500_000_000_000, total: 1_000_000_000_000 } }),
    );
    const budgets = { limits: [{ scope: "tenant" as const, tokens: 3_000_000_001_000 }] };
    const capabilities = [story([work], [step("a", work)])];
    await using t = await createTestKernel({ capabilities, budgets, limits: { maxReplans: 0 } });
    for (let i = 0; i < 4; i += 1) await t.run(intent);
    expect(work.calls).toHaveLength(4);
    expect((await t.run(intent)).error?.code).toBe("T5_BUDGET_EXHAUSTED");
    await expect(createTestKernel({ budgets: { limits: [{ scope: "tenant", tokens: most + 1 }] } })).rejects.toThrow();
  });

  it("refuses a cost beyond the bound where it is written: in a plan, a definition, a planner's answer", async () => {
    expect(() => counted("Note.Work", { estimatedCost: 1e10 })).toThrow("estimatedCost");
    const work = counted("Note.Work");
    const dear = step("a", work, { estimated_cost: 1e10 });
    expect(() => story([work], [dear])).toThrow("plan.steps.0.estimated_cost");
    const capabilities = [story([work], [], { plan: () => ({ reasoning: "r", steps: [dear] }) })];
    await using t = await createTestKernel({ capabilities });
    expect((await t.run(intent)).error?.code).toBe("T3_PLAN_INVALID");
    const planner = {
      plan: async () => ({ plan: { reasoning: "r", steps: [step("a", work)] }, usage: { total_cost: 1e10 } }),
    };
    await using u = await createTestKernel({ capabilities: [story([work], [])], planner: planner as never });
    expect((await u.run(intent)).error?.code).toBe("T3_PLAN_INVALID");
  });
});
