/** A stand-in at the console: the inbox and the gate say for whom one decides before one does. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { admin, ann, bo, hashOf, openSite } from "./site.ts";

const pay = counted("Bank.Pay", { effect: "write_draft" });
const gate = { reason: "two pairs of eyes", approvers: [{ type: "user", id: "bo" }] };

it("shows a stand-in what waits for who is away, says for whom they decide, and shows both at the vote", async () => {
  await using site = await openSite({ kernel: { capabilities: [story([pay], [step("pay", pay, { gate })])] } });
  const { workflow_id: id } = await site.kernel.submit({ ...admin, intent_hint: { intent_type: intent } });
  await site.kernel.settled(id);
  await using visitor = await site.enter(ann);
  const { page, complaints } = visitor;
  await page.getByText("Nothing waits for you.").waitFor();
  const until = new Date(Date.now() + 86_400_000).toISOString();
  await site.kernel.standIn({ ...bo, to: { id: "ann" }, until, reason: "travelling" });
  await page.reload();
  const row = page.locator("[data-row]", { hasText: "pay" });
  await row.getByText("You decide for user bo").waitFor();
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  await row.getByRole("link", { name: "pay" }).press("Enter");
  const card = page.locator(".decision");
  await card.getByText("You decide for user bo, who is away. The record names both of you.").waitFor();
  await card.getByRole("button", { name: "Approve", exact: true }).press("Enter");
  await page.getByText("Approved. The work goes on.").first().waitFor();
  const { decision } = await site.kernel.gate(id, "gate-pay");
  expect(decision).toMatchObject({ principal: { id: "ann" }, on_behalf_of: { id: "bo" } });
  await page.goto(site.url + hashOf(id));
  await page
    .getByText(/approved by user ann \(user\) in the place of user bo/)
    .first()
    .waitFor();
  expect(complaints).toEqual([]);
});

it("says nothing of anybody else to who decides in a seat of their own", async () => {
  await using site = await openSite({ kernel: { capabilities: [story([pay], [step("pay", pay, { gate })])] } });
  const { workflow_id: id } = await site.kernel.submit({ ...admin, intent_hint: { intent_type: intent } });
  await site.kernel.settled(id);
  await using visitor = await site.enter(bo);
  const { page } = visitor;
  await page.locator("[data-row]", { hasText: "pay" }).waitFor();
  expect(await page.getByText("You decide for").count()).toBe(0);
  await page.goto(site.url + hashOf(id, "/g/gate-pay"));
  await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
  expect(await page.getByText("You decide for").count()).toBe(0);
});
