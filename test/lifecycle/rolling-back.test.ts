/** Rollback: a person has what a workflow that has ended had done undone, its children included. */
import { beforeEach, describe, expect, it } from "vitest";
import type { AnyStepDraft } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsOf, refusalOf } from "../fixtures.ts";
import { asks, begin, booking, empty, fail, open, sound, trip, undo, world } from "./booked-trip.ts";

beforeEach(empty);

const order = { ...testCaller, reason: "booked by mistake" };
const rollBack = async (t: TestKernel, id: string) => {
  const answer = await t.kernel.rollback(id, order);
  return { answer, state: await t.rest(id) };
};
const part = (id: string, intent: string, after: readonly string[] = [], more: object = {}): AnyStepDraft =>
  ({ step_id: id, name: id, kind: "run", params: { intent, ...more }, depends_on: after }) as AnyStepDraft;

describe("a workflow that has completed", () => {
  it("is rolled back in the reverse order, ends as cancelled, and says by whom and why", async () => {
    await using t = await open([booking("a"), booking("b", ["a"]), booking("c", ["b"], { undo: undefined })]);
    const { id } = await begin(t);
    const { answer, state } = await rollBack(t, id);
    expect(answer).toMatchObject({ workflow_id: id, status: "compensating", compensated: null });
    expect(state).toMatchObject({
      state: "cancelled",
      compensated: "all",
      rolled_back: { reason: "booked by mistake", principal: { id: testCaller.principal.id } },
    });
    expect(world.calls).toEqual(["book a", "book b", "book c", "free b", "free a"]);
    const { why } = await t.kernel.explain(id);
    expect(why.some((line) => line.includes("rolled back: booked by mistake") && line.includes("b, a"))).toBe(true);
    await sound(t, id);
  });

  it("answers a second order without a second undo, and is not taken up again", async () => {
    await using t = await open([booking("a")]);
    const { id } = await begin(t);
    await rollBack(t, id);
    const { sequence } = await t.kernel.workflow(id);
    expect(await t.kernel.rollback(id, order)).toMatchObject({ status: "cancelled", compensated: "all" });
    expect((await t.kernel.workflow(id)).sequence).toBe(sequence);
    expect(world.calls).toEqual(["book a", "free a"]);
    const again = t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["a"] });
    expect(await refusalOf(again)).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
  });

  it("keeps what was done up to a pivot, and is refused if nothing is left to undo", async () => {
    await using t = await open([booking("a"), booking("b", ["a"], { pivot: true }), booking("c", ["b"])]);
    const { id } = await begin(t);
    expect((await rollBack(t, id)).state.compensated).toBe("all");
    expect(world.calls.slice(3)).toEqual(["free c"]);
    await using other = await open([booking("a"), booking("b", ["a"], { pivot: true })]);
    const { id: kept } = await begin(other);
    expect(await refusalOf(other.kernel.rollback(kept, order))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    expect((await other.kernel.workflow(kept)).state).toBe("completed");
  });

  it("asks people about an undo that does not succeed, and may be paused meanwhile", async () => {
    world.faults.set("undo:a", 1);
    await using t = await open([
      booking("a"),
      booking("b", ["a"], { undo: { ...undo("{{b.output.room}}"), ...asks } }),
    ]);
    const { id } = await begin(t);
    expect((await rollBack(t, id)).state.state).toBe("waiting_for_user");
    await t.kernel.pause(id, testCaller);
    await t.approve(id, "gate-undo:b");
    expect(world.calls).toHaveLength(2);
    await t.kernel.resume(id, testCaller);
    await t.rest(id);
    await t.approve(id, "gate-undo:a:ask", { answer: { resolution: "leave" } });
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "partly" });
    await sound(t, id);
  });
});

describe("a workflow that has not completed", () => {
  it("is refused while it goes on", async () => {
    await using t = await open([booking("a"), booking("b", ["a"], asks)]);
    const { id } = await begin(t);
    expect(await refusalOf(t.kernel.rollback(id, order))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
  });

  it("is rolled back after it was cancelled without undo", async () => {
    await using t = await open([booking("a"), booking("b", ["a"], asks)]);
    const { id } = await begin(t);
    await t.kernel.cancel(id, testCaller);
    await t.rest(id);
    expect((await rollBack(t, id)).state).toMatchObject({ state: "cancelled", compensated: "all" });
    expect([...world.booked]).toEqual([]);
    await sound(t, id);
  });

  it("has what people left when it failed tried again in the reverse order, and nothing if all is undone", async () => {
    for (const n of ["a", "b"]) world.faults.set(`undo:${n}`, 1);
    await using t = await open([booking("a"), booking("b", ["a"]), fail(["b"])]);
    const { id } = await begin(t);
    for (const n of ["b", "a"]) {
      await t.approve(id, `gate-undo:${n}:ask`, { answer: { resolution: "leave" } });
      await t.rest(id);
    }
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "failed", compensated: "none" });
    expect((await rollBack(t, id)).state).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(world.calls).toEqual(["book a", "book b", "free b", "free a"]);
    await sound(t, id);
    await using other = await open([booking("a"), fail(["a"])]);
    const { id: undone } = await begin(other);
    expect((await rollBack(other, undone)).answer).toMatchObject({ status: "failed", compensated: "all" });
  });
});

describe("children", () => {
  const child = trip([booking("x"), booking("y", ["x"])], "Trip.Part");
  const nothing = trip([booking("z", [], { undo: undefined })], "Trip.Nothing");
  const openAll = (steps: readonly AnyStepDraft[]) =>
    createTestKernel({ capabilities: [trip(steps), child, nothing], limits: { maxReplans: 0 } });

  it("that have completed are undone before what their parent did earlier, if the parent fails", async () => {
    await using t = await openAll([booking("a"), part("p", "Trip.Part", ["a"]), booking("b", ["p"]), fail(["b"])]);
    const { id, state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: "all" });
    expect(world.calls.slice(4)).toEqual(["free b", "free y", "free x", "free a"]);
    const { child } = state.steps.find(({ step_id }) => step_id === "p") ?? {};
    expect(await t.kernel.workflow(String(child))).toMatchObject({
      state: "cancelled",
      compensated: "all",
    });
    await sound(t, id);
  });

  it("of a list are rolled back with their parent, the last first; detached ones stay", async () => {
    const list = {
      ...{ step_id: "all", name: "All", kind: "each", params: { items: [1, 2] }, depends_on: ["n"] },
      do: { kind: "run", params: { intent: "Trip.Part" } },
    } as AnyStepDraft;
    await using t = await openAll([
      part("d", "Trip.Part", [], { detached: true }),
      part("n", "Trip.Nothing", ["d"]),
      list,
    ]);
    const { id, state: done } = await begin(t);
    expect(done.state).toBe("completed");
    const spent = done.spent;
    const { state } = await rollBack(t, id);
    expect(state).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(state.spent).toBe(spent);
    const freed = world.calls.filter((call) => call.startsWith("free"));
    expect(freed).toEqual(["free y", "free x", "free y", "free x"]);
    const undone = state.steps.filter(({ step_id }) => step_id.startsWith("undo:"));
    expect(undone.map(({ step_id }) => step_id)).toEqual(["undo:all:1", "undo:all:0"]);
    await sound(t, id);
  });

  it("pass on what was left of their work, and to whom it was left", async () => {
    world.faults.set("undo:x", 1);
    await using t = await openAll([part("p", "Trip.Part")]);
    const { id } = await begin(t);
    await t.kernel.rollback(id, order);
    await t.clock.settle();
    const [gate] = await t.kernel.gates();
    expect(gate?.gate_id).toBe("gate-undo:x:ask");
    await t.approve(String(gate?.workflow_id), "gate-undo:x:ask", { answer: { resolution: "leave" } });
    await t.clock.settle();
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "partly" });
    const events = await eventsOf(t, String(gate?.workflow_id));
    const ordered = events.find(({ event_type }) => event_type === "WORKFLOW_ROLLING_BACK");
    expect(ordered?.payload).toMatchObject({ reason: "booked by mistake", principal: { id: testCaller.principal.id } });
    await sound(t, id);
  });
});
