/** A log that was left at a gate is gone on from without reading it again, where nobody has appended anything since. */
import { expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { RestingLogs } from "../../src/runtime/resting-logs.ts";
import type { WorkflowLog } from "../../src/runtime/workflow-log.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
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
