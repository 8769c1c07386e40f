/**
 * A kernel as the others know it: asked before it goes on once its time has run out, and holding nothing that it leaves
 * lying.
 */
import { describe, expect, it } from "vitest";
import { kernelClock } from "../../src/engine/actors/kernel-clock.ts";
import { KernelRegistration } from "../../src/engine/log/kernel-registration.ts";
import { createLedgerWriter } from "../../src/engine/log/ledger-writer.ts";
import { firstTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { counted } from "../fixtures.ts";
import { intentType, packageOf, planStep } from "../journey/parts.ts";
import { createWorld, job, minute, step, work } from "./shared-file.ts";

async function opened() {
  const store = memoryLedger();
  await store.open();
  return { ...store, open: async () => undefined, close: async () => undefined };
}

describe("a kernel whose time has run out", () => {
  it("asks once for all waiting rows whether it is still known, and appends nothing if it cannot ask", async () => {
    const store = await opened();
    let [now, asked, isAway] = [0, 0, false];
    const renew: typeof store.heartbeat = async (...args) => {
      asked += 1;
      if (isAway) throw new Error("the store is away");
      return store.heartbeat(...args);
    };
    const registration = new KernelRegistration({
      store: { heartbeat: renew },
      clock: { now: () => now, elapsed: () => now },
      owner: "me",
      leaseMs: 100,
    });
    const writer = createLedgerWriter(store, { maxBatch: 8, maxBurst: 8 }, registration);
    const begin = (n: number) => writer.append(() => firstTurn(testStream(n)).entry);
    await Promise.all([begin(1), begin(2)]);
    expect([asked, registration.isValid]).toEqual([1, true]);
    now = 99;
    await begin(3);
    expect(asked).toBe(1);
    now = 100;
    await begin(4);
    expect(asked).toBe(2);
    [now, isAway] = [300, true];
    await expect(begin(5)).rejects.toThrow("the store is away");
    expect(await store.head(testStream(5).id)).toBeNull();
  });

  it("has aged by the larger of wall clock and elapsed time: neither a clock set back nor a sleep helps", async () => {
    let [now, elapsed] = [1_000_000, 0];
    const clock = kernelClock({ now: () => now, elapsed: () => elapsed, setTimer: () => () => undefined });
    const registration = new KernelRegistration({ store: await opened(), clock, owner: "me", leaseMs: 100 });
    await registration.renew();
    [now, elapsed] = [900_000, 99];
    expect([registration.isValid, registration.ageMs]).toEqual([true, 99]);
    elapsed = 100;
    expect(registration.isValid).toBe(false);
    await registration.renew();
    now += 100;
    expect([registration.isValid, registration.ageMs]).toEqual([false, 100]);
  });

  it("hears that it has lost everything before whoever asked, and not when it is new", async () => {
    const store = await opened();
    let now = 0;
    const told: string[] = [];
    const registration = new KernelRegistration({
      store,
      clock: { now: () => now, elapsed: () => now },
      owner: "me",
      leaseMs: 100,
    });
    registration.onLost(() => told.push("lost"));
    expect(await registration.renew()).toBe(true);
    now = 500;
    expect(await registration.confirm()).toBe(true);
    now = 1000;
    await store.takeUp("due", "you", now, 1);
    await registration.confirm().then((kept) => told.push(String(kept)));
    expect(told).toEqual(["lost", "false"]);
    expect([await registration.confirm(), registration.isValid]).toEqual([true, true]);
  });
});

describe("a kernel that may have been taken for dead", () => {
  it("begins no computation ahead of its row until it has heard that it is still known", async () => {
    const store = await opened();
    const heard = Promise.withResolvers<void>();
    let isAway = false;
    const renew: typeof store.heartbeat = async (...args) => {
      if (isAway) await heard.promise;
      return store.heartbeat(...args);
    };
    const first = Promise.withResolvers<object>();
    const slow = counted("Test.Slow", {}, () => first.promise);
    const next = counted("Test.Next");
    const steps = [planStep("s1", slow), planStep("s2", next, { depends_on: ["s1"] })];
    const capabilities = [packageOf([slow, next], steps)];
    const limits = { leaseMs: 1_000 };
    await using t = await createTestKernel({ capabilities, limits, ledger: { ...store, heartbeat: renew } });
    const workflow_id = await t.submit(intentType);
    await t.clock.settle();
    isAway = true;
    await t.clock.advance(5_000);
    first.resolve({});
    await t.clock.settle();
    expect([slow.calls.length, next.calls.length]).toEqual([1, 0]);
    isAway = false;
    heard.resolve();
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(next.calls).toHaveLength(1);
  });
});

describe("what a kernel holds and does not work on", () => {
  it("is given back at the second look, and gone on with", async () => {
    const store = await opened();
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Work")], [work(world, "Test.Work")])];
    let fails = 0;
    const read: typeof store.read = async (...args) => {
      if (fails > 0) {
        fails -= 1;
        throw new Error("the store is away");
      }
      return store.read(...args);
    };
    const first = await createTestKernel({ capabilities, ledger: store, owner: "first", recover: false });
    const id = await first.submit("Test.Job");
    await first.kernel.stop({ drainMs: 0 });
    expect(await store.head(id)).toMatchObject({ owner: null, state: "accepted" });
    fails = 1;
    await using second = await createTestKernel({
      capabilities,
      ledger: { ...store, read },
      owner: "second",
      limits: { leaseMs: 3000 },
    });
    await second.clock.settle();
    expect((await store.held("second")).map(({ workflow_id }) => workflow_id)).toEqual([id]);
    await second.clock.advance(minute);
    expect((await store.head(id))?.state).toBe("completed");
    expect(world.stepsCalled()).toEqual(["s1"]);
  });
});
