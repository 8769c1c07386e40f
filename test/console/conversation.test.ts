/** The conversation at a gate in the console: who looks after it, comments, questions and their answers, snoozes. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { admin, ann, bo, hashOf, openSite, type Site } from "./site.ts";

const pay = counted("Bank.Pay", { effect: "write_draft" });
const paying = story([pay], [step("pay", pay, { name: "Pay Miller", gate: { reason: "two pairs of eyes" } })], {
  takesInput: true,
});
const roles = {
  user: { scopes: ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"] },
  admin: { scopes: ["outcome:read", "gate:approve", "gate:comment:none"] },
};

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

it("is led by keyboard, lives while others write, and is read alone by who may not write", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying], roles } });
  const id = await begin(site);
  const conversation = async () => (await site.kernel.gate(id, "gate-pay")).conversation;
  await using visitor = await site.enter(bo);
  const { page, complaints } = visitor;
  await page.goto(site.url + hashOf(id, "/g/gate-pay"));
  const part = page.getByRole("region", { name: "Conversation" });
  await part.getByText("Nobody looks after it.").waitFor();
  await page.keyboard.press("m");
  await part.getByText("You look after it.").waitFor();
  await page.keyboard.press("c");
  await page.keyboard.type("Is the account new?");
  await page.keyboard.press("Tab");
  await page.keyboard.type("cy, agent:planner");
  await page.getByLabel(/It is a question to whoever asked/).press("Space");
  await part.getByRole("button", { name: "Ask", exact: true }).press("Enter");
  await part.getByText("user bo asks those who asked for the work and user cy, agent planner").waitFor();
  expect(await part.getByLabel(/^Your comment/).inputValue()).toBe("");
  expect(await page.locator("textarea:focus").count()).toBe(1);
  expect(await conversation()).toMatchObject({
    comments: [
      {
        text: "Is the account new?",
        asks: true,
        mentions: [
          { type: "user", id: "cy" },
          { type: "agent", id: "planner" },
        ],
      },
    ],
    assigned_to: { type: "user", id: "bo" },
  });
  // Another person's comment, and the message by which the requester answers, come by themselves.
  await site.kernel.addInput(id, { ...ann, text: "No, it is the old one." });
  await part.getByText("No, it is the old one.").waitFor();
  const comment = { text: "I have seen\u202e it." };
  await site.kernel.noteGate(id, { ...ann, gate_id: "gate-pay", comment });
  await part.getByText(/^I have seen/).waitFor();
  await page.getByRole("status").getByText("user ann wrote: I have seen").waitFor();
  expect(await part.locator(".thread > li").allTextContents()).toHaveLength(3);
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);

  await page.goto(`${site.url}/#/home`);
  await page
    .locator(".tile", { hasText: "Yours to look after" })
    .getByRole("link", { name: "Pay Miller" })
    .press("Enter");
  await part.getByText("Assign, snooze or watch").press("Enter");
  await part.getByRole("button", { name: "Watch", exact: true }).press("Enter");
  await part.getByRole("button", { name: "Watch no longer" }).waitFor();
  await part.getByLabel(/^Not in my inbox/).selectOption("for four hours");
  await part.getByRole("button", { name: "Snooze" }).press("Enter");
  await part.getByText("You have snoozed it until").waitFor();
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  await page.goto(`${site.url}/#/`);
  await page.getByText("Nothing waits for you.").waitFor();
  await page.getByLabel("Show").selectOption("I have snoozed");
  const notes = await page.locator(".item .item-notes").textContent();
  expect(notes).toMatch(/^You look after it · snoozed until .* · 2 comments$/);
  await page.getByLabel("Show").selectOption("I look after");
  await page.getByText("No decision is like that.").waitFor();

  await using reader = await site.enter(admin);
  await reader.page.goto(site.url + hashOf(id, "/g/gate-pay"));
  const read = reader.page.getByRole("region", { name: "Conversation" });
  await read.getByText("Is the account new?").waitFor();
  expect(await read.locator("form, button, details").count()).toBe(0);
  expect([...complaints, ...reader.complaints]).toEqual([]);
});
