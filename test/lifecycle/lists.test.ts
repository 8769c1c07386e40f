/** Steps that do one call for each item of a list. */
import { beforeEach, describe, expect, it } from "vitest";
import type { AnyStepDraft } from "../../src/index.ts";
import { memoryLedger } from "../../src/testing/index.ts";
import {
  account,
  atOnce,
  beginAnew,
  braces,
  caller,
  calls,
  each,
  eventsOf,
  failOnce,
  open,
  outputOf,
  people,
  sound,
  stepErrorOf,
  tellAfter,
} from "./payments.ts";

beforeEach(beginAnew);

describe("a step for each item of a list", () => {
  it("calls once for each item, with its own key, and gives the results in the order of the list", async () => {
    await using t = await open([each(people(12))]);
    const id = await t.submit("Bank.PayAll");
    expect(await t.rest(id)).toMatchObject({ state: "completed", error: null });
    expect(calls).toEqual(people(12).map(({ to }) => to));
    expect(await outputOf(t, id)).toEqual({
      total: 12,
      succeeded: 12,
      failed: 0,
      results: people(12).map(({ to, amount }) => ({ key: to, output: { paid: amount } })),
    });
    const keys = (await eventsOf(t, id)).filter(({ event_type }) => event_type === "ACTION_STARTED");
    expect(new Set(keys.map(({ payload }) => payload["key"])).size).toBe(12);
    await sound(t, id);
  });

  it("takes the list from an earlier step, and other outputs beside the item", async () => {
    const steps = [
      { step_id: "list", name: "List", operator: "Bank.List", params: { n: 3 } },
      each(
        "{{list.output.due}}",
        { depends_on: ["list"] },
        {
          operator: "Bank.Tell",
          params: { all: "{{item.output}}", rate: "{{list.output.rate}}", text: "to {{item.output.to}}" },
        },
      ),
    ];
    await using t = await open(steps);
    const id = await t.submit("Bank.PayAll");
    await t.rest(id);
    const { results } = (await outputOf(t, id)) as { results: readonly { output: unknown }[] };
    expect(results[2]?.output).toEqual({ all: { to: "p2", amount: 2 }, rate: 2, text: "to p2" });
  });

  it("is through at once with an empty list", async () => {
    await using t = await open([each([])]);
    const id = await t.submit("Bank.PayAll");
    expect((await t.rest(id)).state).toBe("completed");
    expect(await outputOf(t, id)).toEqual({ total: 0, succeeded: 0, failed: 0, results: [] });
  });

  it("never has more items begun and not ended than its concurrency, whatever the workflow's limit is", async () => {
    for (const [concurrency, limit, most] of [
      [3, 5, 3],
      [8, 5, 8],
      [undefined, 4, 4],
    ] as const) {
      Object.assign(atOnce, { now: 0, most: 0 });
      const more = concurrency === undefined ? {} : { concurrency };
      await using t = await open([each(people(30), more)], { limits: { maxConcurrentSteps: limit } });
      await t.run("Bank.PayAll");
      expect(atOnce.most).toBe(most);
    }
  });

  it("keeps text of an item as text: no reference is read in it", async () => {
    const steps: AnyStepDraft[] = [
      { step_id: "list", name: "List", operator: "Bank.List", params: { n: 0 } },
      each("{{list.output.due}}", { depends_on: ["list"] }),
    ];
    await using t = await open(steps);
    const id = await t.submit("Bank.PayAll");
    await t.rest(id);
    expect(calls).toEqual([braces]);
  });

  it("leaves out the items for which its condition does not hold", async () => {
    await using t = await open([each(people(4), {}, { when: { value: "{{item.output.amount}}", at_least: 2 } })]);
    const id = await t.submit("Bank.PayAll");
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["p2", "p3"]);
    expect(await outputOf(t, id)).toMatchObject({
      total: 4,
      succeeded: 2,
      failed: 0,
      results: [{ key: "p0", skipped: true }, {}, {}, {}],
    });
  });
});

describe("a list that is refused", () => {
  const refusals: readonly [string, unknown, object, string, RegExp][] = [
    ["is none", "no list", {}, "T4_PARAMS_INVALID", /items/],
    ["is too long", people(6), {}, "T4_ITEMS_TOO_MANY", /6 items.*maxItems = 5/],
    [
      "names two items alike",
      [people(1)[0], people(1)[0]],
      {},
      "T4_PARAMS_INVALID",
      /items 0 and 1 have the same key, "p0"/,
    ],
    ["gives an item no key", [{ to: "", amount: 1 }], {}, "T4_PARAMS_INVALID", /gives item 0 no key/],
    ["gives a key that is no text", people(1), { key: "{{item.output}}" }, "T4_PARAMS_INVALID", /gives item 0 no key/],
  ];
  it.each(refusals)("begins no item where it %s", async (_why, items, more, code, words) => {
    const steps = [
      { step_id: "list", name: "List", operator: "Bank.Tell", params: { items: items as never } },
      each("{{list.output.items}}", { depends_on: ["list"], ...more }),
    ];
    await using t = await open(steps, { limits: { maxItems: 5, maxReplans: 0 } });
    const state = await t.run("Bank.PayAll");
    expect(state.state).toBe("failed");
    expect(state.error?.code).toBe(code);
    expect(state.error?.message).toMatch(words);
    expect(calls).toEqual([]);
    await sound(t, state.workflow_id);
  });

  it("leaves the outputs with the items if they are too long for one result", async () => {
    await using t = await open([each(people(12))], { limits: { maxOutputChars: 200 } });
    const id = await t.submit("Bank.PayAll");
    expect(await t.rest(id)).toMatchObject({ state: "completed", error: null });
    expect(await outputOf(t, id)).toEqual({ total: 12, succeeded: 12, failed: 0, outputs: "in_items", results: [] });
    await sound(t, id);
  });
});

describe("items that fail", () => {
  const failing = { limits: { maxReplans: 0, maxConcurrentSteps: 1 } };

  it("fails the step once more have failed than it tolerates: those under way end, no further one begins", async () => {
    await using t = await open([each(people(20, [3, 4]), { tolerate: 1, concurrency: 2 })], failing);
    const id = await t.submit("Bank.PayAll");
    const state = await t.rest(id);
    expect(state).toMatchObject({ state: "failed", error: { code: "T4_ITEMS_FAILED" } });
    expect(stepErrorOf(state)?.detail).toMatchObject({
      total: 20,
      failed: 2,
      failures: [{ key: "p3" }, { key: "p4" }],
    });
    expect(calls.length).toBeLessThan(8);
    const skipped = (await eventsOf(t, id)).filter(({ event_type }) => event_type === "STEP_SKIPPED");
    expect(skipped.length).toBe(20 - calls.length);
    expect(skipped[0]?.payload).toEqual({ reason: "too_many_failed", because: "pay" });
    await sound(t, id);
  });

  it.each([
    [2, "completed"],
    [1, "failed"],
    ["20%", "completed"],
    ["10%", "failed"],
    ["all", "completed"],
    [0, "failed"],
  ] as const)("tolerates %s of ten, two of which fail: %s", async (tolerate, state) => {
    await using t = await open([each(people(10, [1, 9]), { tolerate })], failing);
    expect((await t.run("Bank.PayAll")).state).toBe(state);
  });

  it("gives the failures beside the outputs where they are tolerated, and the plan goes on", async () => {
    const steps = [each(people(3, [1]), { tolerate: "all" }), tellAfter()];
    await using t = await open(steps, failing);
    const id = await t.submit("Bank.PayAll");
    expect(await t.rest(id)).toMatchObject({ state: "completed", progress: { percent: 100 } });
    expect(await outputOf(t, id, "tell")).toMatchObject({
      got: {
        total: 3,
        succeeded: 2,
        failed: 1,
        results: [{}, { key: "p1", error: { message: "no money for p1" } }, {}],
      },
    });
  });

  it("repeats only those that failed or never began, after a retry, under the same keys", async () => {
    await using t = await open([each(people(6, [2]), { concurrency: 1 }), tellAfter()], failing);
    const id = await t.submit("Bank.PayAll");
    await t.rest(id);
    expect(calls).toEqual(["p0", "p1", "p2"]);
    account.isFilled = true;
    await t.kernel.retry(id, { ...caller, mode: "resume_failed_steps" });
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["p0", "p1", "p2", "p2", "p3", "p4", "p5"]);
    expect(await outputOf(t, id)).toMatchObject({ total: 6, succeeded: 6, failed: 0 });
    await sound(t, id);
  });

  it("makes the whole list anew under ids and keys of its own, after a regeneration", async () => {
    await using t = await open([each(people(3, [2]))], failing);
    const id = await t.submit("Bank.PayAll");
    await t.rest(id);
    account.isFilled = true;
    await t.kernel.retry(id, { ...caller, mode: "regenerate", step_ids: ["pay"] });
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual(["p0", "p1", "p2", "p0", "p1", "p2"]);
    expect(await outputOf(t, id, "pay_r1")).toMatchObject({ total: 3, succeeded: 3 });
    await sound(t, id);
  });

  it("makes no call again that had succeeded, where another plan follows", async () => {
    await using t = await open([each(people(4, [2]), { tolerate: "25%", concurrency: 1 }), failOnce()], {
      limits: { maxReplans: 1 },
    });
    const id = await t.submit("Bank.PayAll");
    await t.rest(id);
    expect(calls.filter((to) => to === "p0").length).toBe(1);
    await sound(t, id);
  });
});

describe("items at gates", () => {
  const asked = { gate: { reason: "look at each" } };

  it("has a gate of its own for each item, and begins the next once one has ended", async () => {
    await using t = await open([each(people(3), { concurrency: 2 }, asked)]);
    const id = await t.submit("Bank.PayAll");
    await t.clock.settle();
    const openGates = async () =>
      (await t.kernel.workflow(id)).gates.filter(({ status }) => status === "open").map((one) => one.gate_id);
    expect(await openGates()).toEqual(["gate-pay:0", "gate-pay:1"]);
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await t.approve(id, "gate-pay:1");
    await t.clock.settle();
    expect(await openGates()).toEqual(["gate-pay:0", "gate-pay:2"]);
    await t.approve(id, "gate-pay:0");
    await t.approve(id, "gate-pay:2");
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls.toSorted()).toEqual(["p0", "p1", "p2"]);
    await sound(t, id);
  });

  it("counts a rejected item as a failure of the list: the workflow goes on if that is tolerated", async () => {
    await using t = await open([each(people(2), { tolerate: 1 }, asked)]);
    const id = await t.submit("Bank.PayAll");
    await t.clock.settle();
    await t.reject(id, "gate-pay:0");
    await t.approve(id, "gate-pay:1");
    expect((await t.rest(id)).state).toBe("completed");
    expect(await outputOf(t, id)).toMatchObject({
      succeeded: 1,
      failed: 1,
      results: [{ error: { code: "T5_HUMAN_DENIED" } }, {}],
    });
    await sound(t, id);
  });

  it("fails with its list where the rejection is not tolerated, and no other plan is made", async () => {
    await using t = await open([each(people(2), { concurrency: 1 }, asked)]);
    const id = await t.submit("Bank.PayAll");
    await t.clock.settle();
    await t.reject(id, "gate-pay:0");
    expect(await t.rest(id)).toMatchObject({ state: "failed", error: { code: "T4_ITEMS_FAILED" } });
    expect((await t.types(id)).filter((type) => type === "PLAN_CREATED")).toHaveLength(1);
    await sound(t, id);
  });

  it("goes on in another process after its own has died", async () => {
    const ledger = memoryLedger();
    const id = await (async () => {
      await using first = await open([each(people(3), {}, asked)], { ledger });
      const made = await first.submit("Bank.PayAll");
      await first.clock.settle();
      return made;
    })();
    await using t = await open([each(people(3), {}, asked)], { ledger, seed: 2 });
    for (const n of [2, 0, 1]) await t.approve(id, `gate-pay:${n}`);
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls.toSorted()).toEqual(["p0", "p1", "p2"]);
    await sound(t, id);
  });

  it("ends with its workflow where that is cancelled", async () => {
    await using t = await open([each(people(3), {}, asked)]);
    const id = await t.submit("Bank.PayAll");
    await t.clock.settle();
    await t.kernel.cancel(id, { ...caller, reason: "enough" });
    const state = await t.rest(id);
    expect(state.state).toBe("cancelled");
    expect(state.gates.every(({ status }) => status === "voided")).toBe(true);
    await sound(t, id);
  });
});
