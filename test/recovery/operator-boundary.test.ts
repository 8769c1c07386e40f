/**
 * The operator boundary between processes, commands and steps: nobody calls, repeats or waits for what is not theirs.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, type LedgerStore } from "../../src/index.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { joinCall } from "../../src/tiers/t4-execution/perform/call-operator.ts";
import { calling, callOnce, wanted } from "../effects/boundary.ts";
import { held } from "../gates/story.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();

const stepOf = async (t: TestKernel, id: string, stepId: string) =>
  (await t.kernel.workflow(id)).steps.find((s) => s.step_id === stepId);

describe("a call that another one has left in doubt", () => {
  it("fails the second step that would apply the same draft, and names the action; the first still asks", async () => {
    const world = createWorld();
    const gate = held<object>();
    const apply = { applies: "s1" } as const;
    const capability = defineCapability({
      intentType: "Test.Job",
      version: "1.0",
      input: z.object({}),
      outcomes: { note: z.any() },
      operators: [
        work(world, "Test.Draft", { effect: "none" }),
        work(world, "Test.Slow", { effect: "none", run: () => gate.promise }),
        work(world, "Test.Apply", { timeoutSec: 1, run: never }),
      ],
      plan: {
        reasoning: "as told",
        steps: [
          step("s1", "Test.Draft", { outcome: "note" }),
          step("s4", "Test.Slow"),
          step("s2", "Test.Apply", { ...apply, depends_on: ["s1"] }),
          step("s3", "Test.Apply", { ...apply, depends_on: ["s1", "s4"] }),
        ],
      },
    });
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.clock.advance(1500);
    const [action] = (await t.kernel.actions(id)).filter((a) => a.step_id === "s2");
    gate.release({ ok: true });
    expect(await t.rest(id)).toMatchObject({ state: "waiting_for_user" });
    expect(await stepOf(t, id, "s2")).toMatchObject({ state: "running", phase: "in_doubt" });
    const error = { code: "T4_ACTION_IN_DOUBT", detail: { action_id: action?.action_id } };
    expect(await stepOf(t, id, "s3")).toMatchObject({ state: "failed", error });
    expect(world.stepsCalled().filter((s) => s === "s2" || s === "s3")).toEqual(["s2"]);
  });

  it("keeps the work of a cancelled workflow from being repeated until a person has settled the call", async () => {
    const world = createWorld();
    const capability = job(
      [step("s1", "Test.Act"), step("s2", "Test.Slow")],
      [work(world, "Test.Act"), work(world, "Test.Slow", { run: never })],
    );
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.cancel(id, { ...testCaller, reason: "stop" });
    const regenerate = () => t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["s1"] });
    await expect(regenerate()).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_CONFLICT" } });
    expect((await t.rest(id)).state).toBe("cancelling");
    await t.reject(id, "gate-s2_doubt1");
    expect((await t.rest(id)).state).toBe("cancelled");
    const again = await regenerate();
    await t.clock.settle();
    expect(await stepOf(t, again.workflow_id, "s2")).toMatchObject({ state: "running", phase: "calling" });
    // The two steps do not depend on one another: which of them is called first is the store's matter.
    expect(world.stepsCalled().slice(0, 2)).toEqual(["s1", "s2"]);
    expect(world.stepsCalled().slice(2).toSorted()).toEqual(["s1", "s2"]);
  });
});

describe("a workflow cancelled while the start of a call is being committed", () => {
  it("makes no call that is not told of it, whichever of the two comes first", async () => {
    for (let turns = 0; turns < 40; turns += 1) {
      const told: boolean[] = [];
      const store = memoryLedger();
      const openRow = rowOpener();
      let cancelled: Promise<unknown> | null = null;
      const append: LedgerStore["append"] = async (entries) => {
        const receipts = await store.append(entries);
        const types = entries.flatMap(({ row }) => openRow(row)).map(({ event_type }) => event_type);
        if (cancelled !== null || !types.includes("ACTION_STARTED")) return receipts;
        cancelled = t.kernel.cancel(entries[0]?.row.stream ?? "", { ...testCaller, reason: "stop" });
        for (let i = 0; i < turns; i += 1) await null;
        return receipts;
      };
      const run = ({ signal }: { readonly signal: AbortSignal }): Promise<never> => {
        const call = told.push(false) - 1;
        signal.addEventListener("abort", () => {
          told[call] = true;
        });
        return never();
      };
      const capability = job([step("s1", "Test.Act")], [work(createWorld(), "Test.Act", { run })]);
      await using t = await createTestKernel({ capabilities: [capability], ledger: { ...store, append } });
      const id = await t.submit("Test.Job");
      await t.clock.settle();
      await cancelled;
      // The operator never ends: where it was called, the workflow waits for the end of that call.
      expect((await t.kernel.workflow(id)).state).toBe(told.length === 0 ? "cancelled" : "cancelling");
      expect(told, `after ${turns} turns`).not.toContain(false);
    }
  });

  it("makes no call at the boundary itself either, whatever stands behind it", async () => {
    const world = createWorld();
    const stopped = AbortSignal.abort(new Error("cancelled"));
    const { ends, timers } = await callOnce(work(world, "Test.Act"), {}, stopped);
    expect(ends).toMatchObject([{ status: "failed", error: { message: "cancelled" }, pending: false, over: true }]);
    expect([world.calls.length, timers]).toEqual([0, 0]);
  });
});

describe("a lost call whose operator this process does not have", () => {
  const lose = async (more: KernelOptions = {}) => {
    const path = freshPath();
    const world = createWorld();
    let dead = true;
    const run = (): unknown => (dead ? never() : { made: "again" });
    const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act", { run })])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    dead = false;
    return { path, world, id, capabilities, without: await openProcess(path, { ...more, at: 10 * minute }) };
  };

  it("is asked about, and no process repeats it unasked", async () => {
    const { path, world, id, capabilities, without } = await lose();
    expect(await without.rest(id)).toMatchObject({ state: "waiting_for_user" });
    await without.kernel.stop({ drainMs: 0 });
    await using t = await openProcess(path, { capabilities, at: 20 * minute });
    await t.rest(id);
    expect(world.stepsCalled()).toEqual(["s1"]);
    await t.approve(id, "gate-s1_doubt1", { resolution: "retry" });
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1", "s1"]);
  });

  it("is asked about, not repeated, if its workflow failed before anybody looked and is then resumed", async () => {
    const initialize = (): never => {
      throw new Error("no database");
    };
    const { path, world, id, capabilities, without } = await lose({ initialize });
    expect(await without.rest(id)).toMatchObject({ state: "failed" });
    await without.kernel.stop({ drainMs: 0 });
    await using t = await openProcess(path, { capabilities, at: 20 * minute });
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    expect(await t.rest(id)).toMatchObject({ state: "waiting_for_user" });
    expect(await stepOf(t, id, "s1")).toMatchObject({ phase: "in_doubt" });
    expect(world.stepsCalled()).toEqual(["s1"]);
  });
});

describe("whoever joins a call under way", () => {
  it("is given a failure that may have taken effect when the call ended and the record does not say how", async () => {
    const actions = new Map([["act_1", { seen: "running", record: { result_payload: null, error: null } }]]);
    const { at, clock, ends } = calling(work(createWorld(), "Test.Act"), undefined, actions);
    const { payload: _payload, ...call } = wanted;
    await joinCall(at, { ...call, do: "join" }, Promise.resolve());
    expect(ends).toMatchObject([{ status: "failed", usage: {}, pending: true, cached: true }]);
    await clock.settle();
    expect(clock.pending()).toBe(0);
  });

  it("waits with it when the start of both cannot be recorded: one call is made, after one is", async () => {
    const world = createWorld();
    const apply = { applies: "s1", depends_on: ["s1"] };
    const capability = defineCapability({
      intentType: "Test.Job",
      version: "1.0",
      input: z.object({}),
      outcomes: { note: z.any() },
      operators: [work(world, "Test.Draft", { effect: "none" }), work(world, "Test.Act", { run: () => ({ n: 1 }) })],
      plan: {
        reasoning: "as told",
        steps: [
          step("s1", "Test.Draft", { outcome: "note" }),
          step("s2", "Test.Act", apply),
          step("s3", "Test.Act", apply),
        ],
      },
    });
    const store = memoryLedger();
    let refused = 0;
    const append: LedgerStore["append"] = async (entries) => {
      if (refused > 0 || !JSON.stringify(entries).includes("apply:")) return store.append(entries);
      refused += 1;
      throw new Error("the disk is full");
    };
    const ledger = { ...store, append };
    await using t = await createTestKernel({ capabilities: [capability], defaultPolicies: false, ledger });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const applied = () => world.stepsCalled().filter((called) => called !== "s1");
    expect([refused, applied()]).toEqual([1, []]);
    expect((await t.rest(id)).state).toBe("completed");
    expect(applied()).toEqual(["s2"]);
  });
});
