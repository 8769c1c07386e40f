/** What T5 sets aside before a call's start is in the ledger: it counts against others, for a time, or until it is let go. */
import { describe, expect, it } from "vitest";
import { Budgets, noCharge } from "../../src/contract/budget.ts";
import { createBudgetBook } from "../../src/tiers/t5-ego/admission/budget-book.ts";

function bookOf(tokens: number) {
  const time = { now: 0 };
  const { limits } = Budgets.parse({ limits: [{ scope: "tenant", tokens }] });
  const book = createBudgetBook({
    limits,
    charges: async (_tenant, counters) => counters.map(() => noCharge),
    now: () => time.now,
    holdMs: 1000,
  });
  const reserve = async (hold: string, amount: number) => {
    const who = { tenant_id: 1, principal: 1, workflow: "wf", operator: "Probe.Work", at: time.now };
    const answer = await book.reserve(hold, who, { ...noCharge, tokens: amount });
    return answer !== null && "code" in answer ? answer.code : "reserved";
  };
  return { book, time, reserve };
}

describe("what is set aside", () => {
  it("counts against every other call until it is let go", async () => {
    const { book, reserve } = bookOf(10);
    expect(await reserve("a", 6)).toBe("reserved");
    expect(await reserve("b", 6)).toBe("T5_BUDGET_EXHAUSTED");
    book.release("a");
    expect(await reserve("b", 6)).toBe("reserved");
  });

  it("is forgotten when its time has run out: nobody comes for it any more", async () => {
    const { time, reserve } = bookOf(10);
    expect(await reserve("a", 6)).toBe("reserved");
    time.now = 999;
    expect(await reserve("b", 6)).toBe("T5_BUDGET_EXHAUSTED");
    time.now = 1000;
    expect(await reserve("b", 6)).toBe("reserved");
  });

  it("is asked for again under one name, not added to", async () => {
    const { reserve } = bookOf(10);
    expect([await reserve("a", 6), await reserve("a", 8)]).toEqual(["reserved", "reserved"]);
  });
});
