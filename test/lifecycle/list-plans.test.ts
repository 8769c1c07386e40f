/** Policy, budgets, refusals and types of steps that go through a list. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, type PolicyQuestion, ref, when } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { beginAnew, caller, calls, each, list, open, outputOf, pay, people, sound, tell } from "./payments.ts";

beforeEach(beginAnew);

describe("policy", () => {
  it("sees what a list may call before any of it runs, and judges each item", async () => {
    const judged: string[] = [];
    const policies = [
      {
        name: "watch",
        stages: ["plan", "action"] as const,
        evaluate: ({ stage, subject }: PolicyQuestion) => {
          judged.push(stage === "plan" ? JSON.stringify(subject.payload) : String(subject.operator));
          return null;
        },
      },
    ];
    await using t = await open([each(people(2))], { policies });
    await t.run("Bank.PayAll");
    expect(judged[0]).toContain('{"step_id":"pay:*","operator":"Bank.Pay"');
    expect(judged.slice(1)).toEqual(["Bank.Pay", "Bank.Pay"]);
  });

  it("denies one item, which fails with its code", async () => {
    const policies = [
      {
        name: "limit",
        stages: ["action"] as const,
        evaluate: ({ subject }: PolicyQuestion) =>
          (subject.payload as { amount: number }).amount > 1
            ? ({ decision: "DENY", reason: "too much" } as const)
            : null,
      },
    ];
    await using t = await open([each(people(3), { tolerate: 1 })], { policies });
    const id = await t.submit("Bank.PayAll");
    expect((await t.rest(id)).state).toBe("completed");
    expect(await outputOf(t, id)).toMatchObject({
      failed: 1,
      results: [{}, {}, { key: "p2", error: { message: "too much" } }],
    });
  });

  it("begins no item once the budget is spent, and all that is left after a retry with more of it", async () => {
    const ledger = memoryLedger();
    const id = await (async () => {
      await using first = await open([each(people(4))], { ledger, budgets: { maxCost: 0 } });
      const made = await first.submit("Bank.PayAll");
      expect(await first.rest(made)).toMatchObject({ state: "failed", error: { code: "T5_BUDGET_EXHAUSTED" } });
      expect(calls).toEqual([]);
      return made;
    })();
    await using t = await open([each(people(4))], { ledger, seed: 2 });
    await t.kernel.retry(id, { ...caller, mode: "resume_failed_steps" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["p0", "p1", "p2", "p3"]);
    await sound(t, id);
  });
});

it("an item that is rejected is left out with its comment where the plan says so, and the others go on", async () => {
  await using t = await open([each(people(3), { concurrency: 3 }, { gate: {}, on_reject: "continue" })]);
  const id = await t.submit("Bank.PayAll");
  await t.rest(id);
  for (const gate of await t.kernel.gates({ workflow_id: id }, caller)) {
    const isSecond = (gate.payload as { to: string }).to === "p1";
    const decision = isSecond ? "reject" : "approve";
    await t.kernel.decideGate(id, { ...caller, gate_id: gate.gate_id, decision, payload: { comment: "by hand" } });
  }
  expect((await t.rest(id)).state).toBe("completed");
  expect(await outputOf(t, id)).toEqual({
    total: 3,
    succeeded: 2,
    failed: 0,
    results: [
      { key: "p0", output: { paid: 0 } },
      { key: "p1", skipped: true, rejected: { code: "T5_HUMAN_DENIED", comment: "by hand" } },
      { key: "p2", output: { paid: 2 } },
    ],
  });
  await sound(t, id);
});

describe("a plan with a list that is refused", () => {
  const refusals: readonly [string, AnyStepDraft[], RegExp][] = [
    [
      "an operator that is not registered",
      [each([], {}, { operator: "Bank.None" })],
      /pay calls Bank.None, which is not registered/,
    ],
    [
      "a reference to a step that it does not depend on",
      [
        { step_id: "list", name: "List", operator: "Bank.List", params: { n: 1 } },
        each([], {}, { params: { rate: "{{list.output.rate}}" } }),
      ],
      /what it does is about \{\{list.output.rate\}\}, a step which it does not depend on/,
    ],
    ["a reference to no step", [each([], {}, { params: { rate: "{{none.output}}" } })], /a step which there is not/],
    ["a key that is no reference to the item", [each([], { key: "x" })], /key: must be a reference to the item/],
    [
      "another plan after a rejection of an item",
      [each([], {}, { on_reject: "replan" })],
      /do.on_reject: Invalid option/,
    ],
    ["an outcome of each item", [each([], {}, { outcome: "Letter" })], /do.outcome: there is no such key/],
    ["a tolerance that is none", [each([], { tolerate: "many" })], /tolerate: must be a number of items/],
    [
      "a step that is called item",
      [each([]), { step_id: "item", name: "Item", operator: "Bank.Tell" }],
      /a step is called item/,
    ],
  ];
  it.each(refusals)("names %s", async (_what, steps, words) => {
    await using t = await open(steps, { limits: { maxReplans: 0 } });
    expect((await t.run("Bank.PayAll")).error?.message).toMatch(words);
    expect(calls).toEqual([]);
  });
});

describe("the typed builder of lists", () => {
  it("makes the plain step: its references are written, and what they are about comes before it", async () => {
    const typed = defineCapability({
      intentType: "Bank.PayAll",
      version: "1.0",
      input: z.looseObject({}),
      operators: [pay, list, tell],
      plan: ({ step, each: forEach, call }) => {
        const found = step({ step_id: "list", name: "List", operator: "Bank.List", params: { n: 3 } });
        const paid = forEach({
          step_id: "pay",
          name: "Pay",
          items: found.output.due,
          do: (due) =>
            call({
              operator: "Bank.Pay",
              params: { to: due.to, amount: due.amount },
              when: when(due.amount).atLeast(1),
            }),
          key: (due) => due.to,
          concurrency: 2,
          tolerate: "50%",
        });
        const told = step({
          step_id: "tell",
          name: "Tell",
          operator: "Bank.Tell",
          params: { first: ref(paid.output.results[1]!.output.paid, { or: 0 }), n: paid.output.succeeded },
        });
        return { reasoning: "all", steps: [found, paid, told] };
      },
    });
    await using t = await createTestKernel({ capabilities: [typed] });
    const id = await t.submit("Bank.PayAll");
    const state = await t.rest(id);
    expect(state.error).toBeNull();
    expect(state.plan?.steps[1]).toMatchObject({
      depends_on: ["list"],
      params: { items: "{{list.output.due}}" },
      each: {
        do: { operator: "Bank.Pay", params: { to: "{{item.output.to}}", amount: "{{item.output.amount}}" } },
        key: "{{item.output.to}}",
        concurrency: 2,
        tolerate: "50%",
      },
    });
    expect(calls).toEqual(["p1", "p2"]);
    expect(await outputOf(t, id, "tell")).toEqual({ first: 1, n: 2 });
  });
});
