/** The inbox in groups by kind of work: how many gates each has, and the sums that their operators present. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { admin, ann, openSite } from "./site.ts";

const Amount = z.object({ to: z.string(), cents: z.int() });
const work = (intentType: string) => {
  const pay = defineOperator({
    name: `${intentType}.Do`,
    ...{ input: Amount, effect: "external_send" as const, run: () => 1 },
    present: {
      title: ({ to }) => `For ${to}`,
      facts: [{ label: "Amount", value: ({ cents }) => cents / 100, format: "money", currency: "EUR", total: true }],
    },
  });
  return defineCapability({
    ...{ intentType, version: "1.0", input: Amount, operators: [pay] },
    plan: ({ input, step }) => ({
      reasoning: "one call",
      steps: [
        step({ step_id: "do", name: "Do", operator: `${intentType}.Do`, params: input, gate: { reason: "look" } }),
      ],
    }),
  });
};

it("groups what waits by its kind, with the number and the exact sum of each group, by keyboard", async () => {
  await using site = await openSite({ kernel: { capabilities: [work("Shop.Refund"), work("Bank.Payment")] } });
  const begin = async (intent_type: string, cents: number, i: number) => {
    const inputs = { to: `${intent_type} ${i}`, cents };
    const { workflow_id } = await site.kernel.submit({ ...admin, intent_hint: { intent_type, inputs } });
    await site.kernel.settled(workflow_id);
  };
  for (const [i, cents] of [10, 20, 30].entries()) await begin("Bank.Payment", cents, i);
  await begin("Shop.Refund", 123_456, 0);
  await using visitor = await site.enter(ann);
  const { page, complaints } = visitor;
  await page.getByText("4 decisions wait for you.").waitFor();
  await page.getByText("Filters", { exact: true }).press("Enter");
  await page.getByRole("combobox", { name: "Group" }).selectOption({ label: "by kind of work" });
  const heads = page.locator(".group");
  await heads.nth(1).waitFor();
  expect(await heads.allTextContents()).toEqual([
    "Bank.Payment3 decisions · Amount 0.60 EUR",
    "Shop.Refund1 decision · Amount 1,234.56 EUR",
  ]);
  await page.getByRole("heading", { name: "Bank.Payment", exact: true }).waitFor();
  expect(page.url()).toContain("group=type");
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await heads.first().waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0);
  // A list of which not all is shown says so.
  for (let i = 0; i < 49; i += 1) await begin("Bank.Payment", 10, i + 3);
  await page.reload();
  await page.locator(".group", { hasText: "decisions shown" }).first().waitFor();
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await page.locator(".group", { hasText: /^Bank\.Payment52 decisions · Amount 5\.50 EUR$/ }).waitFor();
  expect(complaints).toEqual([]);
});
