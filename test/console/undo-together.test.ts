/** Several decisions that are held together before they are sent, and the bar that says so, also on a phone. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { counted, intent, step, story } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

const pay = counted("Bank.Pay", { effect: "write_draft" });
const hour = 3_600_000;
const gate = { reason: "two pairs of eyes" };
const soon = { ...gate, expiry: { after_ms: hour, action: "deny" as const } };
const names = ["first", "second", "third"];
const paying = story([pay], names.map((name) => step(name, pay, { gate })).concat(step("soon", pay, { gate: soon })));

async function begin({ kernel }: Site): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

async function select(page: Page, chosen: readonly string[]): Promise<void> {
  for (const name of chosen) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
}

const barOf = (page: Page) => page.getByRole("region", { name: "Decision that is held" });

it("are undone together with their selection and comment kept; what is due soon is sent at once", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const id = await begin(site);
  const statusOf = async (name: string) => (await site.kernel.gate(id, `gate-${name}`)).status;
  await using visitor = await site.enter(bo, { holds: true });
  const { page, complaints } = visitor;
  await page.clock.install();
  await page.reload();
  await select(page, ["first", "second"]);
  await page.getByLabel("Comment on each, for the record").fill("as ordered");
  await page.getByRole("button", { name: "Approve all 2" }).press("Enter");
  await barOf(page)
    .getByText(/“Approve” at 2 decisions is sent in \d s\./)
    .waitFor();
  await page.locator("#bulk:focus").waitFor();
  expect(await page.getByRole("button", { name: "Approve all 2" }).isDisabled()).toBe(true);
  await page.keyboard.press("z");
  await page.locator("#bulk:focus").waitFor();
  expect(await page.getByLabel("Comment on each, for the record").inputValue()).toBe("as ordered");
  await page.clock.runFor(20_000);
  expect([await statusOf("first"), await statusOf("second")]).toEqual(["open", "open"]);

  await select(page, ["soon"]);
  await page.getByRole("button", { name: "Approve all 3" }).press("Enter");
  await expect.poll(() => statusOf("soon")).toBe("approved");
  await barOf(page).getByText("at 2 decisions").waitFor();
  expect([await statusOf("first"), await statusOf("second")]).toEqual(["open", "open"]);
  await page.clock.runFor(7_000);
  await page.getByRole("region", { name: "Last decision" }).getByText("2 decisions made, 0 refused").waitFor();
  expect([await statusOf("first"), await statusOf("second")]).toEqual(["approved", "approved"]);
  expect((await site.kernel.gate(id, "gate-first")).decision).toMatchObject({ comment: "as ordered" });
  expect(await page.locator(".unsent").count()).toBe(0);
  expect(complaints).toEqual([]);
});

it("are sent once as their author leaves the page, and none is lost or left unsent", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const id = await begin(site);
  const statusOf = async (name: string) => (await site.kernel.gate(id, `gate-${name}`)).status;
  await using visitor = await site.enter(bo, { holds: true });
  const { page, complaints } = visitor;
  await select(page, ["first", "second"]);
  await page.getByRole("button", { name: "Reject all 2" }).press("Enter");
  await barOf(page).waitFor();
  await page.goto("about:blank");
  await expect.poll(() => statusOf("first")).toBe("rejected");
  await expect.poll(() => statusOf("second")).toBe("rejected");
  expect(await statusOf("third")).not.toBe("rejected");
  expect(complaints).toEqual([]);
});

/** Returns the controls of which some other element lies over the middle once they are scrolled to. */
const coveredOn = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
    const all = [...document.querySelectorAll("button, a[href], input, textarea, select, summary")];
    return all.filter((one) => one.checkVisibility() && one.getClientRects().length > 0).flatMap((one) => {
      const bar = document.querySelector(".held");
      if (bar === null) return ["no bar"];
      if (bar.contains(one)) return [];
      const [a, b] = [one.getBoundingClientRect(), bar.getBoundingClientRect()];
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      return apart ? [] : [one.textContent || one.name || one.tagName];
    });
  })()`);

it("stand on a phone beside their buttons or above the page, and never over anything that can be pressed", async () => {
  await using site = await openSite({ kernel: { capabilities: [paying] } });
  const id = await begin(site);
  await using visitor = await site.enter(bo, { holds: true });
  const { page, complaints } = visitor;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.clock.install();
  await page.reload();
  await page.goto(`${site.url}${hashOf(id, "/g/gate-first")}`);
  const approve = page.getByRole("button", { name: "Approve", exact: true });
  await approve.press("Enter");
  const note = page.locator(".decision .note", { hasText: "until then it can be undone" });
  await note.getByRole("button", { name: "Undo" }).waitFor();
  expect(await barOf(page).count()).toBe(0);
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);

  // Wherever one goes and scrolls, it lies over nothing.
  for (const place of ["/#/", hashOf(id, "/g/gate-second"), "/#/runs"]) {
    await page.evaluate(`location.assign(${JSON.stringify(place.slice(1))})`);
    await barOf(page).waitFor();
    for (const y of [0, 300, 100_000]) {
      await page.evaluate(`window.scrollTo(0, ${y})`);
      expect([place, y, await coveredOn(page)]).toEqual([place, y, []]);
    }
    expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0);
  }
  await page.evaluate("window.scrollTo(0, 0)");
  await barOf(page).getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "first", level: 1 }).waitFor();
  expect((await site.kernel.gate(id, "gate-first")).status).toBe("open");

  // A batch is undone in its own sheet.
  await page.evaluate('location.assign("#/")');
  await select(page, ["second", "third"]);
  await page.getByRole("button", { name: "Approve all 2" }).click();
  await page.locator(".sheet").getByRole("button", { name: "Undo" }).click();
  await page.clock.runFor(20_000);
  expect((await site.kernel.gate(id, "gate-second")).status).toBe("open");
  await page.getByRole("button", { name: "Approve all 2" }).click();
  await page.locator(".sheet").getByRole("button", { name: "Send now" }).click();
  const last = page.getByRole("region", { name: "Last decision" });
  await last.getByText("2 decisions made").waitFor();
  expect(await coveredOn(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
