/**
 * A file that is moved, deleted or replaced under a running kernel: nothing more is promised that nobody could read.
 */
import { copyFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { expectCoded, expectRefused, openKernel, refusal } from "../bad-input/fixture.ts";
import { createWorld, job, step, type World, work } from "../recovery/shared-file.ts";
import { freshPaths, withStore } from "./ledger-files.ts";

const freshPath = freshPaths();

const asked = (world: World) =>
  job([step("s1", "Test.Write", { gate: { reason: "look first" } })], [work(world, "Test.Write")]);

const open = (path: string, world: World): Promise<TestKernel> =>
  openKernel({ ledger: sqliteLedger({ path }), capabilities: [asked(world)] });

/** The folder says that a name in it changed last at this time. */
const changeFolderAt = (path: string, time: Date): void => utimesSync(dirname(path), time, time);

const harms: readonly (readonly [string, (path: string) => void, (path: string) => void])[] = [
  ["moved", (path) => renameSync(path, `${path}.old`), (path) => renameSync(`${path}.old`, path)],
  [
    "replaced by a copy",
    (path) => {
      renameSync(path, `${path}.old`);
      copyFileSync(`${path}.old`, path);
    },
    (path) => renameSync(`${path}.old`, path),
  ],
  [
    "replaced by something else",
    (path) => {
      renameSync(path, `${path}.old`);
      writeFileSync(path, "minutes of the meeting");
    },
    (path) => renameSync(`${path}.old`, path),
  ],
  [
    "robbed of its write-ahead log",
    (path) => renameSync(`${path}-wal`, `${path}-wal.old`),
    (path) => renameSync(`${path}-wal.old`, `${path}-wal`),
  ],
  [
    "given another write-ahead log",
    (path) => {
      renameSync(`${path}-wal`, `${path}-wal.old`);
      writeFileSync(`${path}-wal`, "");
    },
    (path) => renameSync(`${path}-wal.old`, `${path}-wal`),
  ],
];

describe.each(harms)("a ledger file that is %s", (_what, harm, mend) => {
  it("[LED-02] is noticed at the next commit: nothing is accepted until the file is back", async () => {
    const path = freshPath();
    const world = createWorld();
    await using t = await open(path, world);
    const { workflow_id } = await t.run("Test.Job");
    changeFolderAt(path, new Date(0));
    await t.run("Test.Job");
    harm(path);
    changeFolderAt(path, new Date(1_000));
    const error = await refusal(t.submit("Test.Neighbour"));
    expectCoded(error, "T0_LEDGER_REPLACED");
    await expectRefused(t.approve(workflow_id, "gate-s1"), "T0_LEDGER_REPLACED");
    expect(world.calls).toEqual([]);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    mend(path);
    await t.approve(workflow_id, "gate-s1");
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
    expect((await t.kernel.verify()).broken).toEqual([]);
  });
});

describe("a write-ahead log that is taken in the tick in which its folder was looked at", () => {
  it("[LED-02] is noticed at the next commit", async () => {
    const path = freshPath();
    await using t = await open(path, createWorld());
    const lately = statSync(dirname(path)).mtime;
    changeFolderAt(path, lately);
    await t.run("Test.Job");
    renameSync(`${path}-wal`, `${path}-wal.old`);
    changeFolderAt(path, lately);
    await expectRefused(t.submit("Test.Neighbour"), "T0_LEDGER_REPLACED");
  });
});

describe("a ledger file that is deleted", () => {
  it("[LED-02] is noticed at the next commit, also by a kernel that has written nothing yet", async () => {
    const path = freshPath();
    await using t = await open(path, createWorld());
    rmSync(path);
    await expectRefused(t.submit("Test.Neighbour"), "T0_LEDGER_REPLACED");
    await expectRefused(t.submit("Test.Neighbour"), "T0_LEDGER_REPLACED");
    expect(t.kernel.vitals()).toMatchObject({ waiting: 0 });
  });

  it("[LED-02] a checkpoint, another process that comes and goes, and a later opening change nothing", async () => {
    const path = freshPath();
    await using t = await open(path, createWorld());
    await t.run("Test.Neighbour");
    await withStore(sqliteLedger({ path }), async (store) => expect(await store.position()).toBeGreaterThan(0));
    expect((await t.run("Test.Neighbour")).state).toBe("completed");
  });
});
