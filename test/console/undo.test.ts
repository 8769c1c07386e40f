/** A decision that is held before it is sent: undone, sent once its time is over, or as its author leaves the page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

const pay = counted("Bank.Pay", { effect: "write_draft" });
const hour = 3_600_000;
const gate = { reason: "two pairs of eyes" };
const expiry = { after_ms: hour, action: "deny" as const };
const paying = story(
  [pay],
  ["first", "second", "third", "fourth"]
    .map((name) => step(name, pay, { gate }))
    .concat(step("soon", pay, { gate: { ...gate, expiry } })),
);

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

const pageOf = (page: Page, run: string) => ({
  approve: () => page.getByRole("button", { name: "Approve", exact: true }).press("Enter"),
  bar: page.getByRole("region", { name: "Decision that is held" }),
  open: async (name: string) => {
    await page.goto(`${run}/g/gate-${name}`);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
  },
});

it("is undone with its comment kept, counts once, and is never held where the gate is due soon", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const id = await begin(site);
  const statusOf = async (name: string) => (await site.kernel.gate(id, `gate-${name}`)).status;
  await using visitor = await site.enter(bo, { holds: true });
  const { page, complaints } = visitor;
  const { approve, open, bar } = pageOf(page, site.url + hashOf(id));
  const posted: string[] = [];
  page.on("request", (request) => request.method() === "POST" && posted.push(new URL(request.url()).pathname));
  await page.clock.install();
  await page.reload();

  await open("first");
  await page.getByLabel(/^Comment/).fill("as ordered");
  await approve();
  await bar.getByText(/“Approve” at first is sent in \d s\./).waitFor();
  await page.locator("#decision:focus").waitFor();
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
  await page.keyboard.press("z");
  await page.locator("#decision:focus").waitFor();
  expect(await bar.count()).toBe(0);
  expect(await page.getByLabel(/^Comment/).inputValue()).toBe("as ordered");
  await page.clock.runFor(20_000);
  expect([await statusOf("first"), posted]).toEqual(["open", []]);

  // Its time is over.
  await approve();
  await bar.waitFor();
  await page.clock.runFor(7_000);
  await page.getByRole("region", { name: "Last decision" }).getByText("Approved. The work goes on.").waitFor();
  expect(await statusOf("first")).toBe("approved");

  // Beside the list the next gate is shown at once, and z leads back to the one that was held.
  await page.goto(`${site.url}/#/`);
  await page.getByRole("link", { name: "second" }).press("Enter");
  await page.locator("#detail h1:focus", { hasText: "second" }).waitFor();
  await approve();
  await page.locator("#detail h1:focus").filter({ hasNotText: "second" }).waitFor();
  await page.keyboard.press("z");
  await page.getByRole("heading", { name: "second", level: 1 }).waitFor();
  expect(await statusOf("second")).toBe("open");

  // Another decision has the one that is held sent; leaving the page does so as well, and nothing is left unsent.
  await approve();
  await bar.waitFor();
  await open("third");
  await approve();
  await expect.poll(() => statusOf("second")).toBe("approved");
  await page.reload();
  await expect.poll(() => statusOf("third")).toBe("approved");
  await page.getByRole("heading", { name: "Your answer did arrive, and counts." }).waitFor();
  expect(await page.getByText("was not sent").count()).toBe(0);
  // What a page sends as it is left is not seen here.
  expect(posted.filter((path) => path.endsWith("/gate"))).toHaveLength(2);

  await open("soon");
  await approve();
  await expect.poll(() => statusOf("soon")).toBe("approved");
  await open("fourth");
  await page.keyboard.press("?");
  await page.getByLabel("Hold decisions for some seconds, so that they can be undone").uncheck();
  await page.getByRole("button", { name: "Close", exact: true }).last().press("Enter");
  await approve();
  await expect.poll(() => statusOf("fourth")).toBe("approved");
  expect(pay.calls).toHaveLength(5);
  expect(complaints).toEqual([]);
});

it("is found as an answer that was not sent where the page is left and nothing arrives", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const id = await begin(site);
  await using visitor = await site.enter(bo, { holds: true });
  const { page, context, complaints } = visitor;
  // What is sent as the page is left does not arrive.
  await context.addInitScript(`
    const send = window.fetch;
    window.fetch = (path, init) => (init?.keepalive ? Promise.reject(new TypeError("away")) : send(path, init));
  `);
  await page.reload();
  const { approve, open, bar } = pageOf(page, site.url + hashOf(id));
  await open("first");
  await page.getByLabel(/^Comment/).fill("as ordered");
  await approve();
  await bar.waitFor();
  await page.reload();
  await page.getByText("“Approve”, with the comment “as ordered”").waitFor();
  expect((await site.kernel.gate(id, "gate-first")).status).toBe("open");
  await page.getByRole("button", { name: "Send it again" }).press("Enter");
  await page.getByRole("heading", { name: "Approved. The work goes on." }).waitFor();
  expect((await site.kernel.gate(id, "gate-first")).decision).toMatchObject({ comment: "as ordered" });
  expect(complaints).toEqual([]);
});
