/**
 * A ledger that cannot be opened, or fails while workflows run: a coded error, nothing half-written, and the work goes
 * on from where it was once the ledger does.
 */
import { chmodSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { KernelErrorException } from "../../src/contract/error.ts";
import { type ErrorCode, kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { createKernel } from "../../src/create-kernel.ts";
import { connect } from "../../src/ledger/sqlite/connect.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createStore } from "../../src/ledger/sqlite/store.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { bytesOf, freshPaths, withDatabase, writeLedger } from "../ledgers/ledger-files.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { expectAlive, expectCoded, expectRefused, openKernel, refusal, who } from "./fixture.ts";

const freshPath = freshPaths();
const minute = 60_000;

const broken: readonly (readonly [string, ErrorCode, (path: string) => (() => void) | undefined])[] = [
  ["locked by another process", "T0_LEDGER_LOCKED", lock],
  ["truncated", "T0_LEDGER_CORRUPT", (path) => void truncateSync(path, 40_000)],
  ["cut within its header", "T0_LEDGER_CORRUPT", (path) => void truncateSync(path, 60)],
  [
    "of a newer version",
    "T0_LEDGER_NEWER_SCHEMA",
    (path) => void withDatabase(path, (db) => db.exec("PRAGMA user_version = 99")),
  ],
  [
    "not a database",
    "T0_LEDGER_NOT_A_DATABASE",
    (path) => void writeFileSync(path, "minutes of the meeting ".repeat(900)),
  ],
  [
    "another program's database",
    "T0_LEDGER_NOT_A_DATABASE",
    (path) => void withDatabase(path, (db) => db.exec("PRAGMA application_id = 7")),
  ],
];

function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO meta VALUES ('x', 'y')");
  return () => {
    other.exec("ROLLBACK");
    other.close();
  };
}

describe("a kernel on a ledger that is", () => {
  it.each(broken)("%s does not start: %s, and the file is as it was", async (_what, code, harm) => {
    const path = freshPath();
    await writeLedger(path, 400);
    const release = harm(path);
    const before = bytesOf(path);
    const error = await refusal(createKernel({ ledger: sqliteLedger({ path, busyTimeoutMs: 20 }) }));
    expectCoded(error, code);
    expect(bytesOf(path)).toBe(before);
    release?.();
  });

  it("read-only does not start, as anybody but root: T0_LEDGER_READ_ONLY", async () => {
    const path = freshPath();
    await writeLedger(path);
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o444);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      await expectRefused(createKernel({ ledger: sqliteLedger({ path }) }), "T0_LEDGER_READ_ONLY");
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it("in a folder that is not there does not start: T0_LEDGER_UNAVAILABLE", async () => {
    await expectRefused(
      createKernel({ ledger: sqliteLedger({ path: `${freshPath()}/no/ledger.db` }) }),
      "T0_LEDGER_UNAVAILABLE",
    );
  });
});

/** More than the pages that a file has already have room for. */
const text = "x".repeat(20_000);

const chain = [
  step("s1", "Test.Act"),
  step("s2", "Test.Act", { depends_on: ["s1"] }),
  step("s3", "Test.Act", { depends_on: ["s2"] }),
];

/** A kernel whose second step does `during` to the ledger; every step is idempotent and counted. */
async function openDuring(ledger: LedgerStore, during: () => void) {
  const world = createWorld();
  let done = false;
  const act = work(world, "Test.Act", {
    idempotent: true,
    run({ context }) {
      if (context.step_id === "s2" && !done) {
        done = true;
        during();
      }
      return { ok: true, text };
    },
  });
  return { t: await openKernel({ ledger, capabilities: [job(chain, [act])] }), world };
}

/** A file store whose connection can be reached, for what no path in the file system can do to it. */
function reachable(path: string) {
  const at: { db: DatabaseSync | null } = { db: null };
  const store = createStore(path, async () => {
    at.db = await connect({ path, busyTimeoutMs: 0, synchronous: "full" });
    return at.db;
  });
  return { store, exec: (sql: string) => void at.db?.exec(sql) };
}

describe("a ledger that fails while a workflow runs", () => {
  it.each([
    ["full", "T0_LEDGER_DISK_FULL", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"],
    ["read-only", "T0_LEDGER_READ_ONLY", "PRAGMA query_only = ON", "PRAGMA query_only = OFF"],
  ])(
    "because it is %s (%s): nothing is half-written, new work is refused, and all goes on when it can be written",
    async (_what, code, harm, heal) => {
      const { store, exec } = reachable(freshPath());
      const { t, world } = await openDuring(store, () => exec(harm));
      await using _ = t;
      const id = await t.submit("Test.Job");
      await t.clock.advance(5 * minute);
      expect(world.stepsCalled()).not.toContain("s3");
      // Where a page still has room a small row may fit; a large one cannot.
      const large = { ...who, input: { text: "x".repeat(90_000) }, intent_hint: { intent_type: "Test.Neighbour" } };
      await expectRefused(t.kernel.submit(large), code);
      if (code === "T0_LEDGER_READ_ONLY") await expectRefused(t.kernel.ready(), code);
      expect(await t.kernel.verify(id)).toMatchObject({ ok: true });
      exec(heal);
      await expect(t.kernel.ready()).resolves.toBeUndefined();
      await t.clock.advance(5 * minute);
      expect((await t.kernel.workflow(id)).state).toBe("completed");
      expect(world.stepsCalled().filter((s) => s !== "s2")).toEqual(["s1", "s3"]);
      await expectAlive(t);
    },
  );

  it("because another process locks it: the same", async () => {
    const path = freshPath();
    let release: () => void = () => undefined;
    const { t, world } = await openDuring(sqliteLedger({ path, busyTimeoutMs: 20 }), () => {
      const other = new DatabaseSync(path);
      other.exec("BEGIN IMMEDIATE");
      release = () => other.close();
    });
    await using _ = t;
    const id = await t.submit("Test.Job");
    await t.clock.advance(minute);
    await expectRefused(t.submit("Test.Neighbour"), "T0_LEDGER_LOCKED");
    await expectRefused(t.kernel.ready(), "T0_LEDGER_LOCKED");
    release();
    await expect(t.kernel.ready()).resolves.toBeUndefined();
    await t.clock.advance(5 * minute);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
    expect(world.stepsCalled().filter((s) => s !== "s2")).toEqual(["s1", "s3"]);
    await expectAlive(t);
  });

  it.each([
    ["corrupt", "T0_LEDGER_CORRUPT"],
    ["away", "T0_LEDGER_UNAVAILABLE"],
    ["throwing what is no kernel error", null],
  ] as const)(
    "for good, because it is %s: the process lives, requests are refused with a code, and stop ends",
    async (_what, code) => {
      const store = memoryLedger();
      let fails = false;
      const fail = (): never => {
        if (code === null) throw new TypeError("a driver's own error");
        throw new KernelErrorException(kernelError(code, "the ledger is broken", moduleRef(0, "test", "ledger")));
      };
      const failing: LedgerStore = {
        ...store,
        append: async (batch) => (fails ? fail() : store.append(batch)),
        heartbeat: async (...args) => (fails ? fail() : store.heartbeat(...args)),
        release: async (...args) => (fails ? fail() : store.release(...args)),
        nextDue: async () => (fails ? fail() : store.nextDue()),
      };
      const { t } = await openDuring(failing, () => {
        fails = true;
      });
      const id = await t.submit("Test.Job");
      await t.clock.advance(5 * minute);
      expect((await t.kernel.workflow(id)).state).toBe("running");
      await expectRefused(t.submit("Test.Neighbour"), code ?? "T0_LEDGER_UNAVAILABLE");
      expect(await t.kernel.verify(id)).toMatchObject({ ok: true });
      await t.kernel.stop({ drainMs: 0 });
    },
  );

  it("for a while, throwing at once where it should promise: no process ends by it, and all goes on", async () => {
    const store = memoryLedger();
    let fails = false;
    const failing = Object.fromEntries(
      Object.entries(store).map(([name, member]) => [
        name,
        typeof member !== "function" || name === "close"
          ? member
          : (...args: readonly unknown[]) => {
              if (fails) throw new TypeError(`no ${name}`);
              return Reflect.apply(member, store, args);
            },
      ]),
    ) as unknown as LedgerStore;
    const { t, world } = await openDuring(failing, () => {
      fails = true;
    });
    await using _ = t;
    const id = await t.submit("Test.Job");
    // Whoever follows has the position looked at.
    const end = new AbortController();
    const following = Array.fromAsync(t.kernel.events(id, { signal: end.signal })).catch(() => undefined);
    await t.clock.advance(5 * minute);
    fails = false;
    await t.clock.advance(5 * minute);
    expect((await t.kernel.workflow(id)).state).toBe("completed");
    expect(world.stepsCalled().filter((s) => s !== "s2")).toEqual(["s1", "s3"]);
    end.abort();
    await following;
    await expectAlive(t);
  });

  it("a record that no ledger can keep is refused with a code, and the next one is kept", async () => {
    await using t = await openKernel();
    const record = {
      tenant_id: 1,
      thread_id: null,
      workflow_id: null,
      key: "k",
      type: "fact",
      value: 1,
      source: "host",
      confidence: 1,
    };
    await expectRefused(t.kernel.memory.write({ ...record, value: 1n } as never), "T0_VALIDATION_SCHEMA_MISMATCH");
    await expectRefused(t.kernel.memory.write({ ...record, confidence: 7 } as never), "T0_VALIDATION_SCHEMA_MISMATCH");
    await expectRefused(t.kernel.memory.write(null as never), "T0_VALIDATION_SCHEMA_MISMATCH");
    await expectRefused(t.kernel.documents.record({ tenant_id: 1 } as never), "T0_VALIDATION_SCHEMA_MISMATCH");
    await expect(t.kernel.memory.write(record as never)).resolves.toMatch(/^evt_/);
    await expectAlive(t);
  });
});
