/** What waits for people below a workflow: the gates of its children, listed at the workflow that they lead to. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/index.ts";
import { describeGate } from "../../src/protocol/describe-gate.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { childOf, fresh, order, pay, replaysAlike } from "./shop-children.ts";

const trip = defineCapability({
  intentType: "Shop.Trip",
  version: "1.0",
  input: z.looseObject({}),
  operators: [],
  plan: ({ run }) => ({
    reasoning: "an order inside",
    steps: [run({ step_id: "pay", name: "Order", capability: order, input: { asks: true } })],
  }),
});

describe("the gates under a workflow", () => {
  it("are its own and those of its children at every level, with the path that leads to them", async () => {
    fresh();
    await using t = await createTestKernel({ capabilities: [trip, order, pay] });
    const other = await t.submit("Shop.Order", { asks: true });
    const top = await t.submit("Shop.Trip");
    await t.clock.settle();
    const middle = await childOf(t, top);
    const bottom = await childOf(t, middle);
    const under = async (id: string) => [...(await t.kernel.gates({ under: id }, testCaller))];
    const [gate, ...more] = await under(top);
    const path = [
      { workflow_id: top, step_id: "pay" },
      { workflow_id: middle, step_id: "pay" },
    ];
    expect([gate?.workflow_id, gate?.gate_id, gate?.path, more]).toEqual([bottom, "gate-book", path, []]);
    expect(await t.kernel.gates({ under: top, mine: true }, testCaller)).toHaveLength(1);
    for (const id of [middle, bottom]) expect((await under(id)).map((one) => one.workflow_id)).toEqual([bottom]);
    expect((await under(other)).map((one) => one.path?.length)).toEqual([1]);
    const facts = describeGate(await t.kernel.gate(bottom, "gate-book", testCaller)).flatMap((one) => one.facts);
    expect(facts.filter(({ name }) => name === "within").map(({ text }) => text)).toEqual([
      `step pay of ${top}`,
      `step pay of ${middle}`,
    ]);

    const chosen = { gate_id: "gate-book", decision: "approve", payload: {} } as const;
    await t.kernel.decideGate(gate?.workflow_id ?? "", { ...testCaller, ...chosen });
    await t.rest(bottom);
    expect((await t.rest(top)).state).toBe("completed");
    expect(await under(top)).toEqual([]);
    await replaysAlike(t, top, middle, bottom);
  });
});
