/**
 * A workflow that is cancelled while a call is under way that may not be repeated: it is `cancelling` until the end of
 * that call is known, whoever knows it, and ends as cancelled with the end on record.
 */
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/index.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { openTurns, type TurnRow } from "../../src/contract/turn.ts";
import type { StepRecord, WorkflowRecord } from "../../src/contract/workflow.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import { dueOf } from "../../src/engine/log/derive-indexes.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { refusalOf } from "../fixtures.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import { createWorld, job, ledgerPaths, minute, openProcess, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();
const doubtGate = "gate-s1_doubt1";
const reason = "no longer wanted";
const cancel = (t: TestKernel, id: string) => t.kernel.cancel(id, { ...testCaller, reason });

type WorkOptions = NonNullable<Parameters<typeof work>[2]>;

/** `s1` is called and ends when the test says so; `s2` waits for it, and `s3` for a person. */
function busy(options: WorkOptions = {}) {
  const world = createWorld();
  const door = Promise.withResolvers<unknown>();
  const slow = work(world, "Test.Slow", { timeoutSec: 10, run: () => door.promise, ...options });
  const gated = step("s3", "Test.Work", { gate: { reason: "a person looks" } });
  const steps = [step("s1", "Test.Slow"), step("s2", "Test.Work", { depends_on: ["s1"] }), gated];
  return { world, door, capabilities: [job(steps, [slow, work(world, "Test.Work")])] };
}

async function submit(t: TestKernel): Promise<string> {
  const id = await t.submit("Test.Job");
  await t.clock.settle();
  return id;
}

const statesOf = async (t: TestKernel, id: string) => {
  const { state, steps, gates } = await t.kernel.workflow(id);
  return [state, ...steps.map((one) => one.state), ...gates.map(({ gate_id, status }) => `${gate_id} ${status}`)];
};
const actionOf = async (t: TestKernel, id: string) => (await t.kernel.actions(id)).map(({ status }) => status);

async function expectReplayed(t: TestKernel, id: string): Promise<void> {
  expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  expect(await t.kernel.verify()).toMatchObject({ ok: true });
}

describe("a workflow that is cancelled while a call is under way that may not be repeated", () => {
  it("is cancelling until the call ends: other steps and gates end at once, the late success counts", async () => {
    const { world, door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    expect((await cancel(t, id)).status).toBe("cancelling");
    expect(await statesOf(t, id)).toEqual(["cancelling", "running", "skipped", "skipped", "gate-s3 voided"]);
    expect((await t.kernel.workflows({ states: ["cancelling"] })).map(({ workflow_id }) => workflow_id)).toEqual([id]);
    expect(await t.kernel.gates()).toEqual([]);
    door.resolve({ paid: true });
    await t.clock.settle();
    expect(await statesOf(t, id)).toEqual(["cancelled", "skipped", "skipped", "skipped", "gate-s3 voided"]);
    expect(await t.kernel.actions(id)).toMatchObject([{ status: "succeeded", result_payload: { paid: true } }]);
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
    await expectReplayed(t, id);
  });

  it("records a failure that says what was done, and asks nobody", async () => {
    const { door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    door.reject(
      operatorError({ code: "CLOSED", message: "the shop is closed", category: "dependency", retryable: false }),
    );
    await t.clock.settle();
    expect([(await t.kernel.workflow(id)).state, await actionOf(t, id)]).toEqual(["cancelled", ["failed"]]);
    expect(await t.kernel.gates()).toEqual([]);
    await expectReplayed(t, id);
  });

  const listening = ({ signal }: OperatorCall<unknown>): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));

  it("takes an operator at its word that honours its abort: nothing was done", async () => {
    const { capabilities } = busy({ honoursAbort: true, run: listening });
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    await t.clock.settle();
    expect([(await t.kernel.workflow(id)).state, await actionOf(t, id)]).toEqual(["cancelled", ["failed"]]);
    await expectReplayed(t, id);
  });

  it.each([
    ["its operator throws plainly when it is told to stop", listening, 0],
    ["its time is over", () => new Promise(() => undefined), 10_000],
  ] as const)("asks a person where %s; the word of that person is the end", async (_why, run, waitMs) => {
    const { world, capabilities } = busy({ run });
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    await t.clock.advance(waitMs);
    const settled = await t.rest(id);
    expect(settled.state).toBe("cancelling");
    expect(await t.kernel.gates()).toMatchObject([{ gate_id: doubtGate, kind: "in_doubt", status: "open" }]);
    expect((await cancel(t, id)).status).toBe("cancelling");
    expect((await refusalOf(t.approve(id, doubtGate, { resolution: "retry" }))).code).toBe("T5_GATE_CONFLICT");
    await t.approve(id, doubtGate, { resolution: "done", result: { paid: true } });
    expect((await t.rest(id)).state).toBe("cancelled");
    expect(await t.kernel.actions(id)).toMatchObject([{ status: "succeeded", result_payload: { paid: true } }]);
    expect(world.stepsCalled()).toEqual(["s1"]);
    expect((await t.types(id)).filter((type) => type.startsWith("WORKFLOW_CANCELL"))).toEqual([
      "WORKFLOW_CANCELLING",
      "WORKFLOW_CANCELLED",
    ]);
    await expectReplayed(t, id);
  });

  it("ends with a success that comes while the person is asked, and the gate is void", async () => {
    const { door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    await t.clock.advance(10_000);
    expect((await t.kernel.workflow(id)).state).toBe("cancelling");
    door.resolve({ paid: true });
    await t.clock.settle();
    expect(await statesOf(t, id)).toEqual([
      ...["cancelled", "skipped", "skipped", "skipped"],
      ...["gate-s3 voided", `${doubtGate} voided`],
    ]);
    expect(await actionOf(t, id)).toEqual(["succeeded"]);
    await expectReplayed(t, id);
  });

  it("takes no retry, regeneration or early decision meanwhile, and repeats its answer to another cancel", async () => {
    const { door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    const first = await cancel(t, id);
    const { sequence } = await t.kernel.workflow(id);
    expect(await cancel(t, id)).toEqual(first);
    for (const mode of ["resume_failed_steps", "regenerate", "replay"] as const)
      expect((await refusalOf(t.kernel.retry(id, { ...testCaller, mode }))).code).toBe("T4_WORKFLOW_CONFLICT");
    expect((await refusalOf(t.approve(id, "gate-s3"))).code).toBe("T5_GATE_CONFLICT");
    expect((await t.kernel.workflow(id)).sequence).toBe(sequence);
    door.resolve({});
    await t.clock.settle();
    expect(await cancel(t, id)).toMatchObject({ status: "cancelled" });
  });

  it("is due at once where nothing is left to ask about: whoever takes it up ends it", async () => {
    const { door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    const rows: TurnRow[] = [];
    for await (const row of t.kernel.export(id)) rows.push(row);
    const record = foldEvents(openTurns(rows)) as WorkflowRecord;
    const updatedAt = Date.parse(record.updated_at);
    const answered = (one: StepRecord): StepRecord => ({ ...one, state: "failed", phase: null });
    const steps = new Map([...record.steps].map(([key, one]) => [key, answered(one)]));
    expect(dueOf({ ...record, steps })).toBe(updatedAt);
    door.resolve({ paid: true });
    await t.clock.settle();
  });

  it("says so in its progress and in its explanation", async () => {
    const { door, capabilities } = busy();
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    await cancel(t, id);
    expect((await t.kernel.workflow(id)).progress).toMatchObject({ stage: "cancelling" });
    const told = JSON.stringify(await t.kernel.explain(id));
    expect(told).toContain(`user 1 ended the workflow: ${reason}`);
    door.resolve({});
    await t.clock.settle();
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "cancelled", progress: { stage: "cancelled" } });
  });
});

describe("what keeps no workflow from ending at once", () => {
  it.each([
    ["may be repeated", { idempotent: true }, ["in_doubt"]],
    ["has no effect", { effect: "read" }, ["running"]],
  ] as const)("a call that %s", async (_what, options, left) => {
    const { capabilities } = busy(options);
    await using t = await createTestKernel({ capabilities });
    const id = await submit(t);
    expect((await cancel(t, id)).status).toBe("cancelled");
    expect(await actionOf(t, id)).toEqual(left);
    await expectReplayed(t, id);
  });

  it("a call whose start was being committed when the cancel came: it is not made any more", async () => {
    const { world, capabilities } = busy();
    const store = memoryLedger();
    const openRow = rowOpener();
    let cancelled: Promise<{ readonly status: string }> | null = null;
    const append: LedgerStore["append"] = async (entries) => {
      const receipts = await store.append(entries);
      const types = entries.flatMap(({ row }) => openRow(row)).map(({ event_type }) => event_type);
      if (cancelled === null && types.includes("ACTION_STARTED")) {
        cancelled = cancel(t, entries[0]?.row.stream ?? "");
        await letRun();
      }
      return receipts;
    };
    await using t = await createTestKernel({ capabilities, ledger: { ...store, append } });
    const id = await submit(t);
    expect(await cancelled).toMatchObject({ status: "cancelling" });
    expect([(await t.kernel.workflow(id)).state, await actionOf(t, id)]).toEqual(["cancelled", ["failed"]]);
    expect(world.calls).toEqual([]);
    await expectReplayed(t, id);
  });
});

describe("a process that goes while its workflow is cancelling", () => {
  it.each(["is stopped", "dies", "loses its lease"] as const)(
    "%s, and the next one asks what became of the call",
    async (how) => {
      const path = freshPath();
      const { world, capabilities } = busy({ timeoutSec: 36_000 });
      const first = await openProcess(path, { capabilities, owner: "first" });
      const id = await submit(first);
      await cancel(first, id);
      if (how === "is stopped") await first.kernel.stop({ drainMs: 0 });
      else first.freeze();
      await using second = await openProcess(path, { capabilities, owner: "second", at: minute });
      await second.clock.settle();
      expect(await second.kernel.gates()).toMatchObject([{ gate_id: doubtGate, kind: "in_doubt" }]);
      expect((await second.kernel.workflow(id)).state).toBe("cancelling");
      expect(second.kernel.vitals().workflows).toBe(0);
      if (how === "loses its lease") {
        first.thaw();
        await first.clock.advance(minute);
        expect(first.kernel.vitals().workflows).toBe(0);
      }
      await second.reject(id, doubtGate);
      expect((await second.rest(id)).state).toBe("cancelled");
      expect(world.stepsCalled()).toEqual(["s1"]);
      await expectReplayed(second, id);
      if (how === "loses its lease") await first.kernel.stop({ drainMs: 0 });
    },
  );

  it("whose call is cancelled through another process records the late end", async () => {
    const path = freshPath();
    const { door, capabilities } = busy();
    await using owner = await openProcess(path, { capabilities, owner: "first" });
    const id = await submit(owner);
    await using other = await openProcess(path, { capabilities, owner: "second", at: 100 });
    expect((await cancel(other, id)).status).toBe("cancelling");
    await owner.clock.advance(2_000);
    expect((await owner.kernel.workflow(id)).state).toBe("cancelling");
    door.resolve({ paid: true });
    await owner.clock.settle();
    expect([(await other.kernel.workflow(id)).state, await actionOf(other, id)]).toEqual(["cancelled", ["succeeded"]]);
    await expectReplayed(owner, id);
  });
});
