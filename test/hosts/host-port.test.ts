/** The host port: a host that dispatches decides where a workflow goes on; the process that took a word in only commits it. */
import { describe, expect, it } from "vitest";
import type { Host, HostWork, Rested } from "../../src/index.ts";
import { createWorld, job, ledgerPaths, openProcess, step, work } from "../recovery/shared-file.ts";

const freshPath = ledgerPaths();

/** A host that drives nothing by itself: the test says who drives what. */
function heldBack() {
  const told: string[] = [];
  const rested: Rested[] = [];
  let given: HostWork | null = null;
  const host = (work: HostWork): Host => {
    given = work;
    return {
      start: async () => void told.push("start"),
      freed: () => void told.push("freed"),
      dispatch: (id) => void told.push(id),
      rested: (one) => void rested.push(one),
      stop: () => void told.push("stop"),
      ended: async () => void told.push("ended"),
    };
  };
  return { host, told, rested, drive: (id: string) => (given as unknown as HostWork).drive(id) };
}

async function twoProcesses() {
  const path = freshPath();
  const world = createWorld();
  const capabilities = [
    job(
      [step("s1", "Test.Work"), step("s2", "Test.Work", { depends_on: ["s1"], gate: { reason: "look first" } })],
      [work(world, "Test.Work")],
    ),
  ];
  const [door, driver] = [heldBack(), heldBack()];
  const taker = await openProcess(path, { capabilities, host: door.host, owner: "taker" });
  const runner = await openProcess(path, { capabilities, host: driver.host, owner: "runner" });
  return { world, door, driver, taker, runner };
}

describe("a host that dispatches", () => {
  it("is told of each request and decision once it is committed, and the workflow goes on only where it is driven", async () => {
    const { world, door, driver, taker, runner } = await twoProcesses();
    await using first = taker;
    await using second = runner;
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    expect(await first.types(id)).toEqual(["INTENT_RECEIVED"]);
    expect(door.told).toEqual(["start", id]);
    expect(first.kernel.vitals().workflows).toBe(0);

    expect(await driver.drive(id)).toMatchObject({ workflow_id: id, state: "waiting_for_user", lost: false });
    expect(world.stepsCalled()).toEqual(["s1"]);

    await first.approve(id);
    await first.clock.settle();
    expect(door.told).toEqual(["start", id, id]);
    expect(world.stepsCalled()).toEqual(["s1"]);

    expect(await driver.drive(id)).toMatchObject({ state: "completed", due_at: null });
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect(await driver.drive(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect((await second.kernel.replay(id)).identical).toBe(true);
  });

  it("leaves a workflow unsettled between a decision and the drive that goes on with it", async () => {
    const { driver, taker, runner } = await twoProcesses();
    await using first = taker;
    await using _second = runner;
    const id = await first.submit("Test.Job");
    await driver.drive(id);
    expect((await first.kernel.settled(id)).state).toBe("waiting_for_user");
    await first.approve(id);
    let state: string | null = null;
    const settled = first.kernel.settled(id).then((settledIn) => {
      ({ state } = settledIn);
    });
    await first.clock.advance(10_000);
    expect([state, (await first.kernel.workflow(id)).state]).toEqual([null, "waiting_for_user"]);
    await driver.drive(id);
    await first.clock.advance(10_000);
    await settled;
    expect(state).toBe("completed");
  });

  it("may dispatch to the very process that took the word in", async () => {
    const { world, door, taker, runner } = await twoProcesses();
    await using first = taker;
    await using _second = runner;
    const id = await first.submit("Test.Job");
    expect(await door.drive(id)).toMatchObject({ state: "waiting_for_user" });
    await first.approve(id);
    const drives = await Promise.all([door.drive(id), door.drive(id)]);
    expect(drives.map((rested) => rested?.state)).toEqual(["completed", "completed"]);
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect((await first.kernel.replay(id)).identical).toBe(true);
  });

  it("is told to stop before the kernel drains, and ends before the ledger is closed", async () => {
    const { driver, door, taker, runner } = await twoProcesses();
    await taker.kernel.stop({ drainMs: 0 });
    await runner.kernel.stop({ drainMs: 0 });
    expect(door.told).toEqual(["start", "stop", "ended", "stop"]);
    expect(driver.rested).toEqual([]);
  });
});

describe("a drive", () => {
  it("is refused while another living process holds the workflow, and nothing is begun", async () => {
    const path = freshPath();
    const world = createWorld();
    let end: () => void = () => undefined;
    const under = new Promise<void>((resolve) => {
      end = resolve;
    });
    const slow = work(world, "Test.Slow", { run: () => under.then(() => ({ ok: true })) });
    const capabilities = [job([step("s1", "Test.Slow")], [slow])];
    const driver = heldBack();
    await using first = await openProcess(path, { capabilities });
    await using _second = await openProcess(path, { capabilities, host: driver.host });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    expect(await driver.drive(id)).toBeNull();
    end();
    expect(await first.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1"]);
  });

  it("fails when its kernel stops under it: it is to be made again elsewhere", async () => {
    const path = freshPath();
    const world = createWorld();
    const slow = work(world, "Test.Slow", { idempotent: true, run: () => new Promise(() => undefined) });
    const driver = heldBack();
    const first = await openProcess(path, {
      capabilities: [job([step("s1", "Test.Slow")], [slow])],
      host: driver.host,
    });
    const id = await first.submit("Test.Job");
    const failed = expect(driver.drive(id)).rejects.toMatchObject({ error: { code: "T0_KERNEL_STOPPED" } });
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    await failed;
  });
});
