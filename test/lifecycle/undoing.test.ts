/** Compensation: what a workflow has done is undone before it ends as failed or cancelled. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, definePolicySet } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { eventsOf, refusalOf } from "../fixtures.ts";
import { asks, begin, booking, empty, fail, open, operators, sound, trip, undo, world } from "./booked-trip.ts";

beforeEach(empty);

const answer = (t: TestKernel, id: string, resolution: string) =>
  t.approve(id, "gate-undo:b:ask", { answer: { resolution } });

describe("a workflow that fails", () => {
  it("undoes what it has done in the reverse order, each once, as steps of its own", async () => {
    await using t = await open([booking("a"), booking("b", ["a"]), booking("c", ["b"]), fail(["c"])]);
    const { id, state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: "all", error: { code: "T4_PLAN_FAILED" } });
    expect(world.calls).toEqual(["book a", "book b", "book c", "free c", "free b", "free a"]);
    const undone = state.steps.filter(({ step_id }) => step_id.startsWith("undo:"));
    expect(undone.map(({ step_id, state }) => [step_id, state])).toEqual(
      ["c", "b", "a"].map((of) => [`undo:${of}`, "succeeded"]),
    );
    const types = (await eventsOf(t, id)).map(({ event_type }) => event_type);
    expect(types.filter((type) => type === "WORKFLOW_COMPENSATING")).toHaveLength(1);
    expect(types.at(-1)).toBe("WORKFLOW_FAILED");
    await sound(t, id);
  });

  it("ends at once if nothing that it has done can be undone", async () => {
    await using t = await open([booking("a", [], { undo: undefined }), fail(["a"])]);
    const { state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: null });
    expect(world.calls).toEqual(["book a"]);
  });

  it("leaves what was done up to the success of a pivot", async () => {
    const steps = [booking("a"), booking("b", ["a"], { pivot: true }), booking("c", ["b"]), fail(["c"])];
    await using t = await open(steps);
    const { id, state } = await begin(t);
    expect(state.compensated).toBe("all");
    expect(world.calls).toEqual(["book a", "book b", "book c", "free c"]);
    await sound(t, id);
  });

  it("is not taken up again: what it had done is gone", async () => {
    await using t = await open([booking("a"), fail(["a"])]);
    const { id } = await begin(t);
    for (const mode of ["resume_failed_steps", "regenerate"] as const)
      expect(await refusalOf(t.kernel.retry(id, { ...testCaller, mode }))).toMatchObject({
        code: "T4_WORKFLOW_CONFLICT",
      });
  });

  it("undoes the items and the rounds that succeeded", async () => {
    const call = {
      operator: "Hotel.Book",
      params: { room: "{{item.output}}" },
      undo: { operator: "Hotel.Free", params: { room: "{{all.output.room}}" } },
    };
    const each = { step_id: "all", name: "All", kind: "each", params: { items: ["x", "y"] }, do: call } as never;
    await using t = await open([each, fail(["all"])]);
    const { id, state } = await begin(t);
    expect(state.compensated).toBe("all");
    expect([...world.booked]).toEqual([]);
    expect(world.calls.slice(2)).toEqual(["free y", "free x"]);
    await sound(t, id);
  });
});

/** Every way in which a trip of two bookings ends badly, and the state that follows. */
const ways: Readonly<Record<string, (t: TestKernel, id: string) => Promise<unknown>>> = {
  "an operator fails for good": async () => undefined,
  "policy denies a later step": async () => undefined,
  "a person rejects": (t, id) => t.reject(id, "gate-c"),
  "the gate expires": (t) => t.clock.advance(3_600_000),
  "the budget is used up": async () => undefined,
  "a person cancels and asks for it": (t, id) => t.kernel.cancel(id, { ...testCaller, undo: true }),
  "the plan chooses to fail": async () => undefined,
};
const endsOf: Readonly<Record<string, "failed" | "cancelled">> = {
  "a person rejects": "cancelled",
  "the gate expires": "cancelled",
  "a person cancels and asks for it": "cancelled",
};
const lastOf: Readonly<Record<string, AnyStepDraft>> = {
  "policy denies a later step": booking("c", ["b"], { policy_tags: ["never"] }),
  "a person rejects": booking("c", ["b"], asks),
  "the gate expires": booking("c", ["b"], {
    gate: { reason: "soon", expiry: { after_ms: 3_600_000, action: "deny" } },
  }),
  "a person cancels and asks for it": booking("c", ["b"], asks),
  "the plan chooses to fail": fail(["b"]),
};
const never = definePolicySet({
  version: "1",
  rules: [{ name: "never", stages: ["action"], when: { tags: { any: ["never"] } }, decision: "DENY", reason: "never" }],
});

describe("of two bookings none is left", () => {
  it.each(Object.keys(ways))("where %s", async (way) => {
    if (way === "an operator fails for good") world.faults.set("c", 9);
    const steps = [booking("a"), booking("b", ["a"]), lastOf[way] ?? booking("c", ["b"])];
    const more = way === "the budget is used up" ? { budgets: { maxCost: 1.5 } } : {};
    await using t = await open(steps, { policies: [never], ...more });
    const { id } = await begin(t);
    await ways[way]?.(t, id);
    const state = await t.rest(id);
    expect([state.state, state.compensated]).toEqual([endsOf[way] ?? "failed", "all"]);
    expect([...world.booked]).toEqual([]);
    await sound(t, id);
  });

  it("but a cancellation that does not ask for it leaves them", async () => {
    await using t = await open([booking("a"), booking("b", ["a"]), booking("c", ["b"], asks)]);
    const { id } = await begin(t);
    await t.kernel.cancel(id, testCaller);
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: null });
    expect([...world.booked]).toEqual(["a", "b"]);
  });
});

describe("an undo that does not succeed", () => {
  const steps = [booking("a"), booking("b", ["a"]), fail(["b"])];

  it.each([
    ["done", ["free a"], "all"],
    ["retry", ["free b", "free a"], "all"],
    ["leave", ["free a"], "partly"],
  ])("asks a person, who answers %s", async (resolution, freed, compensated) => {
    world.faults.set("undo:b", 1);
    await using t = await open(steps);
    const { id, state } = await begin(t);
    expect(state.state).toBe("waiting_for_user");
    expect(state.gates.find(({ status }) => status === "open")).toMatchObject({ gate_id: "gate-undo:b:ask" });
    expect(world.calls).toEqual(["book a", "book b"]);
    await answer(t, id, resolution);
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated });
    expect(world.calls.slice(2)).toEqual(freed);
    await sound(t, id);
  });

  it("asks as well if policy denies it, and stays as it is if the question is rejected", async () => {
    const denied = { ...undo("{{b.output.room}}"), policy_tags: ["never"] };
    await using t = await open([booking("a"), booking("b", ["a"], { undo: denied }), fail(["b"])], {
      policies: [never],
    });
    const { id } = await begin(t);
    await t.reject(id, "gate-undo:b:ask");
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "partly" });
    expect(world.calls).toEqual(["book a", "book b", "free a"]);
    await sound(t, id);
  });

  it("may wait for an approval of its own", async () => {
    const gated = { ...undo("{{b.output.room}}"), ...asks };
    await using t = await open([booking("a"), booking("b", ["a"], { undo: gated }), fail(["b"])]);
    const { id, state } = await begin(t);
    expect(state.state).toBe("waiting_for_user");
    expect(await refusalOf(t.kernel.cancel(id, testCaller))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    await t.approve(id, "gate-undo:b");
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
    await sound(t, id);
  });
});

it("a paused workflow undoes nothing before it is resumed", async () => {
  const gated = { ...undo("{{b.output.room}}"), ...asks };
  await using t = await open([booking("a"), booking("b", ["a"], { undo: gated }), fail(["b"])]);
  const { id } = await begin(t);
  await t.kernel.pause(id, testCaller);
  await t.approve(id, "gate-undo:b");
  await t.clock.settle();
  expect(world.calls).toEqual(["book a", "book b"]);
  await t.kernel.resume(id, testCaller);
  expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
  await sound(t, id);
});

it("a child undoes what it has done before its parent does", async () => {
  const child = trip([booking("x"), fail(["x"])], "Trip.Part");
  const part = {
    ...{ step_id: "part", name: "Part", kind: "run", params: { intent: "Trip.Part" }, depends_on: ["a"] },
  } as AnyStepDraft;
  await using t = await createTestKernel({ capabilities: [trip([booking("a"), part]), child] });
  const { state } = await begin(t);
  expect(state).toMatchObject({ state: "failed", compensated: "all" });
  expect(world.calls).toEqual(["book a", "book x", "free x", "free a"]);
});

describe("the plan compiler", () => {
  const rooms = { name: "All", kind: "each", params: { items: [] }, do: { operator: "Hotel.Book", params: {} } };
  it.each([
    ["an undo that refers to a later step", booking("a", [], { undo: undo("{{z.output.room}}") }), /its undo is about/],
    ["a list with the name of undos", { ...rooms, step_id: "undo" } as never, /is called undo/],
    ["an unknown operator", booking("a", [], { undo: { operator: "Hotel.Burn", params: {} } }), /Hotel\.Burn/],
  ])("refuses %s", async (_what, step, words) => {
    await using t = await open([step, booking("z", ["a"])]);
    const { state } = await begin(t);
    expect(state.state).toBe("failed");
    expect(state.error?.message).toMatch(words);
    expect(world.calls).toEqual([]);
  });

  it("shows policy the calls that may undo steps before any of the plan runs", async () => {
    const noFree = definePolicySet({
      version: "1",
      rules: [
        { name: "no_free", stages: ["plan"], when: { tags: { any: ["frees"] } }, decision: "DENY", reason: "no" },
      ],
    });
    const tagged = { ...undo("{{a.output.room}}"), policy_tags: ["frees"] };
    await using t = await open([booking("a", [], { undo: tagged })], { policies: [noFree] });
    const { state } = await begin(t);
    expect(state.state).toBe("failed");
    expect(world.calls).toEqual([]);
  });
});

it("a builder makes the params of an undo from the typed output of its step", async () => {
  const capability = defineCapability({
    intentType: "Trip.Plan",
    version: "1.0",
    input: z.looseObject({}),
    operators,
    plan: ({ step, fail }) => {
      const first = step({
        step_id: "a",
        name: "Book",
        operator: "Hotel.Book",
        params: { room: "a" },
        undo: { operator: "Hotel.Free", params: (made) => ({ room: made.room }) },
      });
      // @ts-expect-error the output of Hotel.Book has no such member
      const wrong = () => step({ ...first, undo: { operator: "Hotel.Free", params: (made) => ({ room: made.rom }) } });
      const no = fail({ step_id: "no", name: "No", code: "NO", message: "no", depends_on: [first] });
      return { reasoning: typeof wrong, steps: [first, no] };
    },
  });
  await using t = await createTestKernel({ capabilities: [capability] });
  const { state } = await begin(t);
  expect(state).toMatchObject({ state: "failed", compensated: "all" });
  expect(world.calls).toEqual(["book a", "free a"]);
});
