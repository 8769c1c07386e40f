/** Steps that run a child workflow for each item of a list, or in each round. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, definePolicy, ref } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { childrenOf, payAll, sums, templated } from "./list-shop.ts";
import { eventsOf, outputOf } from "./payments.ts";
import { broken, calls, fresh, pay, replaysAlike, shop, take } from "./shop-children.ts";

beforeEach(fresh);

describe("a list of children", () => {
  it("runs one child of the pinned version for each item, and gives the results in their order", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 2 }), pay] });
    const { workflow_id: id, state, plan } = await t.run("Shop.Order");
    const children = await childrenOf(t, id);
    expect(state).toBe("completed");
    expect(plan?.steps[0]?.each?.do).toMatchObject({ kind: "run", params: { intent: "Shop.Pay@1.0" } });
    expect([...children.keys()]).toEqual(["pay:0", "pay:1", "pay:2", "pay:3"]);
    const { results } = (await outputOf(t, id)) as { results: readonly object[] };
    expect(results).toMatchObject(
      sums.map((sum, i) => ({
        key: String(sum),
        output: { workflow_id: children.get(`pay:${i}`), outcome: { taken: "book", sum } },
      })),
    );
    expect(await t.kernel.workflow(children.get("pay:2") as string)).toMatchObject({
      parent: { workflow_id: id, step_id: "pay:2", above: [] },
      intent: { type: "Shop.Pay", actor: testCaller.principal, inputs: { sum: 3 } },
    });
    await replaysAlike(t, id, ...children.values());
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("has no more children at once than its concurrency; state and progress count the items", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 2 }), pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    const children = await childrenOf(t, id);
    expect([...children.keys()]).toEqual(["pay:0", "pay:1"]);
    const counts = async () => {
      const { steps, progress } = await t.kernel.workflow(id);
      expect(progress.items).toEqual({ step_id: "pay", ...steps[0]?.items });
      return steps[0]?.items;
    };
    expect(await counts()).toEqual({ total: 4, done: 0, failed: 0, running: 2 });
    await t.approve(children.get("pay:1") as string);
    await t.clock.settle();
    expect(await counts()).toEqual({ total: 4, done: 1, failed: 0, running: 2 });
    expect([...(await childrenOf(t, id)).keys()]).toEqual(["pay:0", "pay:1", "pay:2"]);
  });

  it("is refused with a plan that runs what there is not, or has a key that a child has not", async () => {
    for (const [template, problem] of [
      [{ kind: "run", params: { intent: "Shop.Nobody" } }, "runs Shop.Nobody, which is not registered"],
      [{ kind: "run", params: { intent: "Shop.Pay", inputs: { sum: "much" } } }, "inputs of Shop.Pay"],
      [{ kind: "run", params: { intent: "Shop.Pay" }, gate: { reason: "no" } }, "there is no such key"],
      [{ kind: "sleep", params: { ms: 5 } }, "do.kind"],
    ] as const) {
      await using t = await createTestKernel({ capabilities: [templated(template), pay] });
      const { state, error } = await t.run("Shop.Order");
      expect({ state, code: error?.code }).toEqual({ state: "failed", code: "T3_PLAN_INVALID" });
      expect(error?.message).toContain(problem);
    }
    expect(calls).toEqual([]);
  });

  it("gives the ids of detached children once they are accepted, and waits for none", async () => {
    const params = { intent: "Shop.Pay", inputs: { sum: "{{item.output}}", asks: true }, detached: true };
    await using t = await createTestKernel({ capabilities: [templated({ kind: "run", params }), pay] });
    const { workflow_id: id, state } = await t.run("Shop.Order");
    const children = [...(await childrenOf(t, id)).values()];
    expect(state).toBe("completed");
    expect(await outputOf(t, id)).toMatchObject({
      results: children.map((workflow_id) => ({ output: { workflow_id } })),
    });
    const states = await Promise.all(children.map(async (child) => (await t.kernel.workflow(child)).state));
    expect(new Set(states)).toEqual(new Set(["waiting_for_user"]));
  });

  it("leaves out the items for which the condition of the child does not hold", async () => {
    const params = { intent: "Shop.Pay", inputs: { sum: "{{item.output}}" } };
    const template = { kind: "run", params, when: { value: "{{item.output}}", at_least: 3 } };
    await using t = await createTestKernel({ capabilities: [templated(template), pay] });
    const { workflow_id: id, state } = await t.run("Shop.Order");
    expect(state).toBe("completed");
    expect([...(await childrenOf(t, id)).keys()]).toEqual(["pay:2", "pay:3"]);
    expect(await outputOf(t, id)).toMatchObject({
      succeeded: 2,
      results: [{ skipped: true }, { skipped: true }, {}, {}],
    });
  });
});

describe("children of a list that fail", () => {
  /** Fails for the sums that are named. */
  const failing = (...lacking: readonly number[]) => {
    const state = { lacking: new Set(lacking), begun: [] as number[] };
    const sell = defineCapability({
      intentType: "Shop.Sell",
      version: "1.0",
      input: z.object({ sum: z.number() }),
      operators: [take],
      plan: ({ input, step }) => {
        state.begun.push(input.sum);
        const before = step({ step_id: "reserve", name: "Reserve", operator: "Shop.Take", params: { sum: input.sum } });
        const made = step({
          step_id: `sell${input.sum}`,
          name: "Sell",
          operator: "Shop.Take",
          params: { sum: input.sum },
          depends_on: [before],
        });
        return { reasoning: "sell", steps: [before, made] };
      },
    });
    for (const sum of lacking) broken.add(`sell${sum}`);
    return { state, sell };
  };
  const sellAll = (more: object = {}) =>
    templated({ kind: "run", params: { intent: "Shop.Sell", inputs: { sum: "{{item.output}}" } } }, more);
  const limits = { maxReplans: 0, maxConcurrentSteps: 2 };

  it("fail the step with the error of each, and a retry goes on with these children alone", async () => {
    const { sell, state } = failing(2, 3);
    await using t = await createTestKernel({ capabilities: [sellAll({ tolerate: 1, concurrency: 4 }), sell], limits });
    const { workflow_id: id, error } = await t.run("Shop.Order");
    expect(error).toMatchObject({
      code: "T4_ITEMS_FAILED",
      detail: { failed: 2, failures: [{ error: { code: "T4_CHILD_FAILED" } }, { error: { code: "T4_CHILD_FAILED" } }] },
    });
    const before = await childrenOf(t, id);
    broken.clear();
    calls.length = 0;
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls.toSorted()).toEqual(["sell2", "sell3"]);
    expect(state.begun.toSorted()).toEqual(sums);
    expect(await childrenOf(t, id)).toEqual(before);
    await replaysAlike(t, id, ...before.values());
  });

  it("are tolerated as failed calls are, and stand among the results", async () => {
    const { sell } = failing(2);
    await using t = await createTestKernel({ capabilities: [sellAll({ tolerate: "25%" }), sell], limits });
    const { workflow_id: id, state } = await t.run("Shop.Order");
    expect(state).toBe("completed");
    expect(await outputOf(t, id)).toMatchObject({
      failed: 1,
      results: [{}, { key: "1", error: { code: "T4_CHILD_FAILED" } }, {}, {}],
    });
    const { steps, progress } = await t.kernel.workflow(id);
    expect(steps[0]?.items).toEqual({ total: 4, done: 3, failed: 1, running: 0 });
    expect(progress.items).toBeUndefined();
  });

  it("below limits.maxChildDepth each item is refused, and nothing of a child begins", async () => {
    const nested = defineCapability({
      intentType: "Shop.Nest",
      version: "1.0",
      input: z.looseObject({}),
      operators: [take],
      plan: ({ each, run }) => ({
        reasoning: "deeper",
        steps: [
          each({
            step_id: "down",
            name: "Down",
            items: [1, 2],
            do: () => run({ capability: "Shop.Nest", input: {} }),
          }),
        ],
      }),
    });
    await using t = await createTestKernel({ capabilities: [nested], limits: { maxChildDepth: 1, maxReplans: 0 } });
    await t.run("Shop.Nest");
    const all = await t.kernel.workflows({});
    const messages = await Promise.all(
      all.map(async ({ workflow_id }) => {
        const { parent, steps } = await t.kernel.workflow(workflow_id);
        return parent === null ? [] : steps.map(({ error }) => error?.message);
      }),
    );
    expect(messages.flat()[0]).toContain("limits.maxChildDepth is 1");
    expect(all.length).toBeLessThanOrEqual(3);
  });
});

describe("orders on a workflow with a list of children", () => {
  const asking = { kind: "run", params: { intent: "Shop.Pay", inputs: { sum: "{{item.output}}", asks: true } } };
  const waiting = async (t: TestKernel) => {
    const id = await t.submit("Shop.Order", { asks: true });
    await t.clock.settle();
    return { id, children: [...(await childrenOf(t, id)).values()] };
  };
  const statesOf = (t: TestKernel, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await t.kernel.workflow(id)).state));

  it("cancels every child, begins no further item, and has ended once all of them have", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 3 }), pay] });
    const { id, children } = await waiting(t);
    await t.kernel.cancel(id, { ...testCaller });
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(await statesOf(t, children)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect((await t.kernel.workflows({})).length).toBe(4);
    await replaysAlike(t, id, ...children);
  });

  it("to make the list anew is refused while a child of it goes on", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 3 }), pay] });
    const { id } = await waiting(t);
    const anew = t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["pay"] });
    await expect(anew).rejects.toThrow("step pay:0 waits for its child");
  });

  it("that its plan fails cancels every child, and has failed once all of them have ended", async () => {
    const steps = [
      { kind: "each", step_id: "pay", name: "Pay", params: { items: sums as never }, do: asking, concurrency: 2 },
      { kind: "sleep", step_id: "nap", name: "Nap", params: { ms: 5 } },
      { kind: "fail", step_id: "end", name: "End", params: { code: "TOO_LATE", message: "no" }, depends_on: ["nap"] },
    ];
    const plan = () => ({ reasoning: "as data", steps: steps as unknown as AnyStepDraft[] });
    await using t = await createTestKernel({ capabilities: [shop(plan), pay] });
    const { id, children } = await waiting(t);
    expect(await t.rest(id)).toMatchObject({ state: "failed", error: { code: "T4_PLAN_FAILED" } });
    const endOf = async (one: string) => (await eventsOf(t, one)).at(-1);
    const [own, ...others] = await Promise.all([id, ...children].map(endOf));
    expect(others.map((event) => event?.event_type)).toEqual(["WORKFLOW_CANCELLED", "WORKFLOW_CANCELLED"]);
    expect(others.every((other) => String(other?.event_id) < String(own?.event_id))).toBe(true);
    await replaysAlike(t, id, ...children);
  });

  it("pauses and resumes every child with it", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 3 }), pay] });
    const { id, children } = await waiting(t);
    const paused = () => Promise.all(children.map(async (one) => (await t.kernel.workflow(one)).paused !== null));
    await t.kernel.pause(id, { ...testCaller, reason: "wait" });
    await t.clock.settle();
    expect(await paused()).toEqual([true, true, true]);
    await t.kernel.resume(id, { ...testCaller });
    await t.clock.settle();
    expect(await paused()).toEqual([false, false, false]);
    for (const child of children) await t.approve(child);
    await t.clock.settle();
    await t.approve((await childrenOf(t, id)).get("pay:3") as string);
    expect((await t.rest(id)).state).toBe("completed");
    await replaysAlike(t, id, ...children);
  });

  it.each(["WORKFLOW_PAUSED", "WORKFLOW_UNPAUSED"])(
    "notes %s after all of its children have: a crash hides none",
    async (type) => {
      await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 3 }), pay] });
      const { id, children } = await waiting(t);
      await t.kernel.pause(id, { ...testCaller, reason: "wait" });
      await t.kernel.resume(id, { ...testCaller });
      const noted = async (one: string) =>
        (await eventsOf(t, one)).find(({ event_type }) => event_type === type)?.event_id as string;
      const [own, ...others] = await Promise.all([id, ...children].map(noted));
      expect(others.every((other) => other < (own as string))).toBe(true);
      await replaysAlike(t, id, ...children);
    },
  );

  it("pauses the children that begin while it is paused, and resumes them with it", async () => {
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 3 }), pay] });
    const id = await t.submit("Shop.Order", { asks: true });
    for await (const { event_type, step_id } of t.kernel.events(id))
      if (event_type === "STEP_STARTED" && step_id === "pay:2") break;
    await t.kernel.pause(id, { ...testCaller, reason: "wait" });
    await t.clock.settle();
    const all = await t.kernel.workflows({});
    const begun = all.filter(({ workflow_id }) => workflow_id !== id);
    expect(begun.map(({ paused }) => paused)).toEqual([true, true, true]);
    await t.kernel.resume(id, { ...testCaller });
    await t.clock.settle();
    expect((await t.kernel.workflows({})).every(({ paused }) => !paused)).toBe(true);
    await replaysAlike(t, ...all.map(({ workflow_id }) => workflow_id));
  });

  it("finds the children that it has begun in another process, and begins none twice", async () => {
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [payAll({ concurrency: 2 }), pay], ledger, owner: "one" });
    const { id, children } = await waiting(first);
    await first[Symbol.asyncDispose]();
    await using t = await createTestKernel({
      capabilities: [payAll({ concurrency: 2 }), pay],
      ...{ ledger, owner: "two", seed: 2 },
    });
    for (const child of children) await t.approve(child);
    await t.clock.settle();
    const later = [...(await childrenOf(t, id)).values()].slice(2);
    for (const child of later) await t.approve(child);
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.workflows({})).length).toBe(5);
    expect(calls.filter((one) => one === "book")).toHaveLength(4);
    await replaysAlike(t, id, ...children, ...later);
  });
});

describe("policy and budgets over lists of children", () => {
  it("rules see the capability that the items run before any item begins, and may deny the plan", async () => {
    const seen: unknown[] = [];
    const rule = definePolicy({
      name: "no lists of payments",
      stages: ["plan"],
      evaluate: ({ subject: { payload } }) => {
        const { steps } = payload as { steps: readonly { step_id: string; runs?: string }[] };
        seen.push(steps.map(({ step_id, runs }) => [step_id, runs]));
        return steps.some(({ runs }) => runs === "Shop.Pay@1.0") ? { decision: "DENY", reason: "not all" } : null;
      },
    });
    await using t = await createTestKernel({ capabilities: [payAll(), pay], policies: [rule] });
    expect((await t.run("Shop.Order")).error?.code).toBe("T5_POLICY_DENIED");
    expect(seen[0]).toEqual([
      ["pay", undefined],
      ["pay:*", "Shop.Pay@1.0"],
    ]);
    expect(calls).toEqual([]);
  });

  it("an approval that policy demands of the plan is asked by each child, or before each call", async () => {
    const rule = definePolicy({
      name: "ask",
      stages: ["plan"],
      evaluate: ({ subject }) =>
        subject.parent === undefined ? { decision: "REQUIRE_APPROVAL", reason: "look at orders" } : null,
    });
    const calling = templated({ operator: "Shop.Take", params: { sum: "{{item.output}}" } });
    await using t = await createTestKernel({ capabilities: [payAll({ concurrency: 4 }), pay], policies: [rule] });
    await using u = await createTestKernel({ capabilities: [calling], policies: [rule] });
    for (const one of [t, u]) {
      await one.submit("Shop.Order");
      await one.clock.settle();
      const gates = await one.kernel.gates();
      expect(gates.map(({ reasons }) => reasons.map(({ reason }) => reason))).toEqual(
        sums.map(() => ["look at orders"]),
      );
    }
    expect(calls).toEqual([]);
  });

  it("the calls of all children count at the root, and none begins above its ceiling", async () => {
    const budgets = { limits: [{ scope: "workflow", invocations: 5 }] } as const;
    await using t = await createTestKernel({
      ...{ capabilities: [payAll({ concurrency: 1, tolerate: "all" }), pay], budgets, limits: { maxReplans: 0 } },
    });
    const { workflow_id: id } = await t.run("Shop.Order");
    expect(calls).toHaveLength(5);
    const standing = await t.kernel.budgets({ tenant_id: 1 });
    expect(standing.find((one) => one.id === id)?.used?.invocations).toBe(5);
  });
});

describe("a child in each round", () => {
  it("runs a child a round until the condition holds, each with the result of the one before", async () => {
    const count = defineCapability({
      intentType: "Shop.Count",
      version: "1.0",
      input: z.object({ n: z.number() }),
      operators: [take],
      plan: ({ input, step }) => ({
        reasoning: "count",
        steps: [
          step({ step_id: "count", name: "Count", operator: "Shop.Take", params: { n: input.n, next: input.n + 1 } }),
        ],
      }),
    });
    const counting = shop(({ repeat, run }) => ({
      reasoning: "rounds",
      steps: [
        repeat({
          step_id: "rounds",
          name: "Rounds",
          do: (last) =>
            run({ capability: count, input: { n: ref((last["result"] as never)["next"], { or: 1 }) } as never }),
          until: (round) => ({ value: String((round.result as never)["next"]), at_least: 4 }),
          max: 5,
          every_ms: 1_000,
        }),
      ],
    }));
    await using t = await createTestKernel({ capabilities: [counting, count] });
    const { workflow_id: id, state } = await t.run("Shop.Order");
    expect(state).toBe("completed");
    const children = await childrenOf(t, id);
    expect([...children.keys()]).toEqual(["rounds:1", "rounds:2", "rounds:3"]);
    expect(await outputOf(t, id, "rounds")).toMatchObject({
      workflow_id: children.get("rounds:3"),
      result: { n: 3, next: 4 },
    });
    await replaysAlike(t, id, ...children.values());
    expect((await eventsOf(t, id)).filter(({ event_type }) => event_type === "STEPS_ADDED")).toHaveLength(3);
  });
});
