/** The console's page of budgets: each ceiling with what is used of it, the nearest first, page by page. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import type { Budgets } from "../../src/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { admin, ann, openSite, type Site } from "./site.ts";

const work = counted("Note.Work", {}, () => "done");
const capabilities = [story([work], [step("a", work)])];

async function runTimes(site: Site, n: number): Promise<void> {
  const of = () => site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  for (const { workflow_id } of await Promise.all(Array.from({ length: n }, of)))
    await site.kernel.settled(workflow_id);
}

it("shows what is used of each ceiling and when counting begins anew, from Home by keyboard", async () => {
  const budgets: Budgets = {
    maxCost: 50,
    limits: [
      { scope: "principal", id: "\u202Eeve", window: "month", money: 100 },
      { scope: "principal", id: "bo", window: "month", money: 100 },
      { scope: "tenant", window: "day", invocations: 2 },
    ],
  };
  await using site = await openSite({ kernel: { capabilities, budgets } });
  await runTimes(site, 2);
  await using visitor = await site.enter(admin);
  const { page, complaints } = visitor;
  await page.goto(`${site.url}/#/home`);
  const tile = page.locator(".tile", { hasText: "Spend" });
  await tile.locator("span", { hasText: "2 of 2 calls" }).waitFor();
  await tile.getByText("used up").waitFor();
  await tile.getByRole("link", { name: "Spend" }).press("Enter");
  await page.getByRole("row", { name: /^the whole tenant all its work 2 of 2 calls used up.* a day in / }).waitFor();
  const rows = page.locator("tbody tr");
  expect(await rows.first().textContent()).toContain("the whole tenant");
  await page.getByRole("row", { name: /^a person bo 0 of 100 money.* a month in / }).waitFor();
  await page.getByRole("row", { name: /^a person .*eve 0 of 100 money/ }).waitFor();
  expect(await rows.last().textContent()).toMatch(/a request.*each.*at most 50 cost units.*in each run.*never/);
  expect(await page.locator("table").textContent()).not.toContain("\u202E");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const beyond = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(beyond).toBe(0);
  expect(complaints).toEqual([]);
});

it("goes through 600 ceilings page by page, each once, by keyboard", async () => {
  const limits = Array.from({ length: 600 }, (_, i) => ({ scope: "principal", id: `p${i}`, money: 10 }) as const);
  await using site = await openSite({ kernel: { capabilities, budgets: { limits } } });
  await using visitor = await site.enter(admin);
  const { page, complaints } = visitor;
  await page.goto(`${site.url}/#/budgets`);
  const seen: string[] = [];
  for (let at = 0; at < 12; at += 1) {
    await page.getByRole("row", { name: new RegExp(`^a person p${50 * at} `) }).waitFor();
    seen.push(...(await page.locator("tbody tr td:nth-child(2)").allTextContents()));
    if (at < 11) await page.getByRole("button", { name: "More", exact: true }).press("Enter");
  }
  expect(seen).toEqual(limits.map(({ id }) => id));
  expect(complaints).toEqual([]);
});
