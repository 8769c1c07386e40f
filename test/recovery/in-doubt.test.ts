/**
 * A process dies during a call: an idempotent one is made again under its key, any other asks a person. Nothing is
 * guessed.
 */
import { describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, type Process, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();
const later = 10 * minute;

interface Lost {
  readonly world: ReturnType<typeof createWorld>;
  readonly id: string;
  readonly second: Process;
}

/** s1 was called and never ended; s2 depends on it. */
async function loseCall(idempotent: boolean, limits: KernelOptions["limits"] = {}): Promise<Lost> {
  const path = freshPath();
  const world = createWorld();
  let dead = true;
  const capabilities = [
    job(
      [step("s1", "Test.Act"), step("s2", "Test.Work", { depends_on: ["s1"] })],
      [
        work(world, "Test.Act", { idempotent, run: () => (dead ? never() : { made: "again" }) }),
        work(world, "Test.Work"),
      ],
    ),
  ];
  const first = await openProcess(path, { capabilities });
  const id = await first.submit("Test.Job");
  await first.clock.settle();
  first.freeze();
  dead = false;
  return { world, id, second: await openProcess(path, { capabilities, limits, at: later }) };
}

const doubtOf = async (t: Process): Promise<Gate> => (await t.kernel.gates())[0] as Gate;

describe("a call whose end nobody recorded", () => {
  it("is made again under the same key and the same attempt when the operator is idempotent", async () => {
    const { world, id, second } = await loseCall(true);
    await using t = second;
    expect(await t.rest(id)).toMatchObject({ state: "completed", gates: [] });
    const [lost, again] = world.calls;
    expect(again).toEqual(lost);
    expect(world.stepsCalled()).toEqual(["s1", "s1", "s2"]);
  });

  it("opens a gate that says so when the operator is not idempotent, and is not made meanwhile", async () => {
    const { world, id, second } = await loseCall(false);
    await using t = second;
    expect(await t.rest(id)).toMatchObject({ state: "waiting_for_user" });
    expect(await doubtOf(t)).toMatchObject({ gate_id: "gate-s1_doubt1", kind: "in_doubt", operator: "Test.Act" });
    expect((await t.kernel.actions(id))[0]).toMatchObject({ status: "in_doubt" });
    expect(world.stepsCalled()).toEqual(["s1"]);
  });

  it("[GAT-06] done: the step has the person's result; the gate is gate-<step_id>_doubt<n>", async () => {
    const { world, id, second } = await loseCall(false);
    await using t = second;
    await t.rest(id);
    await t.approve(id, "gate-s1_doubt1", { resolution: "done", result: { seen: "by a person" } });
    const state = await t.rest(id);
    expect(state.state).toBe("completed");
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect((await t.kernel.actions(id))[0]).toMatchObject({
      status: "succeeded",
      result_payload: { seen: "by a person" },
    });
  });

  it("retry: the call is made once more, under the same key", async () => {
    const { world, id, second } = await loseCall(false);
    await using t = second;
    await t.rest(id);
    await t.approve(id, "gate-s1_doubt1", { resolution: "retry" });
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s1", "s2"]);
    expect(world.calls[1]?.key).toBe(world.calls[0]?.key);
  });

  it("reject: the step counts as failed and what depends on it is skipped; only a new plan may try anew", async () => {
    const { world, id, second } = await loseCall(false, { maxReplans: 0 });
    await using t = second;
    await t.rest(id);
    await t.reject(id, "gate-s1_doubt1");
    const state = await t.rest(id);
    expect(state.steps.find((s) => s.step_id === "s1")).toMatchObject({ state: "failed" });
    expect(state.state).toBe("failed");
    expect(state.steps.find((s) => s.step_id === "s2")).toMatchObject({ state: "skipped" });
    expect(world.stepsCalled()).toEqual(["s1"]);
  });

  it("an answer without a resolution is refused: nothing is guessed", async () => {
    const { id, second } = await loseCall(false);
    await using t = second;
    await t.rest(id);
    await expect(t.approve(id, "gate-s1_doubt1")).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
    expect(await doubtOf(t)).toMatchObject({ status: "open" });
  });

  it("the question survives another crash and is asked once", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act", { run: never })])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    const second = await openProcess(path, { capabilities, at: later });
    await second.rest(id);
    second.freeze();
    await using third = await openProcess(path, { capabilities, at: 2 * later });
    await third.rest(id);
    expect(await third.kernel.gates()).toHaveLength(1);
    expect((await third.types(id)).filter((type) => type === "GATE_OPENED")).toHaveLength(1);
  });
});
