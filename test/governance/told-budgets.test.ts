/**
 * Ceilings as people read them: the counters nearest to their ceiling come first, and so many that a page holds them.
 */
import { expect, it } from "vitest";
import { BudgetLimit, maxReportedCounters, noCharge } from "../../src/contract/budget.ts";
import { nameCounter } from "../../src/tiers/t5-ego/admission/budget-limiter.ts";
import { describeBudgets } from "../../src/tiers/t5-ego/admission/describe-budgets.ts";

it("of more counters than are told, those nearest to the ceiling are, and how many more there are", () => {
  const limit = BudgetLimit.parse({ scope: "operator", invocations: 1_000 });
  const charges = Array.from({ length: maxReportedCounters + 3 }, (_, n) => ({
    counter: nameCounter("operator", `Op.${n}`, ""),
    amounts: { ...noCharge, invocations: n },
  }));
  const [standing] = describeBudgets([limit], { tenant: 1, charges, at: 0 });
  const told = standing?.counters.map(({ amounts }) => amounts.invocations) ?? [];
  expect(told).toEqual(Array.from({ length: maxReportedCounters }, (_, i) => maxReportedCounters + 2 - i));
  expect(standing?.more).toBe(3);
});
