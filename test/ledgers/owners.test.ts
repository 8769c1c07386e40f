/**
 * Owners of workflows on one file: each name is one process's, and what a process of another name left is free in time.
 */
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { isOver, markProcess } from "../../src/ledger/sqlite/process-mark.ts";
import { refusalOf } from "../fixtures.ts";
import { freshPaths, withDatabase, withStore } from "./ledger-files.ts";

const freshPath = freshPaths();

/** A process of this machine that has ended. */
const ended = (): number => spawnSync(process.execPath, ["-e", ""]).pid;

describe("an owner's name", () => {
  it("is refused to a second kernel while the first lives, and given to it afterwards", async () => {
    const ledger = sqliteLedger;
    const path = freshPath();
    const open = () => createKernel({ ledger: ledger({ path }), owner: "only" });
    const first = await open();
    const refusal = await refusalOf(open());
    expect(refusal.code).toBe("T0_LEDGER_LOCKED");
    expect(refusal.message).toContain("a living owner called only");
    await first.stop();
    await (await open()).stop();
  });

  it("is refused to a kernel that recovers nothing as soon as it appends", async () => {
    const path = freshPath();
    const capabilities = [] as const;
    const first = await createKernel({ ledger: sqliteLedger({ path }), owner: "only" });
    const second = await createKernel({ ledger: sqliteLedger({ path }), owner: "only", recover: false, capabilities });
    const record = { tenant_id: 1, thread_id: null, workflow_id: null, key: "k", type: "fact", value: 1 };
    const refusal = await refusalOf(second.memory.write({ ...record, source: "host", confidence: 1 }));
    expect(refusal.code).toBe("T0_LEDGER_LOCKED");
    await second.stop();
    await first.stop();
  });

  it("is free at once when its process has ended without a word", async () => {
    const path = freshPath();
    await withStore(sqliteLedger({ path }), async () => undefined);
    const mark = JSON.stringify([hostname(), ended(), "a life", 1]);
    withDatabase(path, (db) => db.prepare("INSERT INTO owners VALUES ('only', ?, ?)").run(mark, 1e15));
    await withStore(sqliteLedger({ path }), async (store) => {
      expect(await store.heartbeat("only", 0, 1000)).toBe(false);
    });
  });
});

describe("the mark of a process", () => {
  it("shows that it has ended where that can be seen, and nowhere else", () => {
    const mark = (pid: number, life = "other", host = hostname()) => JSON.stringify([host, pid, life, 1]);
    expect(isOver(mark(ended()))).toBe(true);
    expect(isOver(mark(process.pid))).toBe(true);
    expect(isOver(markProcess())).toBe(false);
    expect(isOver(mark(process.ppid))).toBe(false);
    expect(isOver(mark(ended(), "other", "elsewhere"))).toBe(false);
    expect(isOver("")).toBe(false);
  });
});
