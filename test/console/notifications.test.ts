/** Notifications of the browser: a button alone asks for them, and they carry no more than a title and a reason. */
import { expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite } from "./site.ts";

const pay = counted("Bank.Pay", { effect: "write_draft" });
const paying = story(
  [pay],
  [step("pay", pay, { name: "Pay Miller", gate: { approvers: [{ id: "bo" }] }, params: { iban: "DE02 1203" } })],
);

/** A browser that keeps the notifications, and a page without the focus. */
const stub = `
  globalThis.shown = [];
  globalThis.asked = 0;
  globalThis.Notification = class {
    static get permission() { return localStorage.getItem("permission") ?? "default"; }
    static async requestPermission() { asked += 1; localStorage.setItem("permission", "granted"); }
    constructor(title, { body }) { this.text = title + ": " + body; shown.push(this); }
    close() {}
  };
  document.hasFocus = () => false;
`;

it("come once the button is pressed: a gate that waits, a mention, and what one is to look after", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const begin = async () => {
    const { workflow_id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
    await site.kernel.settled(workflow_id);
    return workflow_id;
  };
  await using visitor = await site.enter(bo);
  const { page, context, complaints } = visitor;
  await context.addInitScript(stub);
  await page.reload();
  await page.getByText("live", { exact: true }).waitFor();
  const shown = () => page.evaluate("shown.map(({ text }) => text)");
  const before = await begin();
  await page.getByRole("link", { name: "Pay Miller" }).waitFor();
  expect([await shown(), await page.evaluate("asked")]).toEqual([[], 0]);

  const button = page.getByRole("button", { name: "Notify me", pressed: false });
  await button.press("Enter");
  await page.getByRole("button", { name: "Notify me", pressed: true }).waitFor();
  const id = await begin();
  await expect.poll(shown).toEqual(["Pay Miller: It waits for your decision"]);
  const at = { ...ann, gate_id: "gate-pay" };
  await site.kernel.noteGate(before, { ...at, comment: { text: "nobody in particular" } });
  await site.kernel.noteGate(id, { ...at, comment: { text: "look", mentions: [{ id: "bo" }] } });
  await expect.poll(shown).toHaveLength(2);
  await site.kernel.noteGate(before, { ...at, assign: { id: "bo" } });
  await expect
    .poll(shown)
    .toEqual([
      "Pay Miller: It waits for your decision",
      "Pay Miller: user ann mentions you in a comment",
      "Pay Miller: You are to look after it",
    ]);
  await page.evaluate("shown[1].onclick()");
  await page.waitForURL((url) => url.href.endsWith(hashOf(id, "/g/gate-pay").slice(1)));
  await page.reload();
  await page.locator("h1:focus").waitFor();
  await page.getByRole("button", { name: "Notify me", pressed: true }).press("Enter");
  await page.getByRole("button", { name: "Notify me", pressed: false }).waitFor();
  expect(await page.evaluate("asked")).toBe(0);
  expect(complaints).toEqual([]);
});
