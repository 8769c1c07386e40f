/** Compensation where other parts of the lifecycle meet it: plans made again, orders, halts, lists, work done again. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { asks, begin, booking, empty, fail, open, operators, sound, trip, undo, world } from "./booked-trip.ts";

beforeEach(empty);

const admin = { tenant_id: 1, principal: { type: "user", id: 9, role: "admin" } } as const;
const gatedUndo = (room: string) => ({ ...undo(room), ...asks });
const freed = () => world.calls.filter((call) => call.startsWith("free"));

/** Returns an operator whose call ends when its door is opened. */
function slowBooking() {
  const door = Promise.withResolvers<void>();
  const slow = defineOperator({
    name: "Hotel.Slow",
    effect: "write_draft",
    timeoutSec: 60,
    input: z.object({}),
    run: () => door.promise.then(() => ({ room: "s" })),
  });
  return { door, slow };
}

describe("what was done under several plans", () => {
  const replanning = (rounds: readonly (readonly AnyStepDraft[])[]) =>
    defineCapability({
      intentType: "Trip.Plan",
      version: "1.0",
      input: z.looseObject({}),
      operators,
      plan: ({ situation }) => ({
        reasoning: `round ${situation.round}`,
        steps: [...(rounds[Math.min(situation.round, rounds.length - 1)] ?? [])],
      }),
    });

  it("is undone whichever plan it belongs to", async () => {
    world.faults.set("b", 1);
    const rounds = [
      [booking("a"), booking("b", ["a"])],
      [booking("c"), fail(["c"])],
    ];
    await using t = await createTestKernel({ capabilities: [replanning(rounds)] });
    const { id, state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: "all" });
    expect(freed()).toEqual(["free c", "free a"]);
    await sound(t, id);
  });

  it("is undone once where two steps share one call", async () => {
    world.faults.set("b", 1);
    const same = booking("z", [], { params: { room: "a" } });
    const rounds = [
      [booking("a"), booking("b", ["a"])],
      [same, fail(["z"])],
    ];
    await using t = await createTestKernel({ capabilities: [replanning(rounds)] });
    const { id, state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: "all" });
    expect(world.calls).toEqual(["book a", "free a"]);
    const order = { ...admin, reason: "once more" };
    expect(await t.kernel.rollback(id, order)).toMatchObject({ status: "failed", compensated: "all" });
    expect((await t.rest(id)).state).toBe("failed");
    expect(world.calls).toEqual(["book a", "free a"]);
    await sound(t, id);
  });

  it("is undone in each version, where a person had the work made anew", async () => {
    await using t = await open([booking("a"), booking("b", ["a"], asks)]);
    const { id } = await begin(t);
    await t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["a"] });
    const { payload_digest } = (await t.rest(id)).gates[0] ?? {};
    const payload = { payload_digest: String(payload_digest) };
    await t.kernel.decideGate(id, { ...testCaller, gate_id: "gate-b", decision: "reject", payload });
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(world.calls).toEqual(["book a", "book a", "free a", "free a"]);
    await sound(t, id);
  });
});

describe("an order to cancel", () => {
  const steps = [booking("a", [], { undo: gatedUndo("{{a.output.room}}") }), booking("b", ["a"], asks)];
  const cancel = (t: TestKernel, id: string, undo = true) => t.kernel.cancel(id, { ...testCaller, undo });

  it("is answered alike when it is given again, while the undo waits and after it", async () => {
    await using t = await open(steps);
    const { id } = await begin(t);
    expect((await cancel(t, id)).status).toBe("compensating");
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect((await cancel(t, id)).status).toBe("compensating");
    await t.approve(id, "gate-undo:a");
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
    expect((await cancel(t, id)).status).toBe("cancelled");
    await sound(t, id);
  });

  it("does not pretend to undo what a cancellation has left", async () => {
    await using t = await open(steps);
    const { id } = await begin(t);
    await cancel(t, id, false);
    expect(await refusalOf(cancel(t, id))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    expect(freed()).toEqual([]);
  });

  it("may ask for the undo while the end of a call is awaited", async () => {
    const { door, slow } = slowBooking();
    const capability = defineCapability({
      intentType: "Trip.Plan",
      version: "1.0",
      input: z.looseObject({}),
      operators: [...operators, slow],
      plan: {
        reasoning: "slow",
        steps: [booking("a"), { ...booking("s", ["a"]), operator: "Hotel.Slow", params: {} }] as never,
      },
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await t.submit("Trip.Plan");
    await t.clock.settle();
    expect((await cancel(t, id, false)).status).toBe("cancelling");
    expect((await cancel(t, id)).status).toBe("cancelling");
    door.resolve();
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
    await sound(t, id);
  });
});

describe("work that is done again", () => {
  it.each(["replay", "regenerate", "migrate", "resume_failed_steps"] as const)(
    "is refused once it was undone (%s), because its keys answer with what is gone",
    async (mode) => {
      for (const last of [booking("b", ["a"], asks), fail(["a"])]) {
        await using t = await open([booking("a"), last]);
        const { id } = await begin(t);
        if (last.step_id === "b") await t.kernel.cancel(id, { ...testCaller, undo: true });
        await t.rest(id);
        const asked = { ...testCaller, mode, ...(mode === "regenerate" && { step_ids: ["a"] }) };
        expect(await refusalOf(t.kernel.retry(id, asked))).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
      }
    },
  );

  it("does not take the word of a call that the work which it repeats, or a sibling, has undone", async () => {
    await using t = await open([booking("a", [], asks), booking("b", ["a"], asks)]);
    const { id } = await begin(t);
    await t.kernel.cancel(id, testCaller);
    const again = async () => {
      const { workflow_id } = await t.kernel.retry(id, { ...testCaller, mode: "replay" });
      await t.rest(workflow_id);
      return workflow_id;
    };
    const second = await again();
    await t.approve(second, "gate-a");
    await t.rest(second);
    await t.reject(second, "gate-b");
    expect(await t.rest(second)).toMatchObject({ state: "cancelled", compensated: "all" });
    const third = await again();
    expect(await t.rest(third)).toMatchObject({ state: "failed", error: { code: "T4_CALL_UNDONE" } });
    expect(world.calls).toEqual(["book a", "free a"]);
    await sound(t, third);
  });
});

describe("work that another workflow has begun", () => {
  const steps = [booking("a"), booking("b", ["a"], asks)];
  const again = async (t: TestKernel, id: string, more: object) => {
    const { workflow_id } = await t.kernel.retry(id, { ...testCaller, ...more });
    await t.rest(workflow_id);
    return workflow_id;
  };

  it("is undone by the workflow that takes it over, and answers no third one", async () => {
    await using t = await open(steps);
    const { id } = await begin(t);
    await t.kernel.cancel(id, testCaller);
    const second = await again(t, id, { mode: "replay" });
    await t.reject(second, "gate-b");
    expect(await t.rest(second)).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(world.calls).toEqual(["book a", "free a"]);
    await sound(t, second);
    const third = await again(t, id, { mode: "replay" });
    expect(await t.rest(third)).toMatchObject({ state: "failed", error: { code: "T4_CALL_UNDONE" } });
    expect(world.calls).toEqual(["book a", "free a"]);
  });

  it("stays if that workflow has completed", async () => {
    await using t = await open(steps);
    const { id } = await begin(t);
    await t.approve(id, "gate-b");
    await t.rest(id);
    const second = await again(t, id, { mode: "regenerate", step_ids: ["b"] });
    await t.reject(second, "gate-b");
    expect(await t.rest(second)).toMatchObject({ state: "cancelled", compensated: null });
    expect([...world.booked]).toEqual(["a", "b"]);
    await sound(t, second);
  });
});

describe("children", () => {
  const part = { step_id: "part", name: "Part", kind: "run", params: { intent: "Trip.Part" }, depends_on: ["a"] };
  const opened = (child: readonly AnyStepDraft[], first = booking("a")) =>
    createTestKernel({
      capabilities: [trip([first, part as AnyStepDraft]), trip(child, "Trip.Part")],
      limits: { maxReplans: 0 },
    });

  it("that run are undone with their parent, and before it", async () => {
    await using t = await opened([booking("x"), booking("y", ["x"], asks)]);
    const id = await t.submit("Trip.Plan");
    await t.clock.settle();
    await t.kernel.cancel(id, { ...testCaller, undo: true });
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
    expect(world.calls).toEqual(["book a", "book x", "free x", "free a"]);
    await sound(t, id);
  });

  it("that were undone are begun anew, if a parent that has nothing to undo is retried", async () => {
    world.faults.set("y", 1);
    await using t = await opened([booking("x"), booking("y", ["x"])], booking("a", [], { undo: undefined }));
    const { id, state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: null });
    await t.kernel.retry(id, testCaller);
    expect((await t.rest(id)).state).toBe("completed");
    expect(world.calls).toEqual(["book a", "book x", "free x", "book x", "book y"]);
    await sound(t, id);
  });
});

describe("an undo", () => {
  it("whose params find nothing asks a person", async () => {
    await using t = await open([booking("a", [], { undo: undo("{{a.output.nothing}}") }), fail(["a"])]);
    const { id, state } = await begin(t);
    expect(state.state).toBe("waiting_for_user");
    await t.approve(id, "gate-undo:a:ask", { answer: { resolution: "leave" } });
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "none" });
    await sound(t, id);
  });

  it("is called again on a person's word, whatever the host's screening makes of the answer", async () => {
    world.faults.set("undo:a", 1);
    const validateOutput = (text: string) =>
      text.includes("retry") ? ({ ok: false, reason: "it holds a word" } as const) : ({ ok: true } as const);
    await using t = await open([booking("a"), fail(["a"])], { security: { validateOutput } });
    const { id } = await begin(t);
    await t.approve(id, "gate-undo:a:ask", { answer: { resolution: "retry" } });
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
    expect(freed()).toEqual(["free a"]);
    expect(await t.types(id)).toContain("OUTPUT_SANITIZED");
    await sound(t, id);
  });

  it("is held by a halt of its operator, and goes on when that is lifted", async () => {
    await using t = await open([booking("a"), booking("b", ["a"], asks)]);
    const { id } = await begin(t);
    const { halt_id } = await t.kernel.halt({ ...admin, of: { operator: "Hotel.Free" }, reason: "stop" });
    await t.reject(id, "gate-b");
    await t.clock.settle();
    expect(freed()).toEqual([]);
    expect((await t.kernel.workflow(id)).state).toBe("waiting");
    await t.kernel.lift({ ...admin, halt_id, reason: "go" });
    expect(await t.rest(id)).toMatchObject({ state: "cancelled", compensated: "all" });
    await sound(t, id);
  });

  it("undoes each of a thousand items once, the last first", async () => {
    const items = Array.from({ length: 1000 }, (_, i) => `r${i}`);
    const call = {
      operator: "Hotel.Book",
      params: { room: "{{item.output}}" },
      undo: { operator: "Hotel.Free", params: { room: "{{item.output}}" } },
    };
    const each = { step_id: "all", name: "All", kind: "each", params: { items }, do: call } as never;
    await using t = await open([each, fail(["all"])]);
    const { state } = await begin(t);
    expect(state).toMatchObject({ state: "failed", compensated: "all" });
    expect(freed()).toEqual(items.toReversed().map((room) => `free ${room}`));
  });

  it("that waits for a person is found by the lists of the state that its workflow is in", async () => {
    await using t = await open([booking("a", [], { undo: gatedUndo("{{a.output.room}}") }), fail(["a"])]);
    const { id } = await begin(t);
    expect((await t.kernel.workflows({ states: ["waiting_for_user"] })).map((one) => one.workflow_id)).toEqual([id]);
    expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toEqual(["gate-undo:a"]);
  });

  it("of a step that was rejected and left out is none, and that of the others is made", async () => {
    const declined = booking("b", ["a"], { ...asks, on_reject: "continue" });
    await using t = await open([booking("a"), declined, fail(["b"])]);
    const { id } = await begin(t);
    await t.reject(id, "gate-b");
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
    expect(world.calls).toEqual(["book a", "free a"]);
    await sound(t, id);
  });

  it("of steps that draft and apply an outcome receives what their calls gave", async () => {
    const draft = booking("a", [], { outcome: "Trip.Draft" });
    const apply = booking("b", ["a"], { applies: "a", params: { room: "{{a.output.room}}" }, ...asks });
    const capability = defineCapability({
      intentType: "Trip.Plan",
      version: "1.0",
      input: z.looseObject({}),
      operators,
      outcomes: { "Trip.Draft": z.object({ room: z.string() }) },
      plan: { reasoning: "drafts", steps: [draft, apply, fail(["b"])] as never },
    });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { id } = await begin(t);
    await t.approve(id, "gate-b", { edit: { room: "x" } });
    expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
    expect(world.calls).toEqual(["book a", "book x", "free x", "free a"]);
    await sound(t, id);
  });
});

it("a call that is under way when another step fails is undone once it has ended", async () => {
  const { door, slow } = slowBooking();
  const capability = defineCapability({
    intentType: "Trip.Plan",
    version: "1.0",
    input: z.looseObject({}),
    operators: [...operators, slow],
    plan: { reasoning: "slow", steps: [{ ...booking("s"), operator: "Hotel.Slow", params: {} }, fail([])] as never },
  });
  await using t = await createTestKernel({ capabilities: [capability] });
  const id = await t.submit("Trip.Plan");
  await t.clock.settle();
  door.resolve();
  expect(await t.rest(id)).toMatchObject({ state: "failed", compensated: "all" });
  expect(freed()).toEqual(["free s"]);
  await sound(t, id);
});
