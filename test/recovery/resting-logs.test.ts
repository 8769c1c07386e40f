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

/** A store that tells from which sequence each log is read. */
function watchReads(store: LedgerStore): { readonly store: LedgerStore; readonly readFrom: number[] } {
  const readFrom: number[] = [];
  const read: LedgerStore["read"] = (stream, after = 0) => {
    readFrom.push(after);
    return store.read(stream, after);
  };
  return { store: { ...store, read }, readFrom };
}

it.each([
  ["asks for what is newer only, where its log may be kept", { maxRestingEvents: 4_096 }, false],
  ["reads it all", {}, true],
])("who decides soon after the workflow has parked %s", async (_what, limits, readsAll) => {
  const world = createWorld();
  const { store, readFrom } = watchReads(sqliteLedger({}));
  await using t = await createTestKernel({
    ledger: store,
    capabilities: [gated(world)],
    limits,
  });
  const id = await t.submit("Test.Job");
  expect((await t.rest(id)).state).toBe("waiting_for_user");
  readFrom.length = 0;
  await t.approve(id);
  expect(readFrom.includes(0)).toBe(readsAll);
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

it("the logs that are kept have no more events than they may, the longest untouched goes first", () => {
  const logOf = (workflow_id: string, confirmed: number) => ({ identity: { workflow_id }, confirmed }) as WorkflowLog;
  const logs = new RestingLogs(100);
  for (const id of ["a", "b", "c"]) logs.keep(logOf(id, 40));
  expect([logs.take("a"), logs.take("b")?.identity.workflow_id]).toEqual([null, "b"]);
  expect(logs.take("b")).toBeNull();
  logs.keep(logOf("c", 90));
  logs.keep(logOf("d", 101));
  expect([logs.take("c"), logs.take("d")]).toEqual([null, null]);
});
