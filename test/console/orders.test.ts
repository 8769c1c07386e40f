/** Orders on a run in the console, by keyboard: forked with a link to the new run, rolled back once words are typed. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { counted, step, story } from "../gates/story.ts";
import { booking, empty, trip, world } from "../lifecycle/booked-trip.ts";
import { ann, hashOf, openSite } from "./site.ts";

const violations = async (page: Page) =>
  (await new AxeBuilder({ page }).setLegacyMode().analyze()).violations.map(({ id }) => id);

it("forks a run at a step, and rolls the run back once the words were typed", async () => {
  empty();
  await using site = await openSite({ kernel: { capabilities: [trip([booking("a"), booking("b", ["a"])])] } });
  const { workflow_id: id } = await site.kernel.submit({ ...ann, intent_hint: { intent_type: "Trip.Plan" } });
  await site.kernel.settled(id);
  await using visitor = await site.enter(ann);
  const { page, complaints } = visitor;
  await page.goto(site.url + hashOf(id));
  const reasonOf = (form: string) => page.getByRole("form", { name: form }).getByLabel("Reason");

  await page.getByText("Fork at a step…").press("Enter");
  const fork = page.getByRole("button", { name: "Fork at a step", exact: true });
  await page.getByLabel("The first step to do anew").selectOption("b");
  expect(await fork.isDisabled()).toBe(true);
  await reasonOf("Fork at a step").fill("another room");
  await page.getByText("Roll back…").press("Enter");
  expect(await violations(page)).toEqual([]);
  await fork.press("Enter");
  await page.getByText("The new run:").waitFor();
  const [made = ""] = (await site.kernel.workflow(id)).forks;
  expect((await site.kernel.settled(made)).forked_from).toMatchObject({ step_id: "b", reason: "another room" });

  const roll = page.getByRole("button", { name: "Roll back", exact: true });
  await reasonOf("Roll back").fill("booked by mistake");
  expect(await roll.isDisabled()).toBe(true);
  await page.getByLabel("to confirm").fill("roll back");
  await page.getByLabel("to confirm").press("Enter");
  await page.getByText("undone: all").waitFor();
  await page.getByText(/Rolled back by user ann.*booked by mistake/).waitFor();
  expect(await page.getByRole("button", { name: /undoes earlier work/ }).count()).toBe(2);
  expect(world.calls).toEqual(["book a", "book b", "book b", "free b", "free a"]);
  expect((await page.getByText("Roll back…").count()) + (await page.getByText("Fork at a step…").count())).toBe(0);

  await page.getByRole("link", { name: made }).first().press("Enter");
  await page.getByText(/^Forked from .* at step b: another room$/).waitFor();
  expect(complaints).toEqual([]);
});

it("begins a run from the form of its schema, runs again what failed, and ends a run early", async () => {
  let fails = true;
  const send = counted("Note.Send", { effect: "none" }, () => {
    if (fails) throw new Error("the post office is closed");
    return {};
  });
  const wait = counted("Note.Wait", { effect: "write_draft" });
  const steps = [step("send", send), step("wait", wait, { depends_on: ["send"], gate: {} })];
  await using site = await openSite({ kernel: { capabilities: [story([send, wait], steps)] } });
  await using visitor = await site.enter(ann);
  const { page, complaints } = visitor;
  await page.goto(`${site.url}/#/start`);
  await page.getByLabel("Title").fill("Send the letter");
  await page.getByRole("button", { name: "Begin the run" }).press("Enter");
  await page.getByRole("heading", { name: "Send the letter" }).waitFor();
  const again = page.getByRole("button", { name: "Run again what failed" });
  await again.waitFor();
  fails = false;
  await again.press("Enter");
  await page.getByText("A person decides:").waitFor();
  await page.getByText("Cancel…").press("Enter");
  await page.getByRole("form", { name: "Cancel" }).getByLabel("Reason").fill("no letter any more");
  await page.getByLabel("to confirm").fill("cancel");
  await page.getByLabel("to confirm").press("Enter");
  await page.locator(".chips .state", { hasText: "cancelled" }).waitFor();
  expect(complaints).toEqual([]);
});
