/** The items of a list in the console: read once they are opened, page by page, each with its end and its child. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, defineOperator, operatorError } from "../../src/index.ts";
import { ann, hashOf, openSite } from "./site.ts";

const take = defineOperator({
  name: "Shop.Take",
  effect: "read",
  input: z.object({ n: z.int() }),
  output: z.object({ text: z.string() }),
  run: ({ input: { n } }) => {
    if (n === 1) throw operatorError({ code: "NO_STOCK", message: "there is none left", retryable: false });
    return { text: n === 2 ? `begin ${"x".repeat(20_000)} end` : `item ${n}` };
  },
});
const pay = defineCapability({
  intentType: "Shop.Pay",
  version: "1.0",
  input: z.looseObject({}),
  operators: [take],
  plan: {
    reasoning: "one",
    steps: [{ step_id: "take", name: "Take", operator: "Shop.Take", params: { n: 3 } }],
  },
});
const order = defineCapability({
  intentType: "Shop.Order",
  version: "1.0",
  input: z.looseObject({}),
  operators: [take],
  plan: {
    reasoning: "a list of calls, and one of children",
    steps: [
      {
        ...{ kind: "each", step_id: "all", name: "Take all", tolerate: "all" },
        ...{ params: { items: Array.from({ length: 55 }, (_, n) => n) } },
        do: { operator: "Shop.Take", params: { n: "{{item.output}}" } },
      },
      {
        ...{ kind: "each", step_id: "pay", name: "Pay all", params: { items: ["x"] }, depends_on: ["all"] },
        do: { kind: "run", params: { intent: "Shop.Pay" } },
      },
    ] as unknown as AnyStepDraft[],
  },
});

it("lists the items of a step with their ends, the next page on request, and leads to children", async () => {
  await using site = await openSite({ kernel: { capabilities: [order, pay] } });
  const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: "Shop.Order" } });
  expect((await site.kernel.settled(id)).state).toBe("completed");
  await using visitor = await site.enter(ann);
  const { page, complaints } = visitor;
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  await page.goto(site.url + hashOf(id));
  // The children of the list may have done what can be undone.
  await page.getByText("Roll back…").waitFor();
  await page.getByRole("button", { name: /^Take all/ }).press("Enter");
  const all = page.getByText("55 items: 54 done, 1 failed, 0 under way");
  await all.waitFor();
  expect(asked.filter((url) => url.includes("/items"))).toEqual([]);
  await all.press("Enter");
  const rows = page.getByRole("region", { name: "Items" }).locator("tbody tr");
  await rows.nth(49).waitFor();
  expect(await rows.count()).toBe(50);
  expect(await rows.nth(1).textContent()).toContain("there is none left (");
  await rows.nth(2).getByText("a long output").press("Enter");
  await rows
    .nth(2)
    .getByText(/begin x+/)
    .waitFor();
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await rows.nth(54).waitFor();
  expect(await rows.nth(54).textContent()).toContain('{"text":"item 54"}');
  expect(await page.getByRole("button", { name: "Show more" }).count()).toBe(0);

  await page.getByRole("button", { name: /^Pay all/ }).press("Enter");
  await page.getByText("1 item: 1 done").press("Enter");
  await rows.getByRole("link").press("Enter");
  await page.getByText(/^Child of step pay:0 of/).waitFor();
  expect(complaints).toEqual([]);
});
