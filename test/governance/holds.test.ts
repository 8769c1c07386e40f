/**
 * What T5 sets aside before a call's start is in the ledger: it counts against others, for a time, or until it is let
 * go.
 */
import { describe, expect, it } from "vitest";
import { Budgets, noCharge } from "../../src/contract/budget.ts";
import { createBudgetLimiter } from "../../src/tiers/t5-ego/admission/budget-limiter.ts";

function limiterOf(...asked: readonly object[]) {
  const time = { now: 0 };
  /** What the store says of every counter, and how often it was asked. */
  const store = { standing: noCharge, asked: 0 };
  const { limits } = Budgets.parse({ limits: asked.map((limit) => ({ scope: "tenant", ...limit })) });
  const limiter = createBudgetLimiter({
    limits,
    async charges(_tenant, counters) {
      store.asked += 1;
      return counters.map(() => store.standing);
    },
    now: () => time.now,
    holdMs: 1000,
  });
  const ask = (hold: string, tokens: number, tenant_id = 1) => {
    const who = { tenant_id, principal: 1, above: [], workflow: "wf", operator: "Probe.Work", at: time.now };
    return limiter.reserve(hold, who, { ...noCharge, tokens });
  };
  const reserve = async (...asking: Parameters<typeof ask>) => {
    const answer = await ask(...asking);
    return answer !== null && "code" in answer ? answer.code : "reserved";
  };
  return { limiter, time, store, ask, reserve };
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

  it("is known without the store, which is asked where a call would not fit beside what is known", async () => {
    const { limiter, store, reserve } = limiterOf({ tokens: 10 });
    for (const hold of ["a", "b", "c"]) {
      expect(await reserve(hold, 3)).toBe("reserved");
      limiter.release(hold);
    }
    expect(store.asked).toBe(1);
    store.standing = { ...noCharge, tokens: 3 };
    expect([await reserve("d", 3), store.asked]).toEqual(["reserved", 2]);
    store.standing = { ...noCharge, tokens: 8 };
    limiter.release("d");
    expect([await reserve("e", 3), await reserve("f", 3)]).toEqual(["reserved", "T5_BUDGET_EXHAUSTED"]);
  });

  it("is held against what the store says, where it could not be written: others have charged meanwhile", async () => {
    const { store, reserve } = limiterOf({ tokens: 10 });
    expect(await reserve("a", 3)).toBe("reserved");
    store.standing = { ...noCharge, tokens: 8 };
    expect(await reserve("a", 3)).toBe("T5_BUDGET_EXHAUSTED");
  });

  it("is counted at once where many ask at once", async () => {
    const { reserve } = limiterOf({ tokens: 10 });
    await reserve("z", 0);
    const answers = await Promise.all([..."abcdef"].map((hold) => reserve(hold, 3)));
    expect(answers.filter((answer) => answer === "reserved")).toHaveLength(3);
  });
});
