/** What T5 sets aside before a call's start is in the ledger: it counts against others, for a time, or until it is let go. */
import { describe, expect, it } from "vitest";
import { Budgets, noCharge } from "../../src/contract/budget.ts";
import { createBudgetLimiter } from "../../src/tiers/t5-ego/admission/budget-limiter.ts";

function limiterOf(...asked: readonly object[]) {
  const time = { now: 0 };
  const { limits } = Budgets.parse({ limits: asked.map((limit) => ({ scope: "tenant", ...limit })) });
  const limiter = createBudgetLimiter({
    limits,
    charges: async (_tenant, counters) => counters.map(() => noCharge),
    now: () => time.now,
    holdMs: 1000,
  });
  const ask = (hold: string, tokens: number, tenant_id = 1) => {
    const who = { tenant_id, principal: 1, workflow: "wf", operator: "Probe.Work", at: time.now };
    return limiter.reserve(hold, who, { ...noCharge, tokens });
  };
  const reserve = async (...asking: Parameters<typeof ask>) => {
    const answer = await ask(...asking);
    return answer !== null && "code" in answer ? answer.code : "reserved";
  };
  return { limiter, time, ask, reserve };
}

describe("what is set aside", () => {
  it("counts against every other call until it is let go", async () => {
    const { limiter, reserve } = limiterOf({ tokens: 10 });
    expect(await reserve("a", 6)).toBe("reserved");
    expect(await reserve("b", 6)).toBe("T5_BUDGET_EXHAUSTED");
    limiter.release("a");
    expect(await reserve("b", 6)).toBe("reserved");
  });

  it("is forgotten when its time has run out: nobody comes for it any more", async () => {
    const { time, reserve } = limiterOf({ tokens: 10 });
    expect(await reserve("a", 6)).toBe("reserved");
    time.now = 999;
    expect(await reserve("b", 6)).toBe("T5_BUDGET_EXHAUSTED");
    time.now = 1000;
    expect(await reserve("b", 6)).toBe("reserved");
  });

  it("is one tenant's: another's ceiling has its own room", async () => {
    const { reserve } = limiterOf({ tokens: 10 });
    expect([await reserve("a", 6), await reserve("b", 6, 2)]).toEqual(["reserved", "reserved"]);
  });

  it("is held by the store to the lowest of all ceilings of its counter", async () => {
    const { ask } = limiterOf({ tokens: 10 }, { tokens: 20, money: 5 });
    expect(await ask("a", 6)).toMatchObject({ counters: ["tenant"], ceilings: [{ tokens: 10, money: 5 }] });
  });

  it("is asked for again under one name, not added to", async () => {
    const { reserve } = limiterOf({ tokens: 10 });
    expect([await reserve("a", 6), await reserve("a", 8)]).toEqual(["reserved", "reserved"]);
  });
});
