/** Forks: a new workflow takes over the record of another one up to a point, and goes on from there. */
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, definePolicySet, type ForkRequest } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { asks, begin, booking, empty, fail, open, operators, sound, trip, world } from "./booked-trip.ts";

beforeEach(empty);

type Order = Omit<ForkRequest, "tenant_id" | "principal">;
const forkOf = (t: TestKernel, id: string, order: Order) => t.kernel.fork(id, { ...testCaller, ...order });
async function fork(t: TestKernel, id: string, order: Order) {
  const { workflow_id } = await forkOf(t, id, order);
  return { id: workflow_id, state: await t.rest(workflow_id) };
}
const keysOf = async (t: TestKernel, id: string) =>
  (await t.kernel.actions(id)).map(({ step_id, idempotency_key }) => [step_id, idempotency_key] as const);
const statesOf = ({ steps }: Awaited<ReturnType<typeof fork>>["state"]) =>
  steps.map(({ step_id, state }) => `${step_id} ${state}`);

describe("a fork at a step", () => {
  it("takes over what does not depend on it, and calls the rest under new keys", async () => {
    await using t = await open([booking("a", [], asks), booking("b", ["a"]), booking("c", ["b"])]);
    const { id } = await begin(t);
    await t.approve(id, "gate-a");
    await t.rest(id);
    const { id: second, state } = await fork(t, id, { at: "c", reason: "another room" });
    expect(state).toMatchObject({
      state: "completed",
      spent: 1,
      forked_from: { workflow_id: id, step_id: "c", reason: "another room" },
    });
    expect(statesOf(state)).toEqual(["a succeeded", "b succeeded", "c succeeded"]);
    expect(world.calls).toEqual(["book a", "book b", "book c", "book c"]);
    const before = new Map(await keysOf(t, id));
    const after = await keysOf(t, second);
    expect(after.map(([step]) => step)).toEqual(["c"]);
    expect(after[0]?.[1]).not.toBe(before.get("c"));
    expect((await t.kernel.workflow(id)).forks).toEqual([second]);
    expect(JSON.stringify((await t.kernel.explain(id)).why)).toContain(`forked it as ${second}`);
    expect(JSON.stringify((await t.kernel.explain(second)).why)).toContain(`fork of ${id} at step c`);
    for (const one of [id, second]) await sound(t, one);
  });

  it("gives those behind it the outputs that a person states in place of the recorded ones", async () => {
    const next = booking("c", ["b"], { params: { room: "{{b.output.room}}" } });
    await using t = await open([booking("a"), booking("b", ["a"]), next]);
    const { id } = await begin(t);
    const { id: second } = await fork(t, id, { at: "c", outputs: { b: { room: "z" } } });
    expect(world.calls.slice(3)).toEqual(["book z"]);
    await sound(t, second);
    for (const outputs of [{ b: { bed: 1 } }, { c: { room: "z" } }, { d: 1 }] as const)
      expect(await refusalOf(forkOf(t, id, { at: "c", outputs }))).toMatchObject({ code: "T4_FORK_INVALID" });
  });

  it("goes on from a failure, undoes nothing that it took over, and may be forked itself", async () => {
    await using t = await open([
      booking("a", [], { undo: undefined }),
      booking("b", ["a"], { undo: undefined }),
      fail(["b"]),
    ]);
    const { id } = await begin(t);
    const { id: second, state } = await fork(t, id, { at: "b" });
    expect(state.state).toBe("failed");
    const { id: third, state: last } = await fork(t, second, { at: "no" });
    expect(last).toMatchObject({ state: "failed", compensated: null, forked_from: { workflow_id: second } });
    expect(world.calls).toEqual(["book a", "book b", "book b"]);
    await sound(t, third);
  });

  it("decides again whether a step behind a failure is taken, and is refused where one was done", async () => {
    world.faults.set("a", 1);
    const settled = { depends_on: [{ step_id: "a", settled: true }], undo: undefined };
    const when = { value: '{{a.output.room ?? "none"}}', equals: "a" };
    await using t = await open([booking("a"), booking("b", [], { ...settled, when })]);
    const { id, state } = await begin(t);
    expect(statesOf(state)).toEqual(["a failed", "b skipped"]);
    expect(statesOf((await fork(t, id, { at: state.sequence })).state)).toEqual(["a succeeded", "b succeeded"]);
    world.faults.set("a", 1);
    await using other = await open([booking("a"), booking("b", [], settled)]);
    const { id: answered, state: joined } = await begin(other);
    expect(statesOf(joined)).toEqual(["a failed", "b succeeded"]);
    expect(await refusalOf(forkOf(other, answered, { at: joined.sequence }))).toMatchObject({
      code: "T4_FORK_INVALID",
    });
  });

  it("asks policy about its plan: an approval concerns the steps behind the fork", async () => {
    const asked = definePolicySet({
      version: "1",
      rules: [
        {
          name: "ask",
          stages: ["plan"],
          when: { tags: { any: ["rooms"] } },
          decision: "REQUIRE_HUMAN_APPROVAL",
          reason: "look",
        },
      ],
    });
    const tagged = { policy_tags: ["rooms"] };
    await using t = await open([booking("a", [], tagged), booking("b", ["a"], tagged)], { policies: [asked] });
    const { id } = await begin(t);
    await t.approve(id, "gate-a");
    await t.rest(id);
    const { id: second, state } = await fork(t, id, { at: "b" });
    expect(state.gates.filter(({ status }) => status === "open").map(({ gate_id }) => gate_id)).toEqual(["gate-b"]);
    await t.approve(second, "gate-b");
    expect((await t.rest(second)).state).toBe("completed");
    await sound(t, second);
  });
});

describe("a fork with other inputs", () => {
  const stay = defineCapability({
    intentType: "Trip.Plan",
    version: "1.0",
    input: z.object({ first: z.string().default("a"), last: z.string().default("b") }),
    operators,
    plan: ({ input, step }) => {
      const one = step({ step_id: "one", name: "One", operator: "Hotel.Book", params: { room: input.first } });
      const two = step({
        ...{ step_id: "two", name: "Two", operator: "Hotel.Book" as const },
        params: { room: input.last },
        depends_on: [one],
      });
      return { reasoning: "two rooms", steps: [one, two] };
    },
  });

  it("makes another plan, which says the same of what is taken over", async () => {
    await using t = await createTestKernel({ capabilities: [stay] });
    const { id } = await begin(t);
    const { id: second, state } = await fork(t, id, { at: "two", inputs: { last: "z" } });
    expect(state).toMatchObject({ state: "completed", intent: { inputs: { first: "a", last: "z" } } });
    expect(world.calls).toEqual(["book a", "book b", "book z"]);
    await sound(t, second);
    const { state: refused } = await fork(t, id, { at: "two", inputs: { first: "y" } });
    expect(refused).toMatchObject({ state: "failed", error: { code: "T4_FORK_INVALID" } });
    expect(world.calls).toHaveLength(3);
    expect(await refusalOf(forkOf(t, id, { at: "two", inputs: { last: 5 } }))).toMatchObject({
      code: "T1_NORMALIZE_INPUTS_INVALID",
    });
  });
});

describe("a fork at a sequence", () => {
  it("takes over what had ended by then, and is refused in the middle of a call", async () => {
    await using t = await open([booking("a"), booking("b", ["a"])]);
    const { id, state: whole } = await begin(t);
    const events: string[] = [];
    for await (const { event_type, step_id } of t.kernel.events(id, { live: false }))
      events.push(`${event_type} ${step_id}`);
    const afterA = events.indexOf("STEP_SUCCEEDED a") + 1;
    const { id: second } = await fork(t, id, { at: afterA });
    expect(world.calls).toEqual(["book a", "book b", "book b"]);
    await sound(t, second);
    const { state } = await fork(t, id, { at: whole.sequence });
    expect([state.state, world.calls.length, state.response.text]).toEqual(["completed", 3, whole.response.text]);
    const called = events.indexOf("ACTION_STARTED b") + 1;
    expect(await refusalOf(forkOf(t, id, { at: called }))).toMatchObject({ code: "T4_FORK_INVALID" });
    expect(await refusalOf(forkOf(t, id, { at: 9999 }))).toMatchObject({ code: "T4_SEQUENCE_NOT_FOUND" });
    expect(await refusalOf(forkOf(t, id, { at: 1 }))).toMatchObject({ code: "T4_FORK_INVALID" });
  });
});

describe("a fork is refused", () => {
  const child = trip([booking("x")], "Trip.Part");
  const part = {
    step_id: "p",
    name: "p",
    kind: "run",
    params: { intent: "Trip.Part" },
    depends_on: ["a"],
  } as AnyStepDraft;
  const list = {
    ...{ step_id: "all", name: "All", kind: "each", params: { items: ["q", "r"] }, depends_on: ["p"] },
    do: { operator: "Hotel.Book", params: { room: "{{item.output}}" } },
  } as AnyStepDraft;

  it("of another tenant, at no step of the plan, inside a list, and of what is undone", async () => {
    await using t = await createTestKernel({ capabilities: [trip([booking("a"), part, list]), child] });
    const { id } = await begin(t);
    const other = t.kernel.fork(id, { ...testCaller, tenant_id: 2, at: "a" });
    expect(await refusalOf(other)).toMatchObject({ code: "T4_WORKFLOW_NOT_FOUND" });
    for (const at of ["zzz", "all:0"] as const)
      expect((await refusalOf(forkOf(t, id, { at } as never))).code).toMatch(/T4_FORK_INVALID|T0_VALIDATION/);
    const { state } = await fork(t, id, { at: "all" });
    expect(statesOf(state).slice(0, 3)).toEqual(["a succeeded", "p succeeded", "all succeeded"]);
    expect(world.calls).toEqual(["book a", "book x", "book q", "book r", "book q", "book r"]);
    await t.kernel.rollback(id, testCaller);
    await t.rest(id);
    expect(await refusalOf(forkOf(t, id, { at: "all" }))).toMatchObject({ code: "T4_FORK_INVALID" });
  });

  it("under a key it is begun once, and it is not repeated as a whole", async () => {
    await using t = await open([booking("a"), booking("b", ["a"])]);
    const { id } = await begin(t);
    const order = { at: "b", idempotency_key: "again" };
    const first = await fork(t, id, order);
    expect((await fork(t, id, order)).id).toBe(first.id);
    for (const mode of ["replay", "migrate", "regenerate"] as const) {
      const again = t.kernel.retry(first.id, {
        ...testCaller,
        mode,
        ...(mode === "regenerate" && { step_ids: ["b"] }),
      });
      expect(await refusalOf(again)).toMatchObject({ code: "T4_WORKFLOW_CONFLICT" });
    }
    expect(world.calls).toEqual(["book a", "book b", "book b"]);
  });
});
