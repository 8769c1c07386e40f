/**
 * What is left when a process ends, or another one writes, between a decision and what follows from it: nothing is
 * stranded, and what the index says of a workflow is what its ledger says.
 */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/test-kernel.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, step, work } from "./shared-file.ts";

const pathOf = ledgerPaths();
const day = 24 * 60 * minute;

const doorOf = () => Promise.withResolvers<unknown>();

describe("between a decision and what follows", () => {
  it("an approval that was committed alone is followed up by the next process", async () => {
    const path = pathOf();
    const world = createWorld();
    const capabilities = [job([step("s1", "T.Act", { gate: {} })], [work(world, "T.Act")])];
    const first = await openProcess(path, { capabilities });
    const { workflow_id } = await first.run("Test.Job");
    await first.kernel.stop();
    const second = await openProcess(path, { capabilities, at: minute, initialize: never });
    expect((await second.approve(workflow_id)).status).toBe("resumed");
    second.freeze();
    await using third = await openProcess(path, { capabilities, at: 10 * minute });
    await third.clock.advance(minute);
    expect((await third.kernel.workflow(workflow_id)).state).toBe("completed");
    expect(world.stepsCalled()).toEqual(["s1"]);
  });

  it("a decision of a process that did not own the workflow is performed though the owner has parked it", async () => {
    const path = pathOf();
    const world = createWorld();
    const slow = doorOf();
    const policy = doorOf();
    const steps = [
      step("s1", "T.Act", { gate: {} }),
      step("s2", "T.Slow"),
      step("s3", "T.Act", { depends_on: ["s2"], gate: {} }),
    ];
    const capabilities = [job(steps, [work(world, "T.Act"), work(world, "T.Slow", { run: () => slow.promise })])];
    await using owner = await openProcess(path, { capabilities });
    const id = await owner.submit("Test.Job");
    await owner.clock.settle();
    const waits = { name: "slow", stages: ["gate"] as const, evaluate: () => policy.promise.then(() => null) };
    await using other = await openProcess(path, {
      capabilities,
      at: 100,
      policies: [waits],
      policyVersion: "default-1",
    });
    const deciding = other.approve(id, "gate-s1");
    await other.clock.settle();
    slow.resolve({});
    await owner.clock.settle();
    policy.resolve(null);
    expect((await deciding).status).toBe("resumed");
    await other.clock.advance(minute);
    await owner.clock.advance(minute);
    expect(world.stepsCalled().filter((s) => s === "s1")).toEqual(["s1"]);
    expect((await other.kernel.workflow(id)).gates.map((g) => [g.gate_id, g.status])).toEqual(
      expect.arrayContaining([
        ["gate-s1", "approved"],
        ["gate-s3", "open"],
      ]),
    );
  });

  it("a workflow that was running beside a gate with an expiry is taken up at once, not at the expiry", async () => {
    const path = pathOf();
    const world = createWorld();
    let dead = true;
    const gate = { expiry: { after_ms: 7 * day, action: "deny" as const } };
    const slow = work(world, "T.Slow", { idempotent: true, run: () => (dead ? never() : {}) });
    const capabilities = [job([step("s1", "T.Act", { gate }), step("s2", "T.Slow")], [work(world, "T.Act"), slow])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    dead = false;
    await using second = await openProcess(path, { capabilities, at: 10 * minute });
    await second.clock.settle();
    const states = (await second.kernel.workflow(id)).steps.map((s) => [s.step_id, s.state]);
    expect(states).toEqual([
      ["s1", "running"],
      ["s2", "succeeded"],
    ]);
  });

  it("after another process's append came first, the index says what the ledger says", async () => {
    const path = pathOf();
    const world = createWorld();
    const slow = doorOf();
    const gate = { expiry: { after_ms: minute, action: "deny" as const } };
    const steps = [step("s1", "T.Slow"), step("s2", "T.Act", { depends_on: ["s1"], gate })];
    const capabilities = [job(steps, [work(world, "T.Act"), work(world, "T.Slow", { run: () => slow.promise })])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    await using other = await openProcess(path, { capabilities, at: 100 });
    const early = {
      ...testCaller,
      gate_id: "gate-s2",
      decision: "approve" as const,
      payload: { payload_digest: "0".repeat(64) },
    };
    expect((await other.kernel.decideGate(id, early)).status).toBe("kept");
    slow.resolve({});
    await first.clock.settle();
    await first.kernel.stop();
    const store = sqliteLedger({ path });
    await store.open();
    expect(await store.head(id)).toMatchObject({ state: "waiting_for_user", owner: null, due_at: expect.any(Number) });
    await store.close();
    await using last = await openProcess(path, { capabilities, at: 10 * minute });
    await last.clock.advance(minute);
    expect((await last.kernel.workflow(id)).gates.map((g) => g.status)).toEqual(["expired"]);
    expect(world.stepsCalled()).toEqual(["s1"]);
  });
});

describe("the same decision again", () => {
  it("with another edit than the one that was decided is refused", async () => {
    const world = createWorld();
    const capabilities = [job([step("s1", "T.Act", { gate: {}, params: { amount: 1 } })], [work(world, "T.Act")])];
    await using t = await openProcess(pathOf(), { capabilities });
    const { workflow_id } = await t.run("Test.Job");
    await t.approve(workflow_id, "gate-s1", { edit: { amount: 9 } });
    await t.rest(workflow_id);
    expect((await t.approve(workflow_id, "gate-s1", { edit: { amount: 9 } })).status).toBe("resumed");
    await expect(t.approve(workflow_id, "gate-s1", { edit: { amount: 5 } })).rejects.toThrow(/T5_GATE_CONFLICT/);
  });
});
