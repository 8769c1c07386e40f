/** A process that is paused between a commit and the news of it, and wakes when its lease has run out. */
import { describe, expect, it } from "vitest";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import type { TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { typesOf } from "../ledgers/reseal.ts";
import { createWorld, job, minute, start, step, work } from "./shared-file.ts";

/** Commits, and tells nobody until it may. */
function pausedBehind(store: LedgerStore, type: string) {
  const woken = Promise.withResolvers<void>();
  const append: LedgerStore["append"] = async (batch) => {
    const receipts = await store.append(batch);
    const types = batch.map(({ row }) => typesOf(row));
    if (types.flat().includes(type)) await woken.promise;
    return receipts;
  };
  return { ledger: { ...store, append }, wake: () => woken.resolve() };
}

/** A clock that has gone on while its process slept: no timer fired meanwhile. */
function sleeping() {
  const inner = createVirtualClock(start);
  let slept = 0;
  const sleep = (ms: number): void => {
    slept += ms;
  };
  return { clock: { ...inner, now: () => inner.now() + slept }, sleep };
}

describe("a process that was paused behind the commit of a start", () => {
  it("[INV-15] makes no call on waking if another process has taken the workflow up and settled it", async () => {
    const store = memoryLedger();
    await store.open();
    const shared = { ...store, open: async () => undefined, close: async () => undefined };
    const world = createWorld();
    const paused = pausedBehind(shared, "ACTION_STARTED");
    const common: TestKernelOptions = { capabilities: [job([step("s1", "Test.Act")], [work(world, "Test.Act")])] };
    const { clock, sleep } = sleeping();
    await using first = await createTestKernel({ ...common, ledger: paused.ledger, clock, seed: 1 });
    const id = await first.submit("Test.Job");
    await clock.settle();
    expect(world.calls).toEqual([]);

    const later = createVirtualClock(start + minute);
    await using second = await createTestKernel({ ...common, ledger: shared, clock: later, seed: 2 });
    await second.rest(id);
    await second.approve(id, "gate-s1_doubt1", { resolution: "retry" });
    expect(await second.rest(id)).toMatchObject({ state: "completed" });
    sleep(2 * minute);
    paused.wake();
    await clock.settle();
    expect(world.stepsCalled()).toEqual(["s1"]);
  });
});
