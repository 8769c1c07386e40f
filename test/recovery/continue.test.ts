/**
 * A new kernel on the same file continues where the last one was: nothing is done again, and what is due keeps its
 * time.
 */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/define/define-operator.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, start, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();
const later = 10 * minute;

describe("a new kernel on the file of a dead one", () => {
  it("[EXE-04] runs the steps that had not succeeded, and only those", async () => {
    const path = freshPath();
    const world = createWorld();
    let dead = true;
    const third = work(world, "Test.Third", { idempotent: true, run: () => (dead ? never() : { ok: true }) });
    const steps = [
      step("s1", "Test.Work"),
      step("s2", "Test.Work", { depends_on: ["s1"] }),
      step("s3", "Test.Third", { depends_on: ["s2"] }),
      step("s4", "Test.Work", { depends_on: ["s3"] }),
    ];
    const capabilities = [job(steps, [work(world, "Test.Work"), third])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1", "s2", "s3"]);
    first.freeze();
    dead = false;

    await using second = await openProcess(path, { capabilities, at: later });
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s2", "s3", "s3", "s4"]);
  });

  it("[CARD-18] a gate outlives its kernel: the next one takes the decision, and no earlier step repeats", async () => {
    const path = freshPath();
    const world = createWorld();
    const steps = [step("s1", "Test.Work"), step("s2", "Test.Work", { depends_on: ["s1"], gate: {} })];
    const capabilities = [job(steps, [work(world, "Test.Work")])];
    let id: string;
    {
      await using first = await openProcess(path, { capabilities });
      id = (await first.run("Test.Job")).workflow_id;
    }
    await using second = await openProcess(path, { capabilities, at: later });
    expect(await second.kernel.gates()).toMatchObject([{ gate_id: "gate-s2", status: "open", workflow_id: id }]);
    expect(world.stepsCalled()).toEqual(["s1"]);
    await second.approve(id);
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
  });

  it("[INV-12] a fresh process folds the state of the live one, with gate, attempts and reasons", async () => {
    const path = freshPath();
    const world = createWorld();
    const flaky = work(world, "Test.Flaky", {
      retry: "STANDARD",
      run: ({ attempt }) => {
        if (attempt === 1) throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
        return { ok: true };
      },
    });
    const capabilities = [
      job(
        [step("s1", "Test.Flaky"), step("s2", "Test.Work", { depends_on: ["s1"], gate: { reason: "look" } })],
        [flaky, work(world, "Test.Work")],
      ),
    ];
    await using first = await openProcess(path, { capabilities });
    const live = await first.run("Test.Job");
    await using second = await openProcess(path, { capabilities, at: later, recover: false });
    expect(await second.kernel.workflow(live.workflow_id)).toEqual(live);
    expect(live.steps[0]).toMatchObject({ attempts: 2 });
    expect(live.gates[0]).toMatchObject({ reasons: [{ source: "plan", reason: "look" }] });
  });
});

describe("a deadline outlives the kernel that set it", () => {
  const flakyJob = (world: ReturnType<typeof createWorld>) =>
    job(
      [step("s1", "Test.Flaky")],
      [
        work(world, "Test.Flaky", {
          retry: "STANDARD",
          idempotent: true,
          run({ attempt }) {
            if (attempt > 1) return { ok: true };
            throw operatorError({ code: "BUSY", message: "busy", category: "transient", retry_after_ms: 20 * minute });
          },
        }),
      ],
    );

  async function failOnce(path: string, world: ReturnType<typeof createWorld>): Promise<string> {
    const first = await openProcess(path, { capabilities: [flakyJob(world)] });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    return id;
  }

  it("a retry that is not due yet waits for the time that was set, and is made once", async () => {
    const path = freshPath();
    const world = createWorld();
    const id = await failOnce(path, world);
    await using second = await openProcess(path, { capabilities: [flakyJob(world)], at: later });
    await second.clock.advance(start + 20 * minute - second.clock.now() - 1);
    expect(world.calls).toHaveLength(1);
    await second.clock.advance(1);
    expect(world.calls.map((c) => c.attempt)).toEqual([1, 2]);
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
  });

  it("a retry that fell due while nobody ran is made at once, and once", async () => {
    const path = freshPath();
    const world = createWorld();
    const id = await failOnce(path, world);
    await using second = await openProcess(path, { capabilities: [flakyJob(world)], at: 30 * minute });
    await second.clock.settle();
    expect(world.calls.map((c) => c.attempt)).toEqual([1, 2]);
    expect((await second.kernel.workflow(id)).state).toBe("completed");
  });

  it.each([
    ["before it is due", 30 * minute],
    ["after it was due", 90 * minute],
  ])("a gate's expiry fires once, at its time, when the new kernel begins %s", async (_when, at) => {
    const path = freshPath();
    const world = createWorld();
    const steps = [step("s1", "Test.Work", { gate: { expiry: { after_ms: 60 * minute, action: "deny" } } })];
    const capabilities = [job(steps, [work(world, "Test.Work")])];
    let id: string;
    {
      await using first = await openProcess(path, { capabilities });
      const parked = await first.run("Test.Job");
      id = parked.workflow_id;
      // `run` moves time until the workflow rests; it rests at the gate, not past it.
      expect(parked.gates[0]).toMatchObject({ status: "open", due_at: new Date(start + 60 * minute).toISOString() });
    }
    await using second = await openProcess(path, { capabilities, at });
    await second.clock.settle();
    if (at < 60 * minute) {
      expect((await second.types(id)).filter((type) => type === "GATE_EXPIRED")).toEqual([]);
      await second.clock.advance(60 * minute - at);
    }
    await second.clock.advance(120 * minute);
    expect((await second.types(id)).filter((type) => type === "GATE_EXPIRED")).toEqual(["GATE_EXPIRED"]);
    expect((await second.kernel.workflow(id)).state).toBe("cancelled");
    expect(world.calls).toEqual([]);
  });

  it("a gate's expiry fires at its time while another workflow of the same kernel is busy", async () => {
    const world = createWorld();
    const gated = job(
      [step("s1", "Test.Work", { gate: { expiry: { after_ms: minute, action: "deny" } } })],
      [work(world, "Test.Work")],
    );
    const busy = {
      ...job([step("s1", "Test.Slow")], [work(world, "Test.Slow", { run: never })]),
      intentType: "Test.Busy",
    };
    await using t = await openProcess(freshPath(), { capabilities: [gated, busy] });
    await t.submit("Test.Busy");
    await t.clock.settle();
    const id = await t.submit("Test.Job");
    await t.clock.advance(minute);
    await t.clock.settle();
    expect((await t.types(id)).filter((type) => type === "GATE_EXPIRED")).toHaveLength(1);
  });
});
