/** Several commands that wake one resting workflow together: nobody is told of what the ledger does not hold. */
import { describe, expect, it } from "vitest";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { eventsOf } from "../fixtures.ts";
import { createWorld, job, step, work } from "./shared-file.ts";

const user = (id: number) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } }) as const;
const elsewhere = "0".repeat(64);

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await undefined;
}

/** What each way to be refused asks of a workflow that waits at its gate. */
const refusals = {
  "a decision on another payload": ({ kernel }: TestKernel, id: string) =>
    kernel.decideGate(id, { ...user(8), gate_id, decision: "approve", payload: { payload_digest: elsewhere } }),
  "a decision of another tenant": ({ kernel }: TestKernel, id: string) =>
    kernel.decideGate(id, { ...user(8), tenant_id: 2, gate_id, decision: "approve" }),
  "a vote that is taken back and was never given": ({ kernel }: TestKernel, id: string) =>
    kernel.withdrawVote(id, { ...user(8), gate_id }),
  "a retry of what has not ended": ({ kernel }: TestKernel, id: string) =>
    kernel.retry(id, { ...user(8), mode: "resume_failed_steps" }),
} as const;
const gate_id = "gate-s1";

interface Meeting {
  readonly refusal: keyof typeof refusals;
  /** Microtasks after the approvals of the first tick. */
  readonly refusedAfter: number;
  /** Microtasks after the refused command. */
  readonly thirdAfter: number;
}

/** Two approve in one tick, then a command is refused, then a third person approves. */
async function meet(t: TestKernel, id: string, { refusal, refusedAfter, thirdAfter }: Meeting): Promise<string[]> {
  const told: string[] = [];
  const approve = async (by: number): Promise<void> => {
    const { status } = await t.kernel.decideGate(id, { ...user(by), gate_id, decision: "approve" });
    told.push(status);
  };
  const refuse = (): Promise<void> =>
    refusals[refusal](t, id).then(
      () => void told.push("not refused"),
      () => undefined,
    );
  await Promise.all([
    approve(1),
    approve(2),
    microtasks(refusedAfter).then(refuse),
    microtasks(refusedAfter + thirdAfter).then(() => approve(3)),
  ]);
  return told;
}

interface Seen {
  readonly told: readonly string[];
  readonly types: readonly string[];
}

const offsets = [0, 4, 6, 7, 8, 9, 10, 12] as const;
const settings: readonly (readonly [string, TestKernelOptions])[] = [
  ["as usual", {}],
  ["where nothing that rests is kept", { limits: { maxRestingEvents: 0 } }],
  ["where only effects wait for a sync", { durability: "effects" }],
];

/** One meeting after another, each at a workflow of its own, the refused command a little later each time. */
async function playAll(quorum: object, refusal: Meeting["refusal"], options: TestKernelOptions): Promise<Seen[]> {
  const world = createWorld();
  const gated = step("s1", "Test.Work", { gate: { reason: "several look", ...quorum } });
  const capabilities = [job([gated], [work(world, "Test.Work")])];
  await using t = await createTestKernel({ ledger: sqliteLedger({}), capabilities, ...options });
  const seen: Seen[] = [];
  for (const refusedAfter of offsets) {
    const id = await t.submit("Test.Job");
    await t.rest(id);
    // What was awake before the first look at the store is not kept.
    await refusals["a decision on another payload"](t, id).catch(() => undefined);
    await t.clock.settle();
    const told = await meet(t, id, { refusal, refusedAfter, thirdAfter: 4 });
    expect([refusedAfter, (await t.rest(id)).state]).toEqual([refusedAfter, "completed"]);
    seen.push({ told, types: (await eventsOf(t, id)).map(({ event_type }) => event_type) });
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  }
  expect(world.stepsCalled()).toEqual(offsets.map(() => "s1"));
  expect(await t.kernel.verify()).toMatchObject({ ok: true });
  return seen;
}

describe.each(Object.keys(refusals) as Meeting["refusal"][])("with %s between them", (refusal) => {
  it.each(settings)("no approval is answered before its row is committed, %s", async (_where, options) => {
    for (const { told, types } of await playAll({}, refusal, options)) {
      expect(told).toEqual(["resumed", "resumed", "resumed"]);
      expect(types.filter((type) => type === "USER_APPROVED")).toHaveLength(1);
    }
  });

  it.each(settings)("a quorum of two calls nothing before two votes are on record, %s", async (_where, options) => {
    for (const { told, types } of await playAll({ quorum: { approvals: 2 } }, refusal, options)) {
      expect(told).not.toContain("not refused");
      expect(types.filter((type) => type === "GATE_VOTED")).toHaveLength(2);
      expect(types.indexOf("ACTION_STARTED")).toBeGreaterThan(types.lastIndexOf("GATE_VOTED"));
    }
  });
});

it("a rejection that ends the workflow and a retry leave no gate in the list that nobody can answer", async () => {
  const world = createWorld();
  const ask = { gate: { reason: "somebody looks" } };
  const fail = { step_id: "f1", name: "fail", kind: "fail", params: { code: "NOT_SO", message: "no" } };
  const after = { ...fail, depends_on: [{ step_id: "s1", settled: true }] } as unknown as PlanStepDraft;
  const capability = job(
    [step("s1", "Test.Work", ask), step("s2", "Test.Work", ask), after],
    [work(world, "Test.Work")],
  );
  await using t = await createTestKernel({ capabilities: [capability] });
  const id = await t.submit("Test.Job");
  await t.rest(id);
  const [rejected, retried] = await Promise.allSettled([
    t.kernel.decideGate(id, { ...user(1), gate_id, decision: "reject" }),
    t.kernel.retry(id, { ...user(2), mode: "resume_failed_steps" }),
  ]);
  expect([rejected.status, retried.status]).toEqual(["fulfilled", "fulfilled"]);
  expect((await t.rest(id)).state).toBe("failed");
  expect(await t.kernel.gates()).toEqual([]);
  expect(await t.kernel.verify()).toMatchObject({ ok: true });
});
