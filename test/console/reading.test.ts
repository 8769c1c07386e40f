/** What a reader of a gate sees at once: when it falls due, how it is edited, and the decision, on any screen. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { ann, hashOf, openSite, type Site } from "./site.ts";

const leave = defineOperator({
  name: "Leave.Grant",
  input: z.object({
    from: z.iso.date().meta({ title: "First day" }),
    salary_eur: z.number(),
    copies: z.array(z.string()).meta({ title: "Copies to" }),
  }),
  effect: "final_write",
  run: () => "granted",
});
const absence = defineCapability({
  intentType: "Leave.Request",
  version: "1.0",
  input: z.object({}),
  operators: [leave],
  plan: {
    reasoning: "Leave is granted by a person.",
    steps: [
      {
        ...{ step_id: "grant", name: "Grant the leave", operator: "Leave.Grant" },
        params: { from: "2026-12-24", salary_eur: 4200, copies: ["ann@x.test", "bo@x.test"] },
        gate: {
          reason: "leave is granted by a person",
          expiry: { after_ms: 48 * 3_600_000 - 120_000, action: "deny" },
        },
      },
    ],
  },
});

const open = (): Promise<Site> => openSite({ kernel: { capabilities: [absence] } });

async function ask({ kernel }: Site, times = 1): Promise<string> {
  const submits = Array.from({ length: times }, () =>
    kernel.submit({ ...ann, intent_hint: { intent_type: "Leave.Request" } }),
  );
  const accepted = await Promise.all(submits);
  await Promise.all(accepted.map(({ workflow_id }) => kernel.settled(workflow_id)));
  return accepted[0]?.workflow_id ?? "";
}

describe("a gate to its reader", () => {
  it("says when it falls due to the hour, and the exact time with its zone", async () => {
    await using site = await open();
    const id = await ask(site);
    await using visitor = await site.enter(ann, { timezoneId: "Europe/Berlin" });
    const { page, complaints } = visitor;
    await page.goto(`${site.url}${hashOf(id, "/g/gate-grant")}`);
    const due = page.getByText(/due in 1 day 2\d hours/).first();
    await due.waitFor();
    await page
      .getByText(/\(.*\d{4}.*\d:\d\d.*GMT\+[12]\)|\(.*\d{4}.*\d:\d\d.*CES?T\)/)
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it("is edited by fields that fit: a date as a date, a list line by line, under its titles", async () => {
    await using site = await open();
    const id = await ask(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(`${site.url}${hashOf(id, "/g/gate-grant")}`);
    await page.getByText("Change something first").press("Enter");
    expect(await page.getByLabel("First day").getAttribute("type")).toBe("date");
    expect(await page.getByLabel("Copies to").inputValue()).toBe("ann@x.test\nbo@x.test");
    const field = await page.getByLabel("Copies to").boundingBox();
    expect(field?.width).toBeGreaterThan(360);
    expect(complaints).toEqual([]);
  });
});

describe("the screen of a reader", () => {
  it("shows at least fourteen gates at a desk", async () => {
    await using site = await open();
    await ask(site, 20);
    await using visitor = await site.enter(ann, { viewport: { width: 1400, height: 900 } });
    const { page } = visitor;
    await page.getByText("20 decisions wait for you.").waitFor();
    const boxes = await Promise.all((await page.locator(".item").all()).map((row) => row.boundingBox()));
    expect(boxes.filter((box) => box !== null && box.y + box.height <= 900).length).toBeGreaterThanOrEqual(14);
  });

  it("has a low bar on a phone, and the decision within reach of the first screen", async () => {
    await using site = await open();
    const id = await ask(site);
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    await using visitor = await site.enter(ann, phone);
    const { page } = visitor;
    await page.goto(`${site.url}${hashOf(id, "/g/gate-grant")}`);
    await page.getByRole("heading", { name: "Grant the leave" }).waitFor();
    const bar = await page.getByRole("banner").boundingBox();
    expect(bar?.height).toBeLessThan(80);
    const jump = page.getByRole("button", { name: "To the decision" });
    const box = await jump.boundingBox();
    expect((box?.y ?? 844) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    await jump.tap();
    const isInSight = async (): Promise<boolean> => {
      const button = await page
        .getByRole("button", { name: /^Approve/ })
        .first()
        .boundingBox();
      return button !== null && button.y >= 0 && button.y + button.height <= 844;
    };
    await expect.poll(isInSight).toBe(true);
  });
});
