/** When schedules begin work, and on whose behalf. */
import { describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { ann, day, firedBy, historyOf, hour, makeShop, minute, setTea } from "./stage.ts";

type AuthorityQuestion = Parameters<Authenticator["authorize"]>[0];

describe("a schedule", () => {
  it("begins its work at each instant on behalf of its author, and logs which workflow an instant began", async () => {
    const { shop, begun } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    const { schedule } = await setTea(t.kernel, {
      cron: "0 9 * * *",
      time_zone: "Europe/Berlin",
      inputs: { item: "oolong" },
    });
    expect(schedule).toMatchObject({ state: "active", next: "2026-01-01T08:00:00.000Z", fires_here: true, fired: 0 });
    await t.clock.advance(8 * hour - 1);
    expect(begun).toEqual([]);
    await t.clock.advance(2 * day);
    expect(begun).toEqual(["oolong", "oolong"]);
    const fired = await firedBy(t);
    expect(fired.map(({ instant }) => instant)).toEqual(["2026-01-01T08:00:00.000Z", "2026-01-02T08:00:00.000Z"]);
    const state = await t.kernel.workflow(fired[0]?.workflow_id as string);
    expect(state).toMatchObject({
      state: "completed",
      intent: { actor: { id: "ann" }, schedule: { name: "tea", instant: "2026-01-01T08:00:00.000Z" } },
    });
    expect((await t.kernel.replay(state.workflow_id)).identical).toBe(true);
    expect((await t.kernel.verify()).ok).toBe(true);
    expect(await historyOf(t.kernel)).toEqual([
      "set",
      "due begun 2026-01-01T08:00:00.000Z",
      "fired instant 2026-01-01T08:00:00.000Z",
      "due begun 2026-01-02T08:00:00.000Z",
      "fired instant 2026-01-02T08:00:00.000Z",
    ]);
  });

  it("begins every n ms at the multiples of n since 1970, whenever it was made", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await t.clock.advance(7 * minute);
    await setTea(t.kernel, { every_ms: 10 * minute });
    await t.clock.advance(24 * minute);
    expect((await firedBy(t)).map(({ instant }) => instant.slice(11, 16))).toEqual(["00:10", "00:20", "00:30"]);
  });
});

describe("people and a schedule", () => {
  it("pause holds its instants, resume goes on with the next one, and those between are left out", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { every_ms: hour });
    await t.clock.advance(hour);
    const paused = await t.kernel.pauseSchedule({ ...ann, name: "tea", reason: "stocktaking" });
    expect(paused.schedule.state).toBe("paused");
    await t.clock.advance(5 * hour);
    await t.kernel.resumeSchedule({ ...ann, name: "tea" });
    await t.clock.advance(hour);
    expect((await firedBy(t)).map(({ instant }) => instant.slice(11, 16))).toEqual(["01:00", "07:00"]);
    const { history } = await t.kernel.schedule({ tenant_id: 1, name: "tea" });
    expect(history.find(({ event_type }) => event_type === "SCHEDULE_PAUSED")).toMatchObject({
      by: { type: "user", id: "ann" },
      detail: { reason: "stocktaking" },
    });
  });

  it("trigger begins its work now, also while it is paused", async () => {
    const { shop, begun } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { every_ms: hour });
    await t.kernel.pauseSchedule({ ...ann, name: "tea" });
    const first = await t.kernel.triggerSchedule({ ...ann, name: "tea" });
    expect(first).toMatchObject({ status: "fired", instant: "2026-01-01T00:00:00.000Z" });
    await t.rest(first.workflow_id as string);
    const second = await t.kernel.triggerSchedule({ ...ann, name: "tea" });
    expect(second.workflow_id).not.toBe(first.workflow_id);
    await t.rest(second.workflow_id as string);
    expect(begun).toHaveLength(2);
  });

  it("backfill begins the instants of a span one after another; one that began work stands for that work", async () => {
    const { shop, begun } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { every_ms: hour, inputs: { ms: minute } });
    await t.clock.advance(2 * hour + 10 * minute);
    const [first] = await firedBy(t);
    await t.kernel.backfillSchedule({
      ...ann,
      name: "tea",
      from: "2025-12-31T22:30:00+00:00",
      until: "2026-01-01T01:00:00Z",
    });
    await t.clock.advance(20 * minute);
    const fired = (await firedBy(t)).slice(2);
    expect(fired.map(({ instant }) => instant.slice(11, 16))).toEqual(["23:00", "00:00", "01:00"]);
    expect(fired[2]).toEqual(first);
    expect(begun).toHaveLength(4);
  });

  it("delete ends it, and keeps its history and what it began", async () => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { every_ms: hour });
    await t.clock.advance(hour);
    expect(await t.kernel.deleteSchedule({ ...ann, name: "tea" })).toEqual({ name: "tea", status: "deleted" });
    await t.clock.advance(3 * hour);
    expect(await firedBy(t)).toHaveLength(1);
    expect((await t.kernel.schedule({ tenant_id: 1, name: "tea" })).schedule).toBeNull();
    expect(await t.kernel.schedules({ tenant_id: 1 })).toEqual([]);
    expect((await t.kernel.verify()).ok).toBe(true);
    expect(await refusalOf(t.kernel.triggerSchedule({ ...ann, name: "tea" }))).toMatchObject({
      code: "T7_SCHEDULE_NOT_FOUND",
    });
  });

  it("a change is in force from the next instant on, and whoever made it is accountable for the work", async () => {
    const { shop, begun } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    await setTea(t.kernel, { every_ms: hour });
    await t.clock.advance(hour);
    const bo = { ...ann.principal, id: "bo" };
    await setTea(t.kernel, { every_ms: 2 * hour, inputs: { item: "mate" }, principal: bo });
    await setTea(t.kernel, { every_ms: 2 * hour, inputs: { item: "mate" }, principal: bo });
    await t.clock.advance(3 * hour);
    const fired = await firedBy(t);
    expect(fired.map(({ instant }) => instant.slice(11, 16))).toEqual(["01:00", "02:00", "04:00"]);
    expect(begun).toEqual(["tea", "mate", "mate"]);
    expect((await t.kernel.workflow(fired[1]?.workflow_id as string)).intent.actor.id).toBe("bo");
    expect((await historyOf(t.kernel)).filter((line) => line === "set")).toHaveLength(2);
  });
});

describe("a schedule that cannot begin its work", () => {
  it("records each refusal, goes on, is shown as failing after three in a row, and recovers", async () => {
    const { shop } = makeShop();
    const roles = { admin: { scopes: ["*"] } } as Record<string, { scopes: string[] }>;
    const authenticator = {
      authorize: ({ principal, tenant_id }: AuthorityQuestion) => ({
        tenant_id,
        principal_id: principal.id,
        principal_type: principal.type,
        role: principal.role,
        scopes: roles[principal.role]?.scopes ?? [],
        data_policy: { allow_pii: true, allow_external_send: false },
      }),
    };
    await using t = await createTestKernel({ capabilities: [shop], authenticator });
    await setTea(t.kernel, { every_ms: hour });
    roles["admin"] = { scopes: ["schedule:read"] };
    await t.clock.advance(2 * hour);
    const [two] = await t.kernel.schedules({ tenant_id: 1 });
    expect(two).toMatchObject({ state: "active", refused: 2, refusal: { code: "T5_AUTHZ_FORBIDDEN" } });
    await t.clock.advance(hour);
    const [three] = await t.kernel.schedules({ tenant_id: 1 });
    expect(three).toMatchObject({ state: "failing", refused_in_row: 3, next: "2026-01-01T04:00:00.000Z" });
    roles["admin"] = { scopes: ["*"] };
    await t.clock.advance(hour);
    const [four] = await t.kernel.schedules({ tenant_id: 1 });
    expect(four).toMatchObject({ state: "active", refused_in_row: 0, refused: 3, fired: 1 });
  });

  it("whose capability is not registered here is not begun here, says so, and is begun where it is", async () => {
    const { shop } = makeShop();
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [shop], ledger });
    await setTea(first.kernel, { every_ms: hour, overlap: "allow" });
    await first[Symbol.asyncDispose]();
    const other = await createTestKernel({ ledger, clock: first.clock, seed: 2 });
    await other.clock.advance(2 * hour);
    const [shown] = await other.kernel.schedules({ tenant_id: 1 });
    expect(shown).toMatchObject({ fires_here: false, fired: 0, next: "2026-01-01T01:00:00.000Z" });
    expect(await refusalOf(other.kernel.triggerSchedule({ ...ann, name: "tea" }))).toMatchObject({
      code: "T1_NORMALIZE_UNKNOWN_INTENT",
    });
    await other[Symbol.asyncDispose]();
    await using again = await createTestKernel({ capabilities: [shop], ledger, clock: first.clock, seed: 3 });
    await again.clock.settle();
    expect((await firedBy(again)).map(({ instant }) => instant.slice(11, 16))).toEqual(["01:00", "02:00"]);
  });

  it.each([
    [{ cron: "61 * * * *" }, "T7_SCHEDULE_INVALID"],
    [{ cron: "0 0 30 2 *" }, "T7_SCHEDULE_INVALID"],
    [{ cron: "2026-01-01" }, "T7_SCHEDULE_INVALID"],
    [{ cron: "0 9 * * *", time_zone: "Mars/Olympus" }, "T7_SCHEDULE_INVALID"],
    [{ cron: "0 9 * * *", every_ms: 1_000 }, "T7_SCHEDULE_INVALID"],
    [{}, "T7_SCHEDULE_INVALID"],
    [{ every_ms: 10 }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    [{ every_ms: hour, inputs: { item: 1 } }, "T1_NORMALIZE_INPUTS_INVALID"],
    [{ every_ms: hour, intent_type: "Shop.None" }, "T1_NORMALIZE_UNKNOWN_INTENT"],
    [{ every_ms: hour, name: "a b" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    [{ every_ms: hour, evry: 1 }, "T0_VALIDATION_SCHEMA_MISMATCH"],
  ])("is not made: %j", async (more, code) => {
    const { shop } = makeShop();
    await using t = await createTestKernel({ capabilities: [shop] });
    expect(await refusalOf(setTea(t.kernel, more as never))).toMatchObject({ code });
    expect(await t.kernel.schedules({ tenant_id: 1 })).toEqual([]);
  });
});
