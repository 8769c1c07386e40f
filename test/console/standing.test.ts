/** Lists of a tenant in the console: queues, schedules, grants and stand-ins, with orders on them, by keyboard. */
import { text } from "node:stream/consumers";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import type { Visitor } from "./browser.ts";
import { admin, ann, bo, openSite, type Site } from "./site.ts";

let site: Site;
let visitor: Visitor;
let first: string;
const submit = () => site.kernel.submit({ ...ann, intent_hint: { intent_type: intent } });
beforeAll(async () => {
  const queue = { name: "board", key: "news", concurrency: 5 };
  site = await openSite({ kernel: { capabilities: [publishing({}, { queue }).capability] } });
  await site.kernel.limitQueue({ ...admin, name: "board", limits: { concurrency: 1 }, reason: "the board is away" });
  first = (await submit()).workflow_id;
  await site.kernel.settled(first);
  visitor = await site.enter(admin);
});
afterAll(async () => {
  expect(visitor.complaints).toEqual([]);
  await visitor[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

/** Requires that the page passes axe, and is not wider than a small window. */
async function judge(): Promise<void> {
  const { page } = visitor;
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  const beyond = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(beyond).toBe(0);
  await page.setViewportSize({ width: 1280, height: 900 });
}

it("shows of each queue how many work and wait, and who set its limits", async () => {
  const { page } = visitor;
  await page.getByText("More", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "Queues" }).press("Enter");
  const row = page.getByRole("row", { name: /^board news 1 of 1 0 none waits/ });
  await row.waitFor();
  expect(await row.textContent()).toMatch(/1 at a time, by user max, .*: the board is away/);
  await judge();
  await submit();
  await page.getByRole("row", { name: /^board news 1 of 1 1 just now/ }).waitFor();
});

it("shows a schedule, pauses and resumes it, and begins its work with a link to the run", async () => {
  const { page } = visitor;
  await site.kernel.setSchedule({ ...admin, name: "nightly", every_ms: 5_400_000, intent_type: intent });
  await page.getByText("More", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "Schedules" }).press("Enter");
  await page.getByText("every 90 minutes").waitFor();
  await judge();
  await page.getByRole("button", { name: "Pause" }).press("Enter");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  const standing = async () => (await site.kernel.schedules({}, admin))[0];
  expect(await standing()).toMatchObject({ name: "nightly", state: "paused" });
  await page.getByRole("button", { name: "Resume" }).press("Enter");
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.getByRole("button", { name: "Begin now" }).press("Enter");
  await page.locator(".note", { hasText: "The work has begun" }).waitFor();
  const { workflow_id = "" } = (await standing())?.last ?? {};
  await page.locator(".note").getByRole("link", { name: workflow_id }).waitFor();
});

it("shows a grant with its conditions and its use, and revokes it with a reason", async () => {
  const { page } = visitor;
  const when = [{ value: "to", equals: "board" }];
  const until = "2999-01-01T00:00:00.000Z";
  const { grant_id } = await site.kernel.grant({
    ...bo,
    ...{ workflow_id: first, gate_id: "gate-publish", when, until, uses: 3, reason: "while I travel" },
  });
  await page.getByText("More", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "Grants" }).press("Enter");
  const card = page.getByRole("region", { name: grant_id });
  await card.getByText("to is “board”").waitFor();
  const words = await card.textContent();
  for (const said of ["Note.Publish", "user bo", "while I travel", "0 calls of 3", "2999"])
    expect(words).toContain(said);
  await card.getByText("Revoke…").press("Enter");
  await judge();
  await card.getByLabel("Reason").fill("back again");
  await card.getByLabel("Reason").press("Enter");
  await page.getByText("Nothing is approved ahead.").waitFor();
  expect(await site.kernel.grants({}, admin)).toMatchObject([]);
});

it("names a stand-in, shows it at the gate, on Home and on its page, and ends it with a reason", async () => {
  const { page } = visitor;
  await page.getByText("More", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "Away", exact: true }).press("Enter");
  await page.getByText("Nobody is away.").waitFor();
  await judge();
  const form = page.getByRole("form", { name: "I am away" });
  await form.getByLabel("Who stands in").fill("cy");
  await form.getByLabel("For how many days").fill("90");
  await form.getByLabel("Reason").fill("on leave");
  await form.getByLabel("Reason").press("Enter");
  await page.getByRole("heading", { name: /user cy stands in/ }).waitFor();
  const [order] = await site.kernel.standIns({}, admin);
  expect(order).toMatchObject({ by: admin.principal, to: { type: "user", id: "cy" }, reason: "on leave", votes: 0 });
  const card = page.getByRole("region", { name: order?.stand_in_id ?? "" });
  expect(await card.textContent()).toMatch(/Until.*on leave.*0 votes/);
  await judge();
  await page.goto(page.url().replace(/#.*/, "#/home"));
  await page.getByRole("link", { name: /user cy stands in/ }).press("Enter");
  await card.getByText("I am back…").press("Enter");
  await card.getByLabel("Reason").fill("back again");
  await card.getByLabel("Reason").press("Enter");
  await page.getByText("Nobody is away.").waitFor();
  expect(await site.kernel.standIns({}, admin)).toEqual([]);
});

it("shows what people decided, finds it by text and person, and saves it for a spreadsheet", async () => {
  const { page } = visitor;
  const gate = await site.kernel.gate(first, "gate-publish");
  const payload = { payload_digest: gate.payload_digest, comment: "not this year" };
  await site.kernel.decideGate(first, { ...bo, gate_id: gate.gate_id, decision: "reject", payload });
  await page.getByText("More", { exact: true }).press("Enter");
  await page.getByRole("link", { name: "Decisions" }).press("Enter");
  await page.getByText("No decision is like that.").waitFor();
  await page.getByLabel("Whose").selectOption("Everybody's");
  const row = page.getByRole("row", { name: /not this year/ });
  await row.waitFor();
  expect(await row.textContent()).toMatch(/Rejected.*user bo/);
  await judge();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download CSV" }).press("Enter"),
  ]);
  expect(file.suggestedFilename()).toBe("decisions.csv");
  const csv = await text(await file.createReadStream());
  expect(csv.split("\r\n")).toHaveLength(3);
  expect(csv).toContain(",bo,");
  await page.getByLabel("What").selectOption("Approvals");
  await page.getByText("No decision is like that.").waitFor();
  expect(new URL(page.url()).hash).toBe("#/decisions?show=all&act=approve");
});
