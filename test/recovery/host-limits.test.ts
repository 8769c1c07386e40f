/**
 * What the host keeps to: recovery takes everything up, nothing is looked at without pause, and a lease that is gone is
 * gone.
 */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, start, step, work } from "./shared-file.ts";

const pathOf = ledgerPaths();

describe("recovery", () => {
  it("takes up every abandoned workflow at open, however many there are", async () => {
    const path = pathOf();
    const world = createWorld();
    let dead = true;
    const act = work(world, "T.Act", { idempotent: true, run: () => (dead ? never() : { ok: true }) });
    const capabilities = [job([step("s1", "T.Act")], [act])];
    const first = await openProcess(path, { capabilities });
    for (let i = 0; i < 300; i += 1) await first.submit("Test.Job");
    await letRun();
    first.freeze();
    dead = false;
    await using second = await openProcess(path, { capabilities, at: 10 * minute });
    const completed = async () => (await second.kernel.workflows({ limit: 1000, states: ["completed"] })).length;
    for (let i = 0; i < 60 && (await completed()) < 300; i += 1) await letRun();
    expect(await completed()).toBe(300);
  });
});

describe("what is due", () => {
  it("is not forgotten where it came to rest while the ledger was read for what is due", async () => {
    const gate = { expiry: { after_ms: 1000, action: "deny" as const } };
    const capabilities = [job([step("s1", "T.Act", { gate })], [work(createWorld(), "T.Act")])];
    const opened = sqliteLedger({ path: pathOf() });
    const door = Promise.withResolvers<void>();
    let read = Promise.resolve();
    const ledger: LedgerStore = {
      ...opened,
      async nextDue() {
        const due = await opened.nextDue();
        await read;
        return due;
      },
    };
    await using t = await createTestKernel({ capabilities, ledger });
    read = door.promise;
    await t.clock.advance(minute);
    const { workflow_id } = await t.run("Test.Job");
    door.resolve();
    await t.clock.advance(1000);
    expect((await t.kernel.workflow(workflow_id)).gates).toMatchObject([{ status: "expired" }]);
  });

  it("and cannot move is looked at again after a pause, not without end at one instant", async () => {
    const gate = { expiry: { after_ms: minute, action: "deny" as const } };
    const capabilities = [job([step("s1", "T.Act", { gate })], [work(createWorld(), "T.Act")])];
    const clock = createVirtualClock(start);
    const opened = sqliteLedger({ path: pathOf() });
    // A workflow whose head says that it is due, whatever is done about it.
    let looks: number[] | null = null;
    const stuck = async (): Promise<readonly never[] | null> => {
      looks?.push(clock.now());
      if ((looks?.length ?? 0) > 1000) throw new Error("looked at without end");
      return null;
    };
    const ledger: LedgerStore = {
      ...opened,
      takeUp: async (...args) => (args[0] === "due" ? await stuck() : null) ?? opened.takeUp(...args),
      nextDue: async () => (looks === null ? opened.nextDue() : start),
    };
    await using t = await createTestKernel({ capabilities, ledger, clock });
    await t.run("Test.Job");
    looks = [];
    await t.kernel.submit({ ...testCaller, intent_hint: { intent_type: "Test.Job", inputs: {} } });
    await t.clock.advance(minute + 10_000);
    const seen: readonly number[] = looks;
    expect(seen.length).toBeGreaterThan(0);
    // Four looks a second, one for each poll.
    expect(seen.length).toBeLessThan((4 * (minute + 10_000)) / 1000 + 10);
    expect(Math.max(0, ...seen.map((at) => seen.filter((other) => other === at).length))).toBeLessThan(5);
  });
});

describe("a gate that a failure closed undecided", () => {
  const limited = (maxCost: number, more: object = {}) => {
    const steps = [
      step("s1", "T.Act", { gate: {} }),
      step("s2", "T.Act", { estimated_cost: 5 }),
      step("s3", "T.Act", { depends_on: ["s2"], estimated_cost: 1 }),
    ];
    return { capabilities: [job(steps, [work(createWorld(), "T.Act")])], budgets: { maxCost }, ...more };
  };

  it("opens anew when its step is resumed, and is decided then", async () => {
    const path = pathOf();
    const first = await openProcess(path, limited(5));
    const failed = await first.run("Test.Job");
    expect(failed).toMatchObject({ state: "failed", error: { code: "T5_BUDGET_EXHAUSTED" } });
    expect(failed.gates.map((g) => g.status)).toEqual(["voided"]);
    await first.kernel.stop();

    await using second = await openProcess(path, limited(100, { at: minute }));
    await second.kernel.retry(failed.workflow_id, { ...testCaller, mode: "resume_failed_steps" });
    const waiting = await second.rest(failed.workflow_id);
    expect(waiting).toMatchObject({ state: "waiting_for_user", gates: [{ gate_id: "gate-s1", status: "open" }] });
    expect((await second.kernel.gates()).map((g) => g.gate_id)).toEqual(["gate-s1"]);
    await second.approve(failed.workflow_id, "gate-s1");
    expect(await second.rest(failed.workflow_id)).toMatchObject({ state: "completed" });
    expect(await second.kernel.gates()).toEqual([]);
    expect(await second.kernel.verify(failed.workflow_id)).toMatchObject({ ok: true });
  });
});

describe("an owner", () => {
  it("hears of a decision within one poll, though nothing was awake for a moment before", async () => {
    const path = pathOf();
    const door = Promise.withResolvers<unknown>();
    const world = createWorld();
    const steps = [step("s1", "T.Slow"), step("s2", "T.Act", { gate: {} })];
    let calls = 0;
    const slow = work(world, "T.Slow", {
      run: () => {
        calls += 1;
        return calls === 1 ? {} : door.promise;
      },
    });
    const capabilities = [job(steps, [slow, work(world, "T.Act")])];
    await using owner = await openProcess(path, { capabilities });
    await owner.run("Test.Job");
    // The first one rests: nothing is awake, until the next is accepted.
    await owner.clock.advance(1000);
    const id = await owner.submit("Test.Job");
    await owner.clock.settle();
    await using other = await openProcess(path, { capabilities, at: 1000 });
    await other.approve(id, "gate-s2");
    await owner.clock.advance(1000);
    expect(world.stepsCalled()).toEqual(["s1", "s1", "s2"]);
    door.resolve({});
    await owner.rest(id);
  });

  it("whose lease another has taken stops its work at the next renewal, though it has nothing to append", async () => {
    const path = pathOf();
    const signals: AbortSignal[] = [];
    const act = work(createWorld(), "T.Act", {
      idempotent: true,
      run: ({ signal }) => {
        signals.push(signal);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const capabilities = [job([step("s1", "T.Act")], [act])];
    const first = await openProcess(path, { capabilities, owner: "first" });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    await using second = await openProcess(path, { capabilities, owner: "second", at: 5 * minute });
    await second.clock.settle();
    first.thaw();
    await first.clock.advance(minute);
    expect(signals.map((s) => s.aborted)).toEqual([true, false]);
    expect(first.kernel.vitals().workflows).toBe(0);
    expect(second.kernel.vitals().workflows).toBe(1);
    expect(await second.kernel.workflow(id)).toMatchObject({ state: "running" });
    await first.kernel.stop({ drainMs: 0 });
  });
});
