/**
 * The host port: a host that dispatches decides where a workflow goes on; the process that took a word in only commits
 * it.
 */
import { describe, expect, it } from "vitest";
import { EmbeddedHost } from "../../src/hosts/embedded/embedded-host.ts";
import type { Host, HostWork, Rested } from "../../src/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
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
  it("gets each request and decision once it is committed, and the workflow runs only where it is driven", async () => {
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

describe("a host that fails", () => {
  const fails = (): never => {
    throw new Error("not today");
  };
  const failing: Host = {
    start: async () => undefined,
    freed: fails,
    dispatch: fails,
    rested: fails,
    stop: fails,
    ended: fails,
  };
  const capabilities = () => [job([step("s1", "Test.Work")], [work(createWorld(), "Test.Work")])];

  it.each<readonly [string, Partial<Host>]>([
    ["at once", {}],
    [
      "later",
      { rested: (async () => fails()) as never, stop: (async () => fails()) as never, ended: async () => fails() },
    ],
  ])(
    "%s, whatever it is told: each workflow is taken in and driven, it is logged, and stop leaves nothing",
    async (_when, later) => {
      const { dispatch, ...driving } = { ...failing, ...later };
      for (const host of [driving, { ...driving, dispatch: fails }]) {
        let given: HostWork | null = null;
        const made = (hostWork: HostWork): Host => {
          given = hostWork;
          return host;
        };
        const t = await openProcess(freshPath(), { capabilities: capabilities(), host: made });
        for (let i = 0; i < 3; i += 1) {
          const id = await t.submit("Test.Job");
          await (given as unknown as HostWork).drive(id);
          expect((await t.kernel.workflow(id)).state).toBe("completed");
        }
        await t.kernel.stop();
        expect(t.logged.map(({ message }) => message)).toContain("the host failed");
        expect(t.kernel.vitals()).toMatchObject({ workflows: 0, timers: 0, listeners: 0 });
      }
    },
  );

  it("to end: stop waits for it no longer than for the ledger", async () => {
    const never = { ...failing, stop: () => undefined, ended: () => new Promise<void>(() => undefined) };
    const t = await openProcess(freshPath(), { capabilities: capabilities(), host: () => never });
    const stopped = t.kernel.stop();
    await t.clock.advance(5_000);
    await expect(stopped).resolves.toBeUndefined();
    expect(t.kernel.vitals().timers).toBe(0);
  });
});

describe("the host of this process", () => {
  it("looks at the queues once more for whoever asks while it reads when their rates let the next begin", async () => {
    const reads: (() => void)[] = [];
    const looks: string[] = [];
    const work = {
      takeUp: async (kind: string) => {
        looks.push(kind);
        return [];
      },
      store: { nextAdmission: () => new Promise((resolve) => reads.push(() => resolve(null))) },
      clock: { now: () => 0 },
      alarm: () => undefined,
    };
    const host = new EmbeddedHost(work as unknown as HostWork);
    const freed = () =>
      host.rested({ workflow_id: "wf", due_at: null, lost: false, queued: true } as unknown as Rested);
    freed();
    while (reads.length < 1) await letRun();
    freed();
    reads[0]?.();
    while (reads.length < 2) await letRun();
    reads[1]?.();
    expect(looks).toEqual(["queued", "queued"]);
  });

  it("looks at once for what falls due while it looks, and after a pause for what it has seen due", async () => {
    let now = 1_000;
    const armed: (number | null)[] = [];
    const work = {
      takeUp: async (kind: string) => {
        if (kind === "due") now += 100;
        return [];
      },
      store: { nextDue: async () => (armed.length === 0 ? 1_050 : 1_000), nextAdmission: async () => null },
      clock: { now: () => now },
      limits: { leaseMs: 30_000, tailPollMs: 250 },
      upkeep: () => undefined,
      alarm: (name: string, at: number | null, fire: () => void) => {
        if (name !== "due") return;
        armed.push(at);
        if (armed.length === 1) fire();
      },
    };
    await new EmbeddedHost(work as unknown as HostWork).start();
    while (armed.length < 2) await letRun();
    expect(armed).toEqual([1_050, 1_200 + 250]);
  });
});
