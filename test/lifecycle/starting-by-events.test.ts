/** Work that begins when an event from outside arrives. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator, type KernelOptions } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";

const orders: unknown[] = [];
const book = defineOperator({
  name: "Shop.Book",
  input: z.object({ order: z.string(), from: z.string() }),
  output: z.null(),
  run: ({ input }) => {
    orders.push(input);
    return null;
  },
});
const shop = defineCapability({
  intentType: "Shop.Order",
  version: "1.0",
  input: z.object({ order: z.string(), from: z.string() }),
  operators: [book],
  plan: ({ input, step }) => ({
    reasoning: "book it",
    steps: [step({ step_id: "book", name: "Book", operator: "Shop.Book", params: input })],
  }),
});
const inputs = { order: "{{event.output.payload.id}}", from: "{{event.output.key}}" };
const on = [{ event: "order.placed", intent_type: "Shop.Order", inputs }];
const as = { tenant_id: 1, principal: { type: "service", id: "shop", role: "user" } } as const;
const placed = { ...as, name: "order.placed", key: "web", payload: { id: "o-1" }, event_id: "e-1" };

async function open(options: Partial<KernelOptions> = {}): Promise<TestKernel> {
  orders.length = 0;
  return createTestKernel({ capabilities: [shop], on, ...options });
}

describe("an event that begins work", () => {
  it("is submitted by its sender, with inputs taken from the event", async () => {
    await using t = await open();
    const { status, started } = await t.kernel.emit(placed);
    expect([status, started]).toEqual([
      "kept",
      [{ intent_type: "Shop.Order", workflow_id: expect.any(String), error: null }],
    ]);
    const state = await t.rest(started[0]?.workflow_id as string);
    expect(state).toMatchObject({ state: "completed", intent: { actor: { id: "shop" } } });
    expect(orders).toEqual([{ order: "o-1", from: "web" }]);
  });

  it("begins it once, however often the event is sent, and whatever was lost in between", async () => {
    await using t = await open();
    const answers = await Promise.all([1, 2, 3].map(() => t.kernel.emit(placed)));
    const [first] = answers.map(({ started }) => started[0]?.workflow_id);
    expect(answers.map(({ started }) => started[0]?.workflow_id)).toEqual([first, first, first]);
    await t.rest(first as string);
    expect(orders).toHaveLength(1);
  });

  it("leaves events of other names alone", async () => {
    await using t = await open();
    expect((await t.kernel.emit({ ...placed, name: "order.paid" })).started).toEqual([]);
  });

  it.each([
    ["lacks what the inputs need", { payload: {} }, "T4_EVENT_INVALID"],
    ["gives inputs that the package refuses", { payload: { id: 7 } }, "T1_NORMALIZE_INPUTS_INVALID"],
  ])("is received and says the refusal where it %s", async (_what, more, code) => {
    await using t = await open();
    const { started } = await t.kernel.emit({ ...placed, ...more });
    expect(started).toMatchObject([{ workflow_id: null, error: { code } }]);
    expect(orders).toEqual([]);
  });

  it.each([
    ["an unknown package", { intent_type: "Shop.Nothing" }, /no package takes it/],
    ["a reference to a step", { inputs: { order: "{{find.output.id}}" } }, /no reference to the event/],
    ["an unknown key", { when: 1 }, /when/],
  ])("is refused with the options of a kernel for %s", async (_what, more, words) => {
    const rule = { ...on[0], ...more } as never;
    const refusal = await refusalOf(createKernel({ capabilities: [shop], on: [rule] }));
    expect(refusal).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", message: expect.stringMatching(words) });
  });
});
