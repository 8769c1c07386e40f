/** A workflow has one owner: who holds the lease. Recovery takes what nobody holds, and a former owner is fenced. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createWorld, job, ledgerPaths, minute, openProcess, type Process, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();

interface Door {
  readonly open: () => void;
  readonly opened: Promise<void>;
}

function createDoor(): Door {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

interface Busy {
  readonly path: string;
  readonly world: ReturnType<typeof createWorld>;
  readonly door: Door;
  readonly capabilities: readonly ReturnType<typeof job>[];
  readonly owner: Process;
  readonly id: string;
}

/** An owner in the middle of s1, which ends when the door opens; s2 follows. */
async function startBusy(): Promise<Busy> {
  const path = freshPath();
  const world = createWorld();
  const door = createDoor();
  const slow = work(world, "Test.Slow", { idempotent: true, run: () => door.opened.then(() => ({ ok: true })) });
  const capabilities = [
    job([step("s1", "Test.Slow"), step("s2", "Test.Work", { depends_on: ["s1"] })], [slow, work(world, "Test.Work")]),
  ];
  const owner = await openProcess(path, { capabilities, owner: "first" });
  const id = await owner.submit("Test.Job");
  await owner.clock.settle();
  return { path, world, door, capabilities, owner, id };
}

describe("recovery", () => {
  it("takes nothing that another process holds", async () => {
    const { path, world, door, capabilities, owner, id } = await startBusy();
    await using first = owner;
    await using second = await openProcess(path, { capabilities, owner: "second", at: 1000 });
    await second.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect(second.kernel.vitals().workflows).toBe(0);
    door.open();
    expect(await first.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
  });

  it("a living owner renews its lease, so that a long step is not taken over", async () => {
    const { path, world, door, capabilities, owner, id } = await startBusy();
    await using first = owner;
    await first.clock.advance(5 * minute);
    await using second = await openProcess(path, { capabilities, owner: "second", at: 5 * minute });
    await second.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
    door.open();
    expect(await first.rest(id)).toMatchObject({ state: "completed" });
  });

  it("takes over after the lease has expired, and the former owner is fenced: it appends nothing", async () => {
    const { path, world, door, capabilities, owner, id } = await startBusy();
    await using first = owner;
    first.freeze();
    const second = await openProcess(path, { capabilities, owner: "second", at: 5 * minute });
    await second.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1", "s1"]);
    first.thaw();
    // The former owner's call ends first; its append must not be the one that counts, and s2 is not its to run.
    door.open();
    await first.clock.settle();
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
    await first.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1", "s1", "s2"]);
    expect((await second.types(id)).filter((type) => type === "ACTION_SUCCEEDED")).toHaveLength(2);
    expect(first.kernel.vitals().workflows).toBe(0);
    expect(await second.kernel.verify(id)).toMatchObject({ ok: true });
    await second[Symbol.asyncDispose]();
  });

  it("takes over, and a word that waits at the former owner for its rule is judged again", async () => {
    const path = freshPath();
    const world = createWorld();
    const never = (): Promise<never> => new Promise(() => undefined);
    const slow = work(world, "Test.Slow", { idempotent: true, run: never });
    const steps = [step("s1", "Test.Slow"), step("s2", "Test.Slow", { gate: { reason: "look" } })];
    const capabilities = [job(steps, [slow])];
    let asked = 0;
    const evaluate = () => {
      asked += 1;
      return asked === 1 ? never() : null;
    };
    const policies = [definePolicy({ name: "slow", stages: ["gate"], evaluate })];
    const limits = { policyTimeoutMs: 100 * minute, tailPollMs: 100 * minute };
    await using first = await openProcess(path, { capabilities, owner: "first", policies, limits });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    const approved = first.approve(id, "gate-s2");
    await first.clock.settle();
    first.freeze();
    await using second = await openProcess(path, { capabilities, owner: "second", at: 5 * minute });
    await second.clock.settle();
    first.thaw();
    await first.clock.advance(minute);
    expect((await approved).status).toBe("resumed");
    expect(asked).toBe(2);
  });

  it("a process that lives on takes over what another left, once its lease has run out", async () => {
    const { path, world, capabilities, owner, id, door } = await startBusy();
    await using second = await openProcess(path, { capabilities, owner: "second", at: 1000 });
    owner.freeze();
    door.open();
    await second.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
    await second.clock.advance(2 * minute);
    expect(world.stepsCalled()).toEqual(["s1", "s1", "s2"]);
    expect((await second.kernel.workflow(id)).state).toBe("completed");
  });

  it("a process restarted before the dead one's lease has run out takes the work over when it has", async () => {
    const { path, world, capabilities, owner, id, door } = await startBusy();
    owner.freeze();
    door.open();
    await using second = await openProcess(path, { capabilities, owner: "second", at: 1000 });
    await second.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
    await second.clock.advance(2 * minute);
    expect((await second.kernel.workflow(id)).state).toBe("completed");
  });

  it("is left alone when the host says so", async () => {
    const { path, world, capabilities, owner, id, door } = await startBusy();
    owner.freeze();
    door.open();
    await using second = await openProcess(path, { capabilities, owner: "second", at: 5 * minute, recover: false });
    await second.clock.advance(5 * minute);
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect(await second.kernel.workflow(id)).toMatchObject({ state: "running" });
  });
});

describe("a decision from a process that does not own the workflow", () => {
  it("is noticed by its busy owner and performed there, once", async () => {
    const path = freshPath();
    const world = createWorld();
    const door = createDoor();
    const slow = work(world, "Test.Slow", { run: () => door.opened.then(() => ({ ok: true })) });
    const steps = [step("s1", "Test.Slow"), step("s2", "Test.Work", { gate: {} })];
    const capabilities = [job(steps, [slow, work(world, "Test.Work")])];
    await using owner = await openProcess(path, { capabilities, owner: "first" });
    const id = await owner.submit("Test.Job");
    await owner.clock.settle();
    await using other = await openProcess(path, { capabilities, owner: "second", at: 100 });
    const [gate] = await other.kernel.gates();
    expect(gate).toMatchObject({ gate_id: "gate-s2", status: "open" });

    expect(await other.approve(id, "gate-s2")).toMatchObject({ status: "resumed" });
    await other.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
    await owner.clock.advance(1000);
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    await other.clock.advance(1000);
    door.open();
    expect(await owner.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect((await owner.types(id)).filter((type) => type === "USER_APPROVED")).toHaveLength(1);
    expect(await owner.kernel.verify(id)).toMatchObject({ ok: true });
  });

  it("for a parked workflow is performed by whoever decided, while the first process lives on", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Work", { gate: {} })], [work(world, "Test.Work")])];
    await using first = await openProcess(path, { capabilities, owner: "first" });
    const { workflow_id: id } = await first.run("Test.Job");
    await using second = await openProcess(path, { capabilities, owner: "second", at: 100 });
    await second.approve(id);
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
    await first.clock.advance(minute);
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect(await first.kernel.workflow(id)).toMatchObject({ state: "completed" });
  });

  it("[GAT-03] of two processes at once, an equal decision has one effect and a different one is refused", async () => {
    const path = freshPath();
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Work", { gate: {} })], [work(world, "Test.Work")])];
    await using first = await openProcess(path, { capabilities, owner: "first" });
    const { workflow_id: id } = await first.run("Test.Job");
    await using second = await openProcess(path, { capabilities, owner: "second", at: 100 });
    const answers = await Promise.allSettled([first.approve(id), second.approve(id)]);
    for (const t of [first, second]) await t.clock.advance(minute);
    expect(answers.some((a) => a.status === "fulfilled")).toBe(true);
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect((await first.types(id)).filter((type) => type === "USER_APPROVED")).toHaveLength(1);
    await expect(second.reject(id, "gate-s1")).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
    expect((await first.kernel.workflow(id)).state).toBe("completed");
  });
});
