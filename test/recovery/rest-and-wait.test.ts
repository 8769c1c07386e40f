/**
 * Who waits for a workflow hears of its rest and its end, whatever host code or another process does meanwhile; who
 * works on one is told to stop once its end is in the ledger, and not before.
 */
import { describe, expect, it } from "vitest";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { openEnvelope, sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { createTimers } from "../../src/engine/actors/timers.ts";
import { createRestWaiters } from "../../src/engine/log/rest-waiters.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { createVirtualClock, type VirtualClock } from "../../src/testing/virtual-clock.ts";
import { patchDoor } from "../actors/fixture.ts";
import { toWorkflow } from "../actors/tier-signals.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, start, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();
const cancel = (t: TestKernel, id: string) => t.kernel.cancel(id, { ...testCaller, reason: "no longer wanted" });

/** One step whose operator does this. */
function oneStep(run: (call: OperatorCall<unknown>) => unknown, more: { readonly idempotent?: boolean } = {}) {
  const world = createWorld();
  return { capabilities: [job([step("s1", "Test.Act")], [work(world, "Test.Act", { run, ...more })])] };
}

/** What `settled` has answered so far. */
function watchSettled(t: TestKernel, id: string) {
  const seen: { answer: string | null } = { answer: null };
  t.kernel.settled(id).then(
    ({ state }) => {
      seen.answer = state;
    },
    (error: Error) => {
      seen.answer = error.message;
    },
  );
  return seen;
}

describe("who waits for a workflow to rest", () => {
  it("hears how it stands when the kernel stops and its operator never ends", async () => {
    const t = await openProcess(freshPath(), oneStep(never));
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const seen = watchSettled(t, id);
    await t.clock.settle();
    expect(seen.answer).toBeNull();
    await t.kernel.stop({ drainMs: 0 });
    await t.clock.settle();
    expect(seen.answer).toBe("running");
    const late = watchSettled(t, id);
    await t.clock.settle();
    expect(late.answer).toBe("running");
  });

  it("waits no longer than its signal says, and leaves nothing behind; the workflow goes on", async () => {
    await using t = await createTestKernel(oneStep(never));
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const { timers } = t.kernel.vitals();
    const stop = new AbortController();
    const settled = t.kernel.settled(id, { signal: stop.signal });
    await t.clock.settle();
    expect(t.kernel.vitals().timers).toBe(timers + 1);
    stop.abort(new Error("the client has gone"));
    await expect(settled).rejects.toThrow("the client has gone");
    await expect(t.kernel.settled(id, { signal: stop.signal })).rejects.toThrow("the client has gone");
    expect(t.kernel.vitals().timers).toBe(timers);
    expect((await t.kernel.workflow(id)).state).toBe("running");
  });

  it("hears of a cancellation although the operator never returns", async () => {
    await using t = await createTestKernel(oneStep(never, { idempotent: true }));
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const before = watchSettled(t, id);
    await cancel(t, id);
    const after = watchSettled(t, id);
    await t.clock.settle();
    expect(after.answer).toBe("cancelled");
    await t.clock.advance(1000);
    expect(before.answer).toBe("cancelled");
  });

  it("hears how a workflow ended elsewhere that could not be folded again here", async () => {
    let away = false;
    const store = memoryLedger();
    const head: LedgerStore["head"] = (id) => (away ? Promise.reject(new Error("away")) : store.head(id));
    const patchTier = patchDoor(4, "command:sleep", () => ({
      handle: () => {
        away = true;
        throw new Error("T4 stumbles");
      },
    }));
    const work = oneStep(never, { idempotent: true });
    await using t = await createTestKernel({ ...work, ledger: { ...store, head }, patchTier });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const seen = watchSettled(t, id);
    await t.kernel.ask(4, toWorkflow("sleep", id));
    await t.clock.settle();
    expect([seen.answer, t.kernel.vitals().workflows]).toEqual([null, 0]);
    await using other = await createTestKernel({ ...work, ledger: store, recover: false, seed: 2 });
    await cancel(other, id);
    await t.clock.advance(1000);
    expect(seen.answer).toBe("cancelled");
    away = false;
  });

  it("hears that it waits for a person although it is asleep", async () => {
    const world = createWorld();
    const capabilities = [job([step("s1", "Test.Act", { gate: {} })], [work(world, "Test.Act")])];
    await using t = await createTestKernel({ capabilities });
    const { workflow_id: id } = await t.run("Test.Job");
    await t.kernel.ask(4, toWorkflow("sleep", id));
    const seen = watchSettled(t, id);
    await t.clock.settle();
    expect(seen.answer).toBe("waiting_for_user");
  });

  it("hears after a decision of what follows from it, not of the wait before it", async () => {
    const door = Promise.withResolvers<object>();
    const world = createWorld();
    const operator = work(world, "Test.Act", { run: () => door.promise });
    await using t = await createTestKernel({ capabilities: [job([step("s1", "Test.Act", { gate: {} })], [operator])] });
    const { workflow_id: id } = await t.run("Test.Job");
    await t.approve(id);
    const seen = watchSettled(t, id);
    await t.clock.advance(1000);
    expect(seen.answer).toBeNull();
    door.resolve({ ok: true });
    await t.clock.settle();
    expect(seen.answer).toBe("completed");
  });

  it("is forgotten once the wait is over, by its end or by being told", async () => {
    const clock = createVirtualClock();
    const waiters = createRestWaiters(createTimers(clock));
    const waits = ["a", "b", "c"].map((id) => waiters.next(id, { until: clock.now() + 10, background: false }));
    const told = waiters.next("d");
    expect(waiters.count()).toBe(4);
    await clock.advance(10);
    waiters.tell("d");
    expect(await Promise.all([...waits, told])).toEqual([true, true, true, true]);
    expect([waiters.count(), clock.pending()]).toEqual([0, 0]);
  });
});

/** In a few seconds a kernel sets no more: for what is due, for its heartbeat and for its look at the tail. */
const aHandful = 60;
const mostTimers = 500;

/** A clock that counts its timers; who sets timer after timer gets no more of them, so that time can go on. */
function countTimers(startAt = start) {
  const inner = createVirtualClock(startAt);
  let count = 0;
  const setTimer: VirtualClock["setTimer"] = (at, fire, background) => {
    count += 1;
    return count > mostTimers ? () => undefined : inner.setTimer(at, fire, background);
  };
  return { clock: { ...inner, setTimer }, timers: () => count };
}

describe("a gate whose time is over", () => {
  const after_ms = 1_000;
  const timed = (action: "deny" | "escalate") => ({ gate: { reason: "a person looks", expiry: { after_ms, action } } });
  const expiryOf = async (t: TestKernel, id: string): Promise<readonly string[]> =>
    (await t.types(id)).filter((type) => ["GATE_EXPIRED", "GATE_ESCALATED"].includes(type));

  it.each([
    ["is awake", false],
    ["has left memory", true],
  ])("expires in time although its workflow is put to sleep, which %s then", async (_when, hasLeft) => {
    const world = createWorld();
    const slow = work(world, "Test.Slow", { run: () => Promise.withResolvers().promise });
    const steps = [step("s1", "Test.Act", timed("deny")), ...(hasLeft ? [] : [step("s2", "Test.Slow")])];
    const { clock, timers } = countTimers();
    await using t = await createTestKernel({ clock, capabilities: [job(steps, [work(world, "Test.Act"), slow])] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.ask(4, toWorkflow("sleep", id));
    await t.clock.advance(after_ms - 1);
    expect(await expiryOf(t, id)).toEqual([]);
    await t.clock.advance(1_000);
    expect(await expiryOf(t, id)).toEqual(["GATE_EXPIRED"]);
    expect(timers()).toBeLessThan(aHandful);
    expect((await t.kernel.workflow(id)).steps[0]).toMatchObject({ state: "failed" });
  });

  it("sets no timer after timer while the host's initialisation has not answered", async () => {
    const world = createWorld();
    const path = freshPath();
    const capabilities = [job([step("s1", "Test.Act", timed("escalate"))], [work(world, "Test.Act")])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    expect((await first.rest(id)).state).toBe("waiting_for_user");
    await first.kernel.stop();
    const { clock, timers } = countTimers(start + after_ms);
    const opened = Promise.withResolvers<void>();
    await using t = await createTestKernel({
      ledger: sqliteLedger({ path }),
      clock,
      capabilities,
      initialize: () => opened.promise,
    });
    await t.clock.advance(3_000);
    expect(await expiryOf(t, id)).toEqual([]);
    expect(timers()).toBeLessThan(aHandful);
    opened.resolve();
    await t.clock.settle();
    expect(await expiryOf(t, id)).toEqual(["GATE_ESCALATED"]);
  });
});

describe("a workflow put to sleep and activated while a step runs", () => {
  it.each(["before the step ends", "after the step has ended"])(
    "goes on with the rest of its plan: %s",
    async (when) => {
      const door = Promise.withResolvers<object>();
      const world = createWorld();
      const operators = [work(world, "Test.Slow", { run: () => door.promise }), work(world, "Test.Act")];
      const steps = [step("s1", "Test.Slow"), step("s2", "Test.Act", { depends_on: ["s1"] })];
      await using t = await createTestKernel({ capabilities: [job(steps, operators)] });
      const id = await t.submit("Test.Job");
      await t.clock.settle();
      await t.kernel.ask(4, toWorkflow("sleep", id));
      if (when === "after the step has ended") door.resolve({ ok: true });
      await t.clock.settle();
      expect(world.stepsCalled()).toEqual(["s1"]);
      await t.kernel.ask(4, toWorkflow("activate", id));
      door.resolve({ ok: true });
      expect(await t.rest(id)).toMatchObject({ state: "completed", error: null });
      expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    },
  );
});

describe("after its end", () => {
  it("a cancelled workflow's ledger gets no later decision of policy, and its followers leave", async () => {
    const door = Promise.withResolvers<null>();
    const slow = { name: "slow", stages: ["action"] as const, evaluate: () => door.promise };
    await using t = await createTestKernel({ ...oneStep(() => ({ ok: true })), policies: [slow] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await cancel(t, id);
    door.resolve(null);
    await t.clock.settle();
    expect((await t.types(id)).at(-1)).toBe("WORKFLOW_CANCELLED");
  });

  it("a fact that is appended later reopens it for no reader", async () => {
    const store = memoryLedger();
    await using t = await createTestKernel({ ...oneStep(() => ({ ok: true })), ledger: store });
    const { workflow_id: id } = await t.run("Test.Job");
    await appendFact(store, id);
    const types: string[] = [];
    let left = 0;
    const follow = async (): Promise<void> => {
      for await (const event of t.kernel.events(id)) types.push(event.event_type);
      left += 1;
    };
    const watch = async (): Promise<void> => {
      for await (const _ of t.kernel.progress(id));
      left += 1;
    };
    void follow();
    void watch();
    await t.clock.advance(minute);
    expect(types.slice(-2)).toEqual(["WORKFLOW_COMPLETED", "OPERATOR_ALERT"]);
    expect(left).toBe(2);
  });
});

/** A row of its own behind the last one. */
async function appendFact(store: LedgerStore, id: string): Promise<void> {
  const [first] = await store.read(id);
  const last = (await store.last(id)) as TurnRow;
  const envelope = openEnvelope(first as TurnRow);
  const fact = { id: "evt_late", type: "OPERATOR_ALERT", step: "s1", payload: {} } as const;
  const row = sealTurn({ ...envelope, first: last.last_sequence + 1, count: 1 }, [fact], last.hash);
  const [receipt] = await store.append([{ tenant_id: envelope.tenant_id, row, now: envelope.now }]);
  expect(receipt).toMatchObject({ ok: true });
}

describe("an operator under way", () => {
  const listening = (told: string[]) => (call: OperatorCall<unknown>) =>
    new Promise((_, reject) => {
      call.signal.addEventListener("abort", () => {
        told.push("aborted");
        reject(new Error("stopped"));
      });
    });

  it("is told of a cancellation once it is in the ledger, not before", async () => {
    const told: string[] = [];
    const toldAtAppend: number[] = [];
    const store = memoryLedger();
    const append: LedgerStore["append"] = async (batch) => {
      const receipts = await store.append(batch);
      if (JSON.stringify(batch).includes("WORKFLOW_CANCELLING")) toldAtAppend.push(told.length);
      return receipts;
    };
    await using t = await createTestKernel({ ...oneStep(listening(told)), ledger: { ...store, append } });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await cancel(t, id);
    expect([toldAtAppend, told]).toEqual([[0], ["aborted"]]);
  });

  it("is told nothing of a cancellation that could not be appended, and the workflow goes on", async () => {
    const told: string[] = [];
    const door = Promise.withResolvers<object>();
    const store = memoryLedger();
    const append: LedgerStore["append"] = (batch) =>
      JSON.stringify(batch).includes("WORKFLOW_CANCELLED")
        ? Promise.reject(new Error("the disk is full"))
        : store.append(batch);
    const run = (call: OperatorCall<unknown>) => {
      call.signal.addEventListener("abort", () => told.push("aborted"));
      return door.promise;
    };
    await using t = await createTestKernel({ ...oneStep(run, { idempotent: true }), ledger: { ...store, append } });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await expect(cancel(t, id)).rejects.toMatchObject({ error: { code: "T0_LEDGER_UNAVAILABLE" } });
    expect(told).toEqual([]);
    door.resolve({ ok: true });
    await t.clock.advance(minute);
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "completed" });
    expect(told).toEqual([]);
  });

  it("is told of a cancellation that another process appended", async () => {
    const told: string[] = [];
    const path = freshPath();
    const { capabilities } = oneStep(listening(told), { idempotent: true });
    await using owner = await openProcess(path, { capabilities, owner: "first" });
    const id = await owner.submit("Test.Job");
    await owner.clock.settle();
    await using other = await openProcess(path, { capabilities, owner: "second", at: 100 });
    expect((await cancel(other, id)).status).toBe("cancelled");
    await owner.clock.advance(1000);
    expect(told).toEqual(["aborted"]);
    expect(owner.kernel.vitals().workflows).toBe(0);
  });
});
