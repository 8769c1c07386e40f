/** The list of a workflow's items and rounds, page by page. */
import { beforeEach, describe, expect, it } from "vitest";
import type { AnyStepDraft } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { childrenOf, sums, templated } from "./list-shop.ts";
import { fresh, pay, shop } from "./shop-children.ts";

beforeEach(fresh);

describe("the items of a workflow", () => {
  it("are read page by page in the order of the list, each with key, child, output or error", async () => {
    const begun = (sum: number) => ({ operator: "Shop.Take", params: { sum } });
    const mixed = shop(({ run, each }) => ({
      reasoning: "two lists",
      steps: [
        { kind: "each", step_id: "take", name: "Take", params: { items: ["a", "b"] }, do: begun(1) },
        each({
          step_id: "pay",
          name: "Pay",
          items: sums.map((sum) => ({ sum })),
          do: (item) => run({ capability: pay, input: { sum: item.sum } }),
          key: (item) => item.sum,
          tolerate: "all",
          depends_on: [{ step_id: "take" }],
        }),
      ] as AnyStepDraft[],
    }));
    await using t = await createTestKernel({ capabilities: [mixed, pay] });
    const { workflow_id: id } = await t.run("Shop.Order");
    const children = await childrenOf(t, id);
    const all = await t.kernel.items(id);
    expect(all.next).toBe(null);
    expect(all.items.map(({ step_id, of, key }) => [step_id, of, key])).toEqual([
      ["take:0", "take", "0"],
      ["take:1", "take", "1"],
      ...sums.map((sum, i) => [`pay:${i}`, "pay", String(sum)]),
    ]);
    expect(all.items[3]).toMatchObject({
      ...{ state: "succeeded", child: children.get("pay:1"), error: null, skip_reason: null, run: 1 },
      output: { workflow_id: children.get("pay:1"), outcome: { taken: "book", sum: 2 } },
    });
    const first = await t.kernel.items(id, { of: "pay", limit: 3 });
    const second = await t.kernel.items(id, { of: "pay", limit: 3, after: first.next as string });
    expect([first.next, second.next]).toEqual(["pay:2", null]);
    expect([...first.items, ...second.items]).toEqual(all.items.slice(2));
    for (const filter of [
      { of: "nobody" },
      { after: "take" },
      { of: "pay", after: "take:1" },
      { step: "pay" } as object,
    ])
      await expect(t.kernel.items(id, filter)).rejects.toMatchObject({
        error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" },
      });
    const other = { tenant_id: 2, principal: testCaller.principal };
    await expect(t.kernel.items(id, {}, other)).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
  });

  it("have long outputs on a page of one item alone", async () => {
    const long = templated({ operator: "Shop.Take", params: { text: "x".repeat(20_000) } });
    await using t = await createTestKernel({ capabilities: [long] });
    const { workflow_id: id } = await t.run("Shop.Order");
    expect((await t.kernel.items(id)).items[0]).toMatchObject({ state: "succeeded", output: null, truncated: true });
    const { items } = await t.kernel.items(id, { limit: 1, after: "pay:0" });
    expect(items).toMatchObject([{ step_id: "pay:1", output: { taken: "pay:1" } }]);
    expect(items[0]?.truncated).toBeUndefined();
  });
});
