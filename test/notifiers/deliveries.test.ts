import { describe, expect, it } from "vitest";
import { GateNotice } from "../../src/contract/gate-notice.ts";
import { createKernel, type KernelOptions } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createObserver } from "../../src/observers/telemetry/index.ts";
import { createTestKernel, createVirtualClock } from "../../src/testing/index.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { freshPaths } from "../fixtures.ts";
import { decide, gatedSteps, held, intent, publishing, refusalOf } from "../gates/story.ts";
import { withDatabase } from "../ledgers/ledger-files.ts";
import { recordingNotifier } from "./recording-notifier.ts";

const freshPath = freshPaths();
const minute = 60_000;
const hour = 60 * minute;

const open = (options: KernelOptions & { readonly seed?: number }) => createTestKernel(options);

describe("what is told of a gate", () => {
  it("that it was opened and how it was decided, as it stood then, and nothing of what nobody was asked", async () => {
    const notifier = recordingNotifier();
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    await t.clock.settle();
    expect(notifier.lines()).toEqual(["opened gate-publish", "decided gate-publish"]);
    expect(notifier.told.map((notice) => GateNotice.parse(notice).gate.status)).toEqual(["open", "approved"]);
    expect(notifier.told[0]).toMatchObject({ workflow_id, tenant_id: 1, intent_type: intent });
    expect(new Set(notifier.told.map(({ notice_id }) => notice_id)).size).toBe(2);
  });

  it("that it is due soon, was escalated, and is due soon again; a decision withdraws what was to come", async () => {
    const notifier = recordingNotifier();
    const expiry = { after_ms: 10 * hour, action: "deny" as const };
    const escalation = [{ after_ms: 4 * hour, role: "admin" }];
    const { capability } = gatedSteps(1, { gate: { escalation, expiry } } as never);
    await using t = await open({ capabilities: [capability], notifiers: [notifier] });
    const { workflow_id } = await t.run(intent);
    await t.clock.advance(3 * hour - 1);
    expect(notifier.lines()).toEqual(["opened gate-s1"]);
    await t.clock.advance(1);
    await t.clock.settle();
    expect(notifier.lines().slice(1)).toEqual(["due_soon gate-s1"]);
    await t.clock.advance(hour);
    expect(notifier.lines().slice(2)).toEqual(["escalated gate-s1"]);
    expect(notifier.told.at(-1)?.gate.added_roles).toEqual(["admin"]);
    await t.clock.advance(hour);
    await t.kernel.decideGate(workflow_id, {
      tenant_id: 1,
      principal: { type: "user", id: "boss", role: "admin" },
      gate_id: "gate-s1",
      decision: "approve",
    });
    await t.clock.advance(20 * hour);
    expect(notifier.lines().slice(3)).toEqual(["decided gate-s1"]);
  });

  it("of a short one when half of its time is over", async () => {
    const notifier = recordingNotifier();
    const { capability } = gatedSteps(1, { gate: { expiry: { after_ms: 10 * minute, action: "deny" } } });
    await using t = await open({ capabilities: [capability], notifiers: [notifier] });
    await t.run(intent);
    await t.clock.advance(5 * minute);
    expect(notifier.lines()).toEqual(["opened gate-s1", "due_soon gate-s1"]);
    await t.clock.advance(5 * minute);
    expect([notifier.lines().slice(2), notifier.told[2]?.gate.status]).toEqual([["decided gate-s1"], "expired"]);
  });

  it("that an edit made something else of it, and that nobody decides it any more", async () => {
    const notifier = recordingNotifier();
    const { capability } = gatedSteps(2, { gate: { quorum: { approvals: 2 } } });
    await using t = await open({ capabilities: [capability], notifiers: [notifier] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { gate_id: "gate-s1", decision: "approve", payload: { edit: { id: "other" } } });
    await t.clock.settle();
    expect(notifier.lines()).toEqual(["opened gate-s1", "opened gate-s2", "revised gate-s1"]);
    expect(notifier.told[2]?.gate.payload).toEqual({ id: "other" });
    await t.kernel.cancel(workflow_id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } });
    await t.clock.settle();
    expect([...notifier.lines().slice(3)].sort()).toEqual(["decided gate-s1", "decided gate-s2"]);
    expect(notifier.told.at(-1)?.gate.status).toBe("voided");
  });

  it("of the kinds that the notifier asks for", async () => {
    const notifier = recordingNotifier({ kinds: ["decided"] });
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id);
    await t.clock.settle();
    expect(notifier.lines()).toEqual(["decided gate-publish"]);
  });
});

describe("a notifier that fails", () => {
  it("is tried again after doubling pauses, keeps the order of its gate, and delays no other gate", async () => {
    let isDown = true;
    const attempts: number[] = [];
    const notifier = recordingNotifier({}, ({ gate }) => {
      if (gate.gate_id !== "gate-s1" || !isDown) return undefined;
      attempts.push(t.clock.now() - began);
      throw new Error("away");
    });
    await using t = await open({ capabilities: [gatedSteps(2).capability], notifiers: [notifier] });
    const began = t.clock.now();
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { gate_id: "gate-s1", decision: "approve" });
    await t.clock.advance(10_000);
    expect(attempts).toEqual([0, 1_000, 3_000, 7_000]);
    expect(notifier.lines()).toEqual(["opened gate-s2"]);
    expect(await t.kernel.deliveries()).toEqual([
      { notifier: "recording", pending: 2, failed: 0, error: "the notifier recording failed: away" },
    ]);
    isDown = false;
    await t.clock.advance(10_000);
    expect(notifier.lines()).toEqual(["opened gate-s2", "opened gate-s1", "decided gate-s1"]);
    expect(await t.kernel.deliveries()).toEqual([{ notifier: "recording", pending: 0, failed: 0, error: null }]);
    expect(t.logged.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual(
      Array(4).fill("a notice could not be delivered"),
    );
    const outcomes = t.marks.filter(({ stage }) => stage === "notice").map((mark) => mark["outcome"]);
    expect(outcomes.filter((one) => one === "put_back")).toHaveLength(4);
  });

  it("for good is told, and what it was to tell is kept until somebody wants it told after all", async () => {
    let isDown = true;
    const notifier = recordingNotifier({}, () => {
      if (isDown) throw new Error("away");
    });
    const limits = { maxDeliveryAttempts: 3 };
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier], limits });
    const { workflow_id } = await t.run(intent);
    await t.clock.advance(hour);
    expect(await t.kernel.deliveries()).toMatchObject([{ pending: 0, failed: 1 }]);
    expect(t.logged.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
      "a notice is given up",
    ]);
    isDown = false;
    await t.approve(workflow_id);
    await t.clock.settle();
    expect(notifier.lines()).toEqual(["decided gate-publish"]);
    expect(await t.kernel.redeliver("recording")).toBe(1);
    await t.clock.settle();
    expect(notifier.lines()).toEqual(["decided gate-publish", "opened gate-publish"]);
  });

  it("to answer is cut off by its limit, and no workflow waits for it", async () => {
    let signals = 0;
    const notifier = recordingNotifier({}, (_, signal) => {
      signal.addEventListener("abort", () => {
        signals += 1;
      });
      return new Promise(() => undefined);
    });
    const limits = { deliveryTimeoutMs: 5_000, maxDeliveryAttempts: 1 };
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier], limits });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    await t.clock.advance(5_000);
    expect(signals).toBe(1);
    expect(await t.kernel.deliveries()).toMatchObject([
      { failed: 1, error: "the notifier recording gave no answer within 5000 ms" },
    ]);
  });

  it("is not kept waiting longer than it asks, nor shorter", async () => {
    const attempts: number[] = [];
    const notifier = recordingNotifier({}, async () => {
      attempts.push(t.clock.now() - began);
      const { createError, KernelErrorException } = await import("../../src/index.ts");
      const detail = { retry_after_ms: 60_000 };
      const source = { tier: 6, module: "test", function: "deliver" };
      throw new KernelErrorException(
        createError("T6_NOTICE_REFUSED", "external", "transient", "later", source as never, true, detail),
      );
    });
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier] });
    const began = t.clock.now();
    await t.run(intent);
    await t.clock.advance(61_000);
    expect(attempts).toEqual([0, 60_000]);
  });

  it("and one that does not are counted for whoever watches the process", async () => {
    let isDown = true;
    const notifier = recordingNotifier({}, () => {
      if (isDown) throw new Error("away");
    });
    const telemetry = createObserver();
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier], telemetry });
    await t.run(intent);
    await t.clock.settle();
    isDown = false;
    await t.clock.advance(1_000);
    const told = await telemetry.prometheus();
    for (const outcome of ["put_back", "delivered"])
      expect(told).toContain(`countersign_notices_total{notifier="recording",outcome="${outcome}"} 1`);
    telemetry.stop();
  });

  it("says whom it did not reach although it delivered: that is logged", async () => {
    const notifier = recordingNotifier({}, () => ({ remark: "ann has no address" }));
    await using t = await open({ capabilities: [publishing().capability], notifiers: [notifier] });
    await t.run(intent);
    await t.clock.settle();
    expect(t.logged.find(({ message }) => message === "a notice did not reach everybody")?.detail).toMatchObject({
      remark: "ann has no address",
    });
  });
});

describe("over restarts and processes", () => {
  it("what happened while nobody told is told later, once, and what was delivered is not told again", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(1).capability];
    const first = recordingNotifier();
    const one = await open({ ledger: sqliteLedger({ path }), capabilities, notifiers: [first], clock });
    const a = await one.run(intent);
    await clock.settle();
    await one.kernel.stop();
    const quiet = await open({ ledger: sqliteLedger({ path }), capabilities, clock, seed: 2 });
    await quiet.approve(a.workflow_id);
    const b = await quiet.run(intent);
    await quiet.kernel.stop();
    const second = recordingNotifier();
    await using three = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [second],
      clock,
      seed: 3,
    });
    await clock.settle();
    expect(first.lines()).toEqual(["opened gate-s1"]);
    expect(second.told.map(({ kind, workflow_id }) => [kind, workflow_id])).toEqual([
      ["decided", a.workflow_id],
      ["opened", b.workflow_id],
    ]);
    expect((await three.kernel.verify()).ok).toBe(true);
  });

  it("a notifier that is new is told of what is open, and of nothing that is over", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(1).capability];
    const before = await open({ ledger: sqliteLedger({ path }), capabilities, clock });
    const [over, waiting] = [await before.run(intent), await before.run(intent)];
    await before.approve(over.workflow_id);
    await before.kernel.stop();
    const notifier = recordingNotifier();
    await using after = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [notifier],
      clock,
      seed: 2,
    });
    await clock.settle();
    expect(notifier.told.map(({ kind, workflow_id }) => [kind, workflow_id])).toEqual([
      ["opened", waiting.workflow_id],
    ]);
    await after.approve(waiting.workflow_id);
    await clock.settle();
    expect(notifier.lines()).toEqual(["opened gate-s1", "decided gate-s1"]);
  });

  it("two kernels on one file tell each thing once", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(3).capability];
    const [mine, theirs] = [recordingNotifier(), recordingNotifier()];
    await using one = await open({ ledger: sqliteLedger({ path }), capabilities, notifiers: [mine], clock });
    await using two = await open({ ledger: sqliteLedger({ path }), capabilities, notifiers: [theirs], clock, seed: 2 });
    for (const t of [one, two, one]) {
      const { workflow_id } = await t.run(intent);
      for (const gate_id of ["gate-s1", "gate-s2"]) await decide(t, workflow_id, { gate_id, decision: "approve" });
    }
    await clock.advance(1_000);
    const told = [...mine.told, ...theirs.told];
    expect(told).toHaveLength(15);
    expect(new Set(told.map(({ notice_id }) => notice_id)).size).toBe(15);
  });

  it("what was taken and never settled is told again, under the same id, once its lease has run out", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(1).capability];
    const ids: string[] = [];
    const hanging = recordingNotifier({}, ({ notice_id }) => {
      ids.push(notice_id);
      return new Promise(() => undefined);
    });
    const dead = await open({ ledger: sqliteLedger({ path }), capabilities, notifiers: [hanging], clock });
    await dead.run(intent);
    await clock.settle();
    expect(ids).toHaveLength(1);
    // As after kill -9: the lease stands, nobody settles.
    const notifier = recordingNotifier();
    await using alive = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [notifier],
      clock,
      seed: 2,
    });
    withDatabase(path, (db) => db.exec("UPDATE deliveries SET owner = 'gone'"));
    await clock.advance(19_999);
    expect(notifier.told).toEqual([]);
    await clock.advance(1);
    expect(notifier.told.map(({ notice_id }) => notice_id)).toEqual(ids);
    await dead.kernel.stop();
    expect((await alive.kernel.deliveries())[0]?.pending).toBe(0);
  });

  it("a kernel that stops ends what is under way; it is pending for the next one at once", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(1).capability];
    const hanging = recordingNotifier({}, (_, signal) => {
      const { promise, release } = held<void>();
      signal.addEventListener("abort", () => release());
      return promise.then(() => {
        throw new Error("cut off");
      });
    });
    const first = await open({ ledger: sqliteLedger({ path }), capabilities, notifiers: [hanging], clock });
    await first.run(intent);
    await clock.settle();
    await first.kernel.stop();
    expect(clock.pending()).toBe(0);
    const notifier = recordingNotifier();
    await using _second = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [notifier],
      clock,
      seed: 2,
    });
    await clock.settle();
    expect(notifier.lines()).toEqual(["opened gate-s1"]);
  });

  it("a damaged workflow keeps nobody else from being told", async () => {
    const path = freshPath();
    const clock = createVirtualClock();
    const capabilities = [gatedSteps(1).capability];
    const before = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [recordingNotifier()],
      clock,
    });
    await before.kernel.stop();
    const writer = await open({ ledger: sqliteLedger({ path }), capabilities, clock, seed: 2 });
    const [bad, good] = [await writer.run(intent), await writer.run(intent)];
    await writer.kernel.stop();
    withDatabase(path, (db) => {
      db.exec("DROP TRIGGER events_keep_on_update");
      db.exec(`UPDATE events SET body = replace(body, '"s1"', '"sX"') WHERE stream = '${bad.workflow_id}'`);
    });
    const notifier = recordingNotifier();
    await using _after = await open({
      ledger: sqliteLedger({ path }),
      capabilities,
      notifiers: [notifier],
      clock,
      seed: 3,
    });
    await clock.settle();
    expect(notifier.told.map(({ workflow_id }) => workflow_id)).toEqual([good.workflow_id]);
  });
});

describe("options", () => {
  it.each([
    ["a notifier without deliver", { notifiers: [{ name: "a" }] }],
    ["a notifier without a name", { notifiers: [{ deliver: () => undefined }] }],
    ["two of one name", { notifiers: [recordingNotifier(), recordingNotifier()] }],
    ["a ledger that keeps no deliveries", { notifiers: [recordingNotifier()], ledger: memoryLedger() }],
  ])("with %s make no kernel", async (_what, options) => {
    expect((await refusalOf(createKernel(options as never))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("without notifiers leave no trace: the same ids, no timer, no table touched", async () => {
    const path = freshPath();
    await using t = await open({ capabilities: [publishing().capability], ledger: sqliteLedger({ path }) });
    await t.run(intent);
    expect(await t.kernel.deliveries()).toEqual([]);
    expect(await t.kernel.redeliver("nobody")).toBe(0);
  });
});
