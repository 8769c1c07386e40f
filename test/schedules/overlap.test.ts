/** What happens to an instant while earlier work of its schedule runs, and to instants that were missed. */
import { describe, expect, it } from "vitest";
import type { StoredSchedule } from "../../src/contract/schedule.ts";
import { loadInstants } from "../../src/protocol/schedule-instants.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";
import { lookAt } from "../../src/tiers/t7-orchestration/schedule/look-at-schedule.ts";
import { refusalOf } from "../fixtures.ts";
import { ann, day, firedBy, historyOf, hour, makeShop, minute, setTea } from "./stage.ts";

const long = { every_ms: hour, inputs: { ms: 150 * minute } };
const timesOf = async (t: Parameters<typeof firedBy>[0]) =>
  (await firedBy(t)).map(({ instant }) => instant.slice(11, 16));

describe("an instant at which earlier work has not ended", () => {
  it("skip: is left out, and so is a trigger", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { ...long, overlap: "skip" });
    await t.clock.advance(5 * hour);
    expect(await timesOf(t)).toEqual(["01:00", "04:00"]);
    expect((await t.kernel.schedules({ tenant_id: 1 }))[0]).toMatchObject({ fired: 2, skipped: 3 });
    expect(await refusalOf(t.kernel.triggerSchedule({ ...ann, name: "tea" }))).toMatchObject({
      code: "T7_SCHEDULE_OVERLAP",
    });
  });

  it("queue: waits, and is begun as soon as that work has ended", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { ...long, overlap: "queue" });
    await t.clock.advance(3 * hour + 29 * minute);
    expect(await timesOf(t)).toEqual(["01:00"]);
    expect((await t.kernel.schedules({ tenant_id: 1 }))[0]?.waiting).toBe(2);
    await t.clock.advance(2 * minute);
    expect(await timesOf(t)).toEqual(["01:00", "02:00"]);
    const [, second] = await firedBy(t);
    expect((await t.kernel.workflow(second?.workflow_id as string)).accepted_at).toBe("2026-01-01T03:30:00.000Z");
    await t.clock.advance(150 * minute);
    expect(await timesOf(t)).toEqual(["01:00", "02:00", "03:00"]);
  });

  it("allow: is begun beside it", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { ...long, overlap: "allow" });
    await t.clock.advance(4 * hour);
    expect(await timesOf(t)).toEqual(["01:00", "02:00", "03:00", "04:00"]);
  });

  it("cancel_previous: cancels that work, and is begun once it has ended", async () => {
    const { shop, begun } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { ...long, overlap: "cancel_previous" });
    await t.clock.advance(3 * hour);
    expect(await timesOf(t)).toEqual(["01:00", "02:00", "03:00"]);
    const states = await Promise.all((await firedBy(t)).map((one) => t.kernel.workflow(one.workflow_id)));
    expect(states.map(({ state }) => state)).toEqual(["cancelled", "cancelled", "waiting"]);
    await t.kernel.pauseSchedule({ ...ann, name: "tea" });
    await t.clock.advance(3 * hour);
    expect(begun).toHaveLength(1);
  });

  it("cancel_previous: cancels that work again with the next instant if its first cancel was lost", async () => {
    const { shop } = makeShop();
    const ledger = memoryLedger();
    await using t = await createTestKernel({ capabilities: [shop], ledger });
    await setTea(t.kernel, { ...long, overlap: "cancel_previous" });
    await t.clock.advance(hour);
    const [{ standing, ...tea }] = (await ledger.schedules({ tenant_id: 1, names: ["tea"] })) as [StoredSchedule];
    const { workflow_id = "", ...last } = standing.last ?? {};
    const left = {
      ...tea,
      standing: { ...standing, last: { ...last, workflow_id, cancelled: true } },
    } as StoredSchedule;
    const now = t.clock.now() + hour;
    const times = { now, isRunning: true, missedAfterMs: minute, takeOverMs: minute, instantsOf: await loadInstants() };
    const due = lookAt(left, times);
    expect(due?.cancels).toBe(workflow_id);
    expect(lookAt({ ...tea, standing: due?.standing ?? standing }, times)).toBeNull();
  });
});

/** Makes a schedule, stops its process, and opens another one after so long a time. */
async function afterOutage(lasts: number, more: object, after = minute) {
  const { shop } = makeShop();
  const ledger = memoryLedger();
  const first = await createTestKernel({ capabilities: [shop], ledger });
  await setTea(first.kernel, { every_ms: hour, overlap: "queue", ...more });
  if (after === minute) await first.clock.advance(hour);
  await first[Symbol.asyncDispose]();
  const clock = createVirtualClock(first.clock.now() + lasts);
  const t = await createTestKernel({ capabilities: [shop], ledger, clock, seed: 2 });
  await t.clock.advance(after);
  return t;
}

describe("instants that nobody looked at in time", () => {
  it("none: are counted as missed, and none of them is begun", async () => {
    await using t = await afterOutage(5 * hour + 30 * minute, { catch_up: "none" });
    expect(await timesOf(t)).toEqual(["01:00"]);
    expect((await historyOf(t.kernel)).at(-1)).toBe(
      'due missed {"from":"2026-01-01T02:00:00.000Z","until":"2026-01-01T06:00:00.000Z","count":5}',
    );
    expect((await t.kernel.schedules({ tenant_id: 1 }))[0]).toMatchObject({
      missed: 5,
      next: "2026-01-01T07:00:00.000Z",
    });
  });

  it("last: the last of them is begun, once", async () => {
    await using t = await afterOutage(5 * hour + 30 * minute, { catch_up: "last" });
    expect(await timesOf(t)).toEqual(["01:00", "06:00"]);
    expect((await t.kernel.schedules({ tenant_id: 1 }))[0]).toMatchObject({ missed: 4 });
  });

  it("all: are begun in their order, as far as the window reaches", async () => {
    await using t = await afterOutage(5 * hour + 30 * minute, { catch_up: "all", catch_up_window_ms: 3 * hour });
    expect(await timesOf(t)).toEqual(["01:00", "04:00", "05:00", "06:00"]);
    expect((await t.kernel.schedules({ tenant_id: 1 }))[0]).toMatchObject({ missed: 2 });
  });

  it("an instant that is less than a minute late is begun whatever catch_up says", async () => {
    await using t = await afterOutage(hour + 30_000, { catch_up: "none" });
    expect(await timesOf(t)).toEqual(["01:00", "02:00"]);
  });

  it("a long time away costs a bounded look: the count is then a lower bound", async () => {
    await using t = await afterOutage(400 * day, { every_ms: 1_000, catch_up: "last" }, 2_000);
    const [shown] = await t.kernel.schedules({ tenant_id: 1 });
    expect(shown?.missed).toBe(1_000);
    expect((await historyOf(t.kernel)).some((line) => line.includes('"more":true'))).toBe(true);
  });
});

describe("a clock that jumps", () => {
  it("backwards: no instant is begun a second time", async () => {
    const { shop } = makeShop();
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [shop], ledger });
    await setTea(first.kernel, { every_ms: hour });
    await first.clock.advance(3 * hour);
    await first[Symbol.asyncDispose]();
    const clock = createVirtualClock(first.clock.now() - 2 * hour);
    await using t = await createTestKernel({ capabilities: [shop], ledger, clock, seed: 2 });
    await t.clock.advance(3 * hour);
    expect(await timesOf(t)).toEqual(["01:00", "02:00", "03:00", "04:00"]);
  });

  it("forwards: the instants between are missed, and catch_up says which of them are begun", async () => {
    await using t = await afterOutage(30 * day + 10 * minute, { catch_up: "last" });
    expect(await firedBy(t)).toHaveLength(2);
  });
});

describe("several processes on one ledger", () => {
  it("begin the work of each instant once", async () => {
    const { shop, begun } = makeShop();
    const ledger = memoryLedger();
    const clock = createVirtualClock();
    const kernels = await Promise.all(
      [1, 2, 3].map((seed) => createTestKernel({ capabilities: [shop], ledger, clock, seed })),
    );
    const [t] = kernels as [(typeof kernels)[number]];
    await setTea(t.kernel, { every_ms: minute, overlap: "allow" });
    await clock.advance(20 * minute);
    expect(await firedBy(t)).toHaveLength(20);
    expect(begun).toHaveLength(20);
    for (const one of kernels) await one[Symbol.asyncDispose]();
  });
});
