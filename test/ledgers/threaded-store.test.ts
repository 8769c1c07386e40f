/** A file whose commits are made by a thread: a kernel on it, what it refuses, and what becomes of who waits when the thread is lost. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";
import { createThreadedStore, startThread } from "../../src/ledgers/sqlite/threaded-store.ts";
import { createTestKernel, letStoreAnswer } from "../../src/testing/index.ts";
import { nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { decide, gateOf, intent, publishing, refusalOf } from "../gates/story.ts";
import { codeOf } from "../tokens/kernels.ts";
import { freshPaths } from "./ledger-files.ts";

const freshPath = freshPaths();
const turn = (n: number) => nextTurn(testStream(n)).entry;
const optionsOf = (path: string) => ({ path, busyTimeoutMs: 2000, synchronous: "full" as const });
/** Starts threads as production does, and keeps them in sight. */
const remembering =
  (started: Worker[]): typeof startThread =>
  (options) => {
    const worker = startThread(options);
    started.push(worker);
    return worker;
  };

describe("a thread that commits", () => {
  it("leaves a file like any other: what began with it goes on without", async () => {
    const path = freshPath();
    const { capability, publish } = publishing();
    const open = (thread: boolean) =>
      createTestKernel({ ledger: letStoreAnswer(sqliteLedger({ path, thread })), capabilities: [capability] });
    const { workflow_id } = await (async () => {
      await using t = await open(true);
      return await t.run(intent);
    })();
    await using t = await open(false);
    expect((await gateOf(t, workflow_id)).status).toBe("open");
    await decide(t, workflow_id, { decision: "approve" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    expect(await t.kernel.verify()).toMatchObject({ ok: true });
  });

  it("tells what was wrong by the same code, and is gone where the file could not be opened", async () => {
    const path = freshPath();
    writeFileSync(path, "not a ledger at all, but long enough to be looked at ".repeat(40));
    const started: Worker[] = [];
    const plain = await refusalOf(sqliteLedger({ path }).open());
    const threaded = await refusalOf(createThreadedStore(optionsOf(path), remembering(started)).open());
    expect(threaded).toMatchObject({ code: plain.code, message: plain.message, detail: plain.detail });
    expect(started.map(({ threadId }) => threadId)).toEqual([-1]);
  });

  it("that is lost leaves nobody waiting, and what it had committed is there", async () => {
    const path = freshPath();
    const started: Worker[] = [];
    const store = createThreadedStore(optionsOf(path), remembering(started));
    await store.open();
    await store.append([turn(1)]);
    const waiting = refusalOf(store.append([turn(2)]));
    await started[0]?.terminate();
    expect((await waiting).code).toBe("T0_LEDGER_UNAVAILABLE");
    expect((await refusalOf(store.append([turn(3)]))).code).toBe("T0_LEDGER_UNAVAILABLE");
    expect(await store.last(turn(1).row.stream)).not.toBeNull();
    await store.close();
    const again = sqliteLedger({ path });
    await again.open();
    expect(await again.append([turn(4)])).toMatchObject([{ ok: true }]);
    await again.close();
  });

  it.each([{ flags: [] }, { flags: ["--expose-gc"] }])(
    "does not keep a process alive that has nothing to do, begun with the flags $flags",
    ({ flags }) => {
      const entry = new URL("../../src/ledgers/sqlite/index.ts", import.meta.url).href;
      const text = `import { sqliteLedger } from ${JSON.stringify(entry)};
      const store = sqliteLedger({ path: ${JSON.stringify(freshPath())}, thread: true });
      await store.open(); await store.sync(); console.log("idle");`;
      const { stdout, status } = spawnSync(process.execPath, [...flags, "--input-type=module", "--eval", text], {
        timeout: 30_000,
      });
      expect([String(stdout), status]).toEqual(["idle\n", 0]);
    },
  );

  it("cannot be had for a ledger in memory", () => {
    expect(codeOf(() => sqliteLedger({ thread: true }))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});
