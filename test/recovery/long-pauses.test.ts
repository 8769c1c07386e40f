/**
 * A workflow in which nothing goes on before a distant time rests in the ledger; whoever lives takes it up when it is
 * due.
 */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/define/define-operator.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { WorkflowHead } from "../../src/ports/ledger-store.ts";
import {
  createWorld,
  job,
  ledgerPaths,
  minute,
  never,
  openProcess,
  start,
  step,
  type World,
  work,
} from "./shared-file.ts";

const freshPath = ledgerPaths();

async function headOf(path: string, id: string): Promise<WorkflowHead> {
  const store = sqliteLedger({ path });
  await store.open();
  try {
    return (await store.head(id)) as WorkflowHead;
  } finally {
    await store.close();
  }
}

/** Fails as often as it is told, each time asking for the same pause. */
const flaky = (world: World, pauseMs: number, failures = 1) =>
  work(world, "Test.Flaky", {
    retry: "STANDARD",
    idempotent: true,
    run({ attempt }) {
      if (attempt > failures) return { ok: true };
      throw operatorError({ code: "BUSY", message: "busy", category: "transient", retry_after_ms: pauseMs });
    },
  });

const capabilitiesOf = (world: World, pauseMs = minute, failures = 1) => [
  job(
    [step("s1", "Test.Flaky"), step("s2", "Test.Work", { depends_on: ["s1"] })],
    [flaky(world, pauseMs, failures), work(world, "Test.Work")],
  ),
];

describe("a pause longer than limits.restAfterMs", () => {
  it("rests in the ledger: no lease, no memory, no actor, and a due time", async () => {
    const path = freshPath();
    const world = createWorld();
    await using t = await openProcess(path, { capabilities: capabilitiesOf(world) });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(await headOf(path, id)).toMatchObject({ state: "running", owner: null, due_at: start + minute });
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    const [listed] = await t.kernel.workflows();
    expect(listed).toMatchObject({ workflow_id: id, due_at: new Date(start + minute).toISOString() });
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(world.calls.map((call) => call.attempt)).toEqual([1, 2, 1]);
  });

  it("does not rest where it is as long as that and no longer: its process waits, and keeps the lease", async () => {
    const path = freshPath();
    const world = createWorld();
    const limits = { restAfterMs: minute };
    await using t = await openProcess(path, { capabilities: capabilitiesOf(world), limits });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect((await headOf(path, id)).owner).not.toBeNull();
    expect(t.kernel.vitals().workflows).toBe(1);
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
  });

  it("is over at its time in another process that lives, where the one that left it has died since", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = capabilitiesOf(world, 10 * minute);
    await using heir = await openProcess(path, { capabilities });
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    await heir.clock.advance(10 * minute - 1);
    expect(world.calls).toHaveLength(1);
    await heir.clock.advance(1);
    expect(world.calls.map((call) => call.attempt)).toEqual([1, 2, 1]);
    expect((await heir.kernel.workflow(id)).state).toBe("completed");
  });

  it("is ended by one of two processes, not by both", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = capabilitiesOf(world);
    await using one = await openProcess(path, { capabilities });
    await using other = await openProcess(path, { capabilities });
    const id = await one.submit("Test.Job");
    await one.clock.settle();
    // Both have looked at what rests, and both fire.
    await Promise.all([one.clock.advance(2 * minute), other.clock.advance(2 * minute)]);
    expect(world.calls.map((call) => call.attempt)).toEqual([1, 2, 1]);
    expect((await other.kernel.workflow(id)).state).toBe("completed");
  });

  it("rests again after each attempt, under an epoch of its own", async () => {
    const path = freshPath();
    const world = createWorld();
    await using t = await openProcess(path, { capabilities: capabilitiesOf(world, minute, 2) });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const { epoch } = await headOf(path, id);
    await t.clock.advance(minute);
    expect(await headOf(path, id)).toMatchObject({ owner: null, due_at: start + 2 * minute });
    expect((await headOf(path, id)).epoch).toBeGreaterThan(epoch);
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect((await headOf(path, id)).due_at).toBeNull();
  });

  it("ends with a cancellation, and nothing of it comes back", async () => {
    const path = freshPath();
    const world = createWorld();
    await using t = await openProcess(path, { capabilities: capabilitiesOf(world) });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.cancel(id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" }, reason: "enough" });
    await t.clock.advance(5 * minute);
    expect(await headOf(path, id)).toMatchObject({ state: "cancelled", owner: null, due_at: null });
    expect(world.calls).toHaveLength(1);
  });

  it("goes on resting after a person decided a gate beside it, and what they approved is done at once", async () => {
    const path = freshPath();
    const world = createWorld();
    const steps = [step("s1", "Test.Flaky"), step("s2", "Test.Work", { gate: {} })];
    const capabilities = [job(steps, [flaky(world, 5 * minute), work(world, "Test.Work")])];
    await using t = await openProcess(path, { capabilities });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(await headOf(path, id)).toMatchObject({ state: "running", owner: null, due_at: start + 5 * minute });
    await t.approve(id);
    await t.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect(await headOf(path, id)).toMatchObject({ state: "running", owner: null, due_at: start + 5 * minute });
    await t.clock.advance(5 * minute);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
    expect(world.stepsCalled()).toEqual(["s1", "s2", "s1"]);
  });

  it("ends earlier where a gate beside it is due before", async () => {
    const path = freshPath();
    const world = createWorld();
    const gate = { expiry: { after_ms: minute, action: "deny" as const } };
    const steps = [step("s1", "Test.Flaky"), step("s2", "Test.Work", { gate })];
    const capabilities = [job(steps, [flaky(world, 5 * minute), work(world, "Test.Work")])];
    await using t = await openProcess(path, { capabilities });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(await headOf(path, id)).toMatchObject({ owner: null, due_at: start + minute });
    await t.clock.advance(minute);
    expect(await t.types(id)).toContain("GATE_EXPIRED");
    expect(await headOf(path, id)).toMatchObject({ owner: null, due_at: start + 5 * minute });
  });
});

describe("a gate's time", () => {
  const gate = { expiry: { after_ms: 10 * minute, action: "deny" as const } };

  it("is kept by a process that lives, where the one that opened the gate has died", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Work", { gate })], [work(world, "Test.Work")])];
    await using heir = await openProcess(path, { capabilities });
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    await heir.clock.advance(10 * minute - 1);
    expect(await heir.types(id)).not.toContain("GATE_EXPIRED");
    await heir.clock.advance(1);
    expect(await heir.types(id)).toContain("GATE_EXPIRED");
  });

  it("is kept while a call that was given up goes on beside it", async () => {
    const path = freshPath();
    const world = createWorld();
    const steps = [step("s1", "Test.Slow"), step("s2", "Test.Work", { gate })];
    const slow = work(world, "Test.Slow", { timeoutSec: 1, run: never });
    const capabilities = [job(steps, [slow, work(world, "Test.Work")])];
    await using t = await openProcess(path, { capabilities });
    const id = await t.submit("Test.Job");
    await t.clock.advance(2_000);
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await t.clock.advance(10 * minute);
    expect(await t.types(id)).toContain("GATE_EXPIRED");
  });
});
