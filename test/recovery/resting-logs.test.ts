/** A log that was left at a gate is gone on from without reading it again, where nobody has appended anything since. */
import { expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { draft } from "../../src/contract/event.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { Posting } from "../../src/engine/log/ledger-writer.ts";
import { RestingLogs } from "../../src/engine/log/resting-logs.ts";
import { WorkflowLog } from "../../src/engine/log/workflow-log.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, ledgerPaths, openProcess, step, work } from "./shared-file.ts";

const freshPath = ledgerPaths();
const gated = (world: ReturnType<typeof createWorld>) =>
  job([step("s1", "Test.Work", { gate: { reason: "a person looks" } })], [work(world, "Test.Work")]);

/** A store that tells from which sequence each log is read, and where others write whenever `foreign` is called. */
function watchReads(store: LedgerStore) {
  const readFrom: number[] = [];
  const read: LedgerStore["read"] = (stream, after = 0) => {
    readFrom.push(after);
    return store.read(stream, after);
  };
  let version = 1;
  const foreign = (): void => {
    version += 1;
  };
  return { store: { ...store, read, dataVersion: async () => version }, readFrom, foreign };
}

type Watched = ReturnType<typeof watchReads>;
const untold = ({ store: { dataVersion: _, ...store } }: Watched): LedgerStore => store;

it.each<[string, object, (watched: Watched) => LedgerStore, boolean, boolean]>([
  ["asks for what is newer only", {}, ({ store }) => store, false, false],
  ["reads it all where nothing may be kept", { maxRestingEvents: 0 }, ({ store }) => store, false, true],
  ["reads it all where the store cannot tell who has written", {}, untold, false, true],
  ["reads it all where somebody else has written meanwhile", {}, ({ store }) => store, true, true],
])("who decides soon after the workflow has parked %s", async (_what, limits, storeOf, isForeign, readsAll) => {
  const world = createWorld();
  const watched = watchReads(sqliteLedger({}));
  await using t = await createTestKernel({ ledger: storeOf(watched), capabilities: [gated(world)], limits });
  const park = async (): Promise<string> => {
    const id = await t.submit("Test.Job");
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    return id;
  };
  // What was awake before the first look at the store is not kept.
  await park();
  const id = await park();
  if (isForeign) watched.foreign();
  watched.readFrom.length = 0;
  await t.approve(id);
  expect(watched.readFrom.includes(0)).toBe(readsAll);
  expect(await t.rest(id)).toMatchObject({ state: "completed" });
  expect(world.stepsCalled()).toEqual(["s1"]);
});

it("what another process decided meanwhile stands, and the log that was left behind is not believed", async () => {
  const path = freshPath();
  const world = createWorld();
  const capabilities = [gated(world)];
  await using first = await openProcess(path, { capabilities, owner: "first", limits: { maxRestingEvents: 4_096 } });
  const id = await first.submit("Test.Job");
  expect((await first.rest(id)).state).toBe("waiting_for_user");
  await using second = await openProcess(path, { capabilities, owner: "second" });
  await second.approve(id);
  expect(await second.rest(id)).toMatchObject({ state: "completed" });
  await expect(first.reject(id, "gate-s1")).rejects.toThrow(/T5_GATE_CONFLICT/);
  expect((await first.kernel.workflow(id)).state).toBe("completed");
  expect(world.stepsCalled()).toEqual(["s1"]);
});

/** Two kernels on one connection, of which the store cannot tell that somebody else has written. */
async function openPair() {
  const world = createWorld();
  const several = { reason: "three look", quorum: { approvals: 3 } };
  const capabilities = [job([step("s1", "Test.Work", { gate: several })], [work(world, "Test.Work")])];
  const ledger = memoryLedger();
  await ledger.open();
  const shared = { ...ledger, open: async () => undefined, close: async () => undefined };
  const first = await createTestKernel({ ledger: shared, capabilities, owner: "first", seed: 1 });
  const second = await createTestKernel({ ledger: shared, capabilities, owner: "second", seed: 2 });
  const id = await first.submit("Test.Job");
  expect((await first.rest(id)).state).toBe("waiting_for_user");
  return { first, second, id, world };
}

const caller = (id: number) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" }, gate_id: "gate-s1" });
const vote = ({ kernel }: TestKernel, id: string, by: number) =>
  kernel.decideGate(id, { ...caller(by), decision: "approve" });

it("a vote that another kernel has taken in since can be taken back at the one whose log is kept", async () => {
  const { first, second, id } = await openPair();
  await using _first = first;
  await using _second = second;
  expect(await vote(first, id, 1)).toMatchObject({ status: "voted" });
  expect(await vote(second, id, 2)).toMatchObject({ status: "voted" });
  expect(await first.kernel.withdrawVote(id, caller(2))).toMatchObject({ status: "withdrawn" });
});

it("a vote that was withdrawn at another kernel does not answer the same vote: it is recorded again", async () => {
  const { first, second, id, world } = await openPair();
  await using _first = first;
  await using _second = second;
  await vote(first, id, 1);
  expect(await second.kernel.withdrawVote(id, caller(1))).toMatchObject({ status: "withdrawn" });
  expect(await vote(first, id, 1)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
  expect((await first.types(id)).filter((type) => type === "GATE_VOTED")).toHaveLength(2);
  await vote(second, id, 2);
  expect(await vote(first, id, 3)).toMatchObject({ status: "resumed" });
  expect(await first.rest(id)).toMatchObject({ state: "completed" });
  expect(world.stepsCalled()).toEqual(["s1"]);
});

/** A log of its own, on a writer that appends when it is told to. */
function looseLog() {
  const posted: Posting[] = [];
  const runtime = { ids: { next: (kind: string) => `${kind}-1` }, clock: { now: () => 1 } };
  const writer = { post: (posting: Posting) => void posted.push(posting) };
  const halts = { of: () => ({ at: 0, halts: [] }), refresh: async () => undefined };
  const registration = { owner: "me", isValid: true };
  const services = {
    runtime,
    writer,
    halts,
    registration,
    mayBeLazy: false,
    isAwaited: () => false,
    onCommitted: () => 0,
  };
  const ids = { tenant_id: 1, workflow_id: "wf", thread_id: null, intent_id: "i", plan_id: "p", correlation_id: "c" };
  const append = (): void => {
    for (const { seal, resolve } of posted.splice(0)) {
      seal();
      resolve({ ok: true, epoch: 1 } as never);
    }
  };
  const log = new WorkflowLog(ids, services as never);
  const intent = { type: "Test.Job", version: "1.0", inputs: {}, actor: { type: "user", id: 1, role: "user" } };
  const begin = (): void => log.note(draft("INTENT_RECEIVED", { intent, pipeline: "full" } as never));
  return { log, begin, append };
}

const goneOn = kernelError("T0_LEDGER_CONFLICT", "another log goes on", moduleRef(4, "test", "rest"));

it("a log is handed over at rest alone, and only when the ledger holds all that was noted in it", () => {
  const { log, begin, append } = looseLog();
  begin();
  expect(log.handOver(goneOn)).toBeNull();
  log.rest();
  expect([log.isSettled, log.handOver(goneOn)]).toEqual([false, null]);
  log.flush();
  expect([log.isSettled, log.handOver(goneOn)]).toEqual([false, null]);
  append();
  expect(log.isSettled).toBe(true);
  expect(log.handOver(goneOn)).toMatchObject({ record: { workflow_id: "wf" } });
  expect([log.lost, log.handOver(goneOn)]).toEqual([goneOn, null]);
});

it("a log at rest takes no event, and does not go on from what others append", async () => {
  const { log, begin, append } = looseLog();
  begin();
  log.flush();
  append();
  const before = log.position;
  log.rest();
  expect(() => log.note(draft("WORKFLOW_CANCELLED", {} as never))).toThrow(/T4_WORKFLOW_CONFLICT/);
  await log.refresh();
  expect(log.position).toBe(before);
});

const logOf = (workflow_id: string, confirmed = 40) => ({ identity: { workflow_id }, confirmed }) as WorkflowLog;

it("the logs that are kept have no more events than they may, the longest untouched goes first", () => {
  const logs = new RestingLogs(100);
  const keep = (id: string, events: number): void => {
    const log = logOf(id, events);
    logs.follow(log);
    logs.keep(log, 1);
  };
  expect(logs.take("none", 1)).toBeNull();
  for (const id of ["a", "b", "c"]) keep(id, 40);
  expect([logs.take("a", 1), logs.take("b", 1)?.identity.workflow_id]).toEqual([null, "b"]);
  expect(logs.take("b", 1)).toBeNull();
  keep("c", 90);
  keep("d", 101);
  expect([logs.take("c", 1), logs.take("d", 1)]).toEqual([null, null]);
});

it("nothing is believed of what was kept, or awake, when somebody else wrote", () => {
  const logs = new RestingLogs(100);
  const [early, kept, awake, late] = ["early", "kept", "awake", "late"].map((id) => logOf(id, 10)) as [
    WorkflowLog,
    WorkflowLog,
    WorkflowLog,
    WorkflowLog,
  ];
  logs.follow(early);
  logs.keep(early, 1);
  for (const log of [kept, awake]) logs.follow(log);
  logs.keep(kept, 1);
  expect([logs.take("early", 1), logs.take("kept", 2)]).toEqual([null, null]);
  logs.follow(late);
  for (const log of [awake, late]) logs.keep(log, 2);
  expect([logs.take("awake", 2), logs.take("late", 2)]).toEqual([null, late]);
});
