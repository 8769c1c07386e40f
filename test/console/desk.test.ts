/**
 * The five tasks of an approver, done by the texts on the page alone, over 1,000 runs and 600 open gates: by keys at a
 * desk in the dark, and by touch on a phone in the light.
 */
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Visitor } from "./browser.ts";
import * as day from "./desk-day.ts";
import { ann } from "./site.ts";

let desk: day.Desk;
beforeAll(async () => {
  desk = await day.openDesk({ runs: 1_000, gates: 600 });
});
afterAll(() => desk.site[Symbol.asyncDispose]());

describe.each([
  ["by keys at a desk in the dark", "desk"],
  ["by touch on a phone in the light", "phone"],
] as const)("somebody who is no engineer, %s", (_title, place) => {
  let visitor: Visitor;
  let seat: day.Seat;
  beforeAll(async () => {
    visitor = await desk.site.enter(ann, { ...day.places[place], holds: true });
    seat = day.sitAt(place, visitor.page);
  });
  afterAll(async () => {
    expect(visitor.complaints).toEqual([]);
    await visitor[Symbol.asyncDispose]();
  });

  /** Requires that the page is open to all, fits its window, and has kept the focus. */
  async function judge(): Promise<void> {
    const { page } = visitor;
    const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
    const beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(beyond)).toBe(0);
    if (place === "desk") expect(await page.evaluate("document.activeElement === document.body")).toBe(false);
  }

  it("finds and approves the payment of a supplier", async () => {
    await day.approvePayment(seat);
    await judge();
    const id = await desk.of(seat.names.supplier);
    expect((await desk.site.kernel.settled(id)).state).toBe("completed");
  });

  it("sees what a colleague changed", async () => {
    expect(await day.readEdit(seat)).toContain("4200");
    await judge();
  });

  it("decides thirty small invoices with their sum", async () => {
    await day.approveBatch(seat);
    await judge();
    const text = seat.names.batch;
    await expect.poll(() => desk.site.kernel.gates({ text }, ann)).toEqual([]);
    const decisions = await desk.site.kernel.decisions({ text, limit: 99 }, ann);
    expect(decisions.filter(({ act }) => act === "approve")).toHaveLength(day.batchSize);
  });

  it("finds out why a payment ran", async () => {
    const words = await day.readWhy(seat);
    expect(words).toMatch(/bo.*approved|approved.*bo/i);
    await judge();
  });

  it("answers a call in doubt", async () => {
    await day.answerDoubt(seat);
    await judge();
    const id = await desk.of(seat.names.doubtful);
    expect((await desk.site.kernel.settled(id)).state).toBe("completed");
  });
});
