/**
 * The player of recordings, in a browser without a network: one file plays a run with children and undo, whatever
 * stands in its texts.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type LedgerEvent } from "../../src/index.ts";
import { playerPage, recordRuns } from "../../src/observers/inspect/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { makeTempFolder, type TempFolder } from "../fixtures.ts";
import { operators, undo } from "../lifecycle/booked-trip.ts";
import { visit } from "./browser.ts";

const hostile = 'Trip </script><script>document.title = "taken"</script> <!-- <b>Rome</b>';
const madeAt = "2026-01-01T00:00:00.000Z";

const hotel = defineCapability({
  intentType: "Trip.Hotel",
  version: "1.0",
  input: z.looseObject({}),
  operators,
  plan: {
    reasoning: "a room",
    steps: [
      {
        ...{ step_id: "room", name: "Book the room", operator: "Hotel.Book", params: { room: "12" } },
        ...{ gate: { reason: "somebody looks" }, undo: undo("{{room.output.room}}") },
      },
    ],
  },
});
const trip = defineCapability({
  intentType: "Trip.Plan",
  version: "1.0",
  input: z.looseObject({}),
  operators,
  plan: ({ step, run, fail }) => {
    const first = step({
      ...{ step_id: "night", name: "Book the night train", operator: "Hotel.Book", params: { room: "train" } },
      undo: { operator: "Hotel.Free", params: (made) => ({ room: made.room }) },
    });
    const slept = run({ step_id: "hotel", name: "Find a hotel", capability: hotel, input: {}, depends_on: [first] });
    return {
      reasoning: "A train, then a room; there is no way back.",
      steps: [
        first,
        slept,
        fail({ step_id: "back", name: "Way back", code: "NO_WAY", message: "no train", depends_on: [slept] }),
      ],
    };
  },
});

let folder: TempFolder;
let file = "";
let child = "";
const eventsOf = (t: TestKernel, id: string): Promise<LedgerEvent[]> =>
  Array.fromAsync(t.kernel.events(id, { live: false }));

beforeAll(async () => {
  folder = makeTempFolder();
  file = join(folder.path, "run.html");
  await using t = await createTestKernel({ capabilities: [trip, hotel], limits: { maxReplans: 0 } });
  const asked = { intent_type: "Trip.Plan", inputs: { text: hostile } };
  const { workflow_id } = await t.kernel.submit({ ...testCaller, input: { text: hostile }, intent_hint: asked });
  await t.clock.settle();
  const waiting = await t.kernel.workflow(workflow_id);
  child = waiting.steps.find(({ step_id }) => step_id === "hotel")?.child ?? "";
  const decided = { ...testCaller, decision: "approve", payload: { comment: "</script>fine" } } as const;
  await t.kernel.decideGate(child, decided);
  await t.rest(workflow_id);
  const recording = recordRuns([await eventsOf(t, workflow_id), await eventsOf(t, child)], { madeAt });
  writeFileSync(file, playerPage(recording).html);
});
afterAll(() => folder[Symbol.dispose]());

describe("the page that inspect --html writes", () => {
  it("plays a run with a child and undo from a file, without a network, and none of its texts is markup", async () => {
    await using visitor = await visit("about:blank");
    const { page, context, complaints } = visitor;
    await context.setOffline(true);
    await page.goto(pathToFileURL(file).href);
    await page.getByRole("heading", { level: 1, name: "Trip" }).waitFor();
    expect(await page.title()).toContain("</script><script>");
    expect(await page.locator("main").innerText()).toContain("<b>Rome</b>");
    await page.getByRole("button", { name: /^Undo Book the night train/ }).waitFor();
    const slider = page.getByRole("slider");
    await slider.fill("3");
    await page.getByText(/^Event 3 of \d+/).waitFor();
    expect(await page.locator(".state").first().innerText()).toContain("accepted");
    expect(await page.getByRole("button", { name: /^Undo/ }).count()).toBe(0);
    await page.getByRole("button", { name: "As it is now" }).click();
    await page.getByRole("button", { name: /^Find a hotel/ }).click();
    await page.getByRole("link", { name: child }).first().click();
    await page.getByRole("heading", { level: 2, name: "People" }).waitFor();
    const people = page.locator("section", { has: page.getByRole("heading", { name: "People" }) });
    expect(await people.innerText()).toMatch(/USER_APPROVED[\s\S]*<\/script>fine/);
    await page.getByText("Who sent", { exact: false }).count();
    expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([]);
    const { SHOTS: shots } = process.env;
    if (shots !== undefined) await page.screenshot({ path: `${shots}/player.png`, fullPage: true });
    const own = complaints.filter((one) => !one.startsWith("request: file:"));
    expect(own).toEqual([]);
  });
});

describe("a recording", () => {
  it("is bounded, and says what it leaves out", async () => {
    await using t = await createTestKernel({ capabilities: [hotel] });
    const long = "x".repeat(30_000);
    const asked = { intent_type: "Trip.Hotel", inputs: { text: long } };
    const { workflow_id } = await t.kernel.submit({ ...testCaller, input: { text: long }, intent_hint: asked });
    await t.rest(workflow_id);
    const events = await eventsOf(t, workflow_id);
    const whole = recordRuns([events], { madeAt, maxChars: 1_000_000 });
    expect(whole.cut).toMatchObject({ runs: 0, events: 0, chars: 20_000 });
    expect(whole.cut.texts).toBeGreaterThan(0);
    const small = recordRuns([events, events], { madeAt, maxChars: 60_000, maxEvents: 6 });
    expect(small.cut).toMatchObject({ runs: 1, events: 2 * events.length - small.runs[0]!.events.length });
    expect(JSON.stringify(small).length).toBeLessThanOrEqual(60_000);
  });
});
