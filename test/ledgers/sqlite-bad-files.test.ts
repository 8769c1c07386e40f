/** Files that are locked, read-only, damaged, newer, foreign or full: a coded error with a next step, and no harm. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, truncateSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/contract/chain.ts";
import type { KernelError } from "../../src/contract/error.ts";
import { type ErrorCode, errorCodes } from "../../src/contract/error-codes.ts";
import { connect } from "../../src/ledger/sqlite/connect.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createStore } from "../../src/ledger/sqlite/store.ts";
import { nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { asOrdinaryUser } from "../fixtures.ts";
import { bytesOf, freshPaths, rejection, withDatabase, withStore, writeLedger } from "./ledger-files.ts";

const freshPath = freshPaths();
const isRoot = process.getuid?.() === 0;
const turn = (n: number) => nextTurn(testStream(n)).entry;

function expectCoded(error: KernelError, code: ErrorCode, path: string): void {
  expect(error.code).toBe(code);
  expect(errorCodes[code].next).not.toBe("");
  expect(error.message).toContain(basename(path));
  expect(error.detail["path"]).toBe(basename(path));
  expect(error.detail["cause"]).toEqual(expect.any(String));
  expect(JSON.stringify(error)).not.toContain(dirname(path));
}

/** Opening the file fails with the code, and leaves every byte as it was. */
async function expectRefused(path: string, code: ErrorCode): Promise<KernelError> {
  const before = bytesOf(path);
  const store = sqliteLedger({ path, busyTimeoutMs: 20 });
  const error = await rejection(store.open());
  expectCoded(error, code, path);
  expect((await rejection(store.position())).code).toBe("T0_LEDGER_UNAVAILABLE");
  await store.close();
  expect(bytesOf(path)).toBe(before);
  return error;
}

describe("a ledger file that cannot be opened", () => {
  it("is locked exclusively by another connection", async () => {
    const path = freshPath();
    await writeLedger(path);
    const other = new DatabaseSync(path);
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO meta VALUES ('x', 'y'); COMMIT");
    await expectRefused(path, "T0_LEDGER_LOCKED");
    other.close();
    await withStore(sqliteLedger({ path }), async (store) => expect(await store.position()).toBe(8));
  });

  it("is read-only", async () => {
    const path = freshPath();
    await writeLedger(path);
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o444);
    await asOrdinaryUser(() => expectRefused(path, "T0_LEDGER_READ_ONLY"));
  });

  // access() asks for the real user, whom a test cannot change back.
  it.skipIf(isRoot)("would be made in a folder that is read-only", async () => {
    const path = freshPath();
    chmodSync(dirname(path), 0o555);
    const error = await rejection(sqliteLedger({ path }).open());
    chmodSync(dirname(path), 0o755);
    expectCoded(error, "T0_LEDGER_READ_ONLY", path);
    expect(existsSync(path)).toBe(false);
  });

  it("would be made in a folder that does not exist", async () => {
    const path = join(freshPath(), "no", "ledger.db");
    expectCoded(await rejection(sqliteLedger({ path }).open()), "T0_LEDGER_UNAVAILABLE", path);
  });

  it("is truncated", async () => {
    const path = freshPath();
    await writeLedger(path, 400);
    truncateSync(path, 40_000);
    await expectRefused(path, "T0_LEDGER_CORRUPT");
  });

  it("is cut within its header", async () => {
    const path = freshPath();
    await writeLedger(path);
    truncateSync(path, 60);
    await expectRefused(path, "T0_LEDGER_CORRUPT");
  });

  it("has a newer schema", async () => {
    const path = freshPath();
    await writeLedger(path);
    withDatabase(path, (db) => db.exec("PRAGMA user_version = 99"));
    const error = await expectRefused(path, "T0_LEDGER_NEWER_SCHEMA");
    expect(error.message).toContain("99");
  });

  it("is not a database", async () => {
    const path = freshPath();
    writeFileSync(path, "These are the minutes of the meeting. ".repeat(400));
    const error = await expectRefused(path, "T0_LEDGER_NOT_A_DATABASE");
    expect(error.message).toContain("not a Countersign ledger");
  });

  it("is another program's database, in any journal mode, also with a log to be recovered", async () => {
    for (const mode of ["DELETE", "WAL"]) {
      const [path, crashed] = [freshPath(), freshPath()];
      withDatabase(path, (db) => {
        db.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)`);
        for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, crashed + end);
      });
      expect((await expectRefused(path, "T0_LEDGER_NOT_A_DATABASE")).message).toContain("not a Countersign ledger");
      await expectRefused(crashed, "T0_LEDGER_NOT_A_DATABASE");
      withDatabase(crashed, (db) => expect(db.prepare("SELECT a FROM theirs").all()).toEqual([{ a: 1 }]));
    }
  });

  it("carries another program's mark", async () => {
    const path = freshPath();
    withDatabase(path, (db) => db.exec("PRAGMA application_id = 7"));
    await expectRefused(path, "T0_LEDGER_NOT_A_DATABASE");
  });
});

describe("a name that the driver takes for no path", () => {
  it("is empty: what the driver makes of it goes away", () => {
    expect(() => sqliteLedger({ path: "" })).toThrow(/sqliteLedger: path: it is empty; name a file/);
  });

  it("is a URI, by which another program's database would be written to", () => {
    const path = freshPath();
    withDatabase(path, (db) => db.exec("CREATE TABLE theirs (a)"));
    const before = bytesOf(path);
    expect(() => sqliteLedger({ path: `file:${path}` })).toThrow(/path: it is a URI; name the file by a plain path/);
    expect(bytesOf(path)).toBe(before);
  });
});

describe("a ledger file that fails in use", () => {
  it("is locked by a second process: the append is refused whole, and possible again afterwards", async () => {
    const path = freshPath();
    await writeLedger(path);
    const script = `
      const { DatabaseSync } = await import("node:sqlite");
      const db = new DatabaseSync(${JSON.stringify(path)});
      db.exec("BEGIN EXCLUSIVE");
      process.stdin.once("data", () => process.exit());
      console.log("locked");`;
    const other = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(other.stdout, "data");
    await withStore(sqliteLedger({ path, busyTimeoutMs: 20 }), async (store) => {
      expectCoded(await rejection(store.append([turn(11), turn(12)])), "T0_LEDGER_LOCKED", path);
      expect(await store.position()).toBe(8);
      const ended = once(other, "exit");
      other.stdin.end("go\n");
      await ended;
      expect((await store.append([turn(11), turn(12)])).every(({ ok }) => ok)).toBe(true);
    });
  });

  it("may not be written any more: append and claim say so", async () => {
    const path = freshPath();
    await writeLedger(path);
    const store = createStore(path, async () => {
      const db = await connect({ path, busyTimeoutMs: 0, synchronous: "full" });
      db.exec("PRAGMA query_only = ON");
      return db;
    });
    await withStore(store, async () => {
      expectCoded(await rejection(store.append([turn(11)])), "T0_LEDGER_READ_ONLY", path);
      expectCoded(await rejection(store.claim(testStream(1).id, "me", 0)), "T0_LEDGER_READ_ONLY", path);
    });
  });

  it("is damaged in the middle", async () => {
    const path = freshPath();
    await writeLedger(path, 400);
    damage(path);
    await withStore(sqliteLedger({ path }), async (store) => {
      expectCoded(await rejection(store.tail(0, 1000)), "T0_LEDGER_CORRUPT", path);
    });
  });

  it("has no room left: nothing of the batch is written, and it goes on when there is room", async () => {
    const path = freshPath();
    await writeLedger(path);
    let setLimit: (pages: number) => void = () => {};
    const store = createStore(path, async () => {
      const db = await connect({ path, busyTimeoutMs: 0, synchronous: "full" });
      setLimit = (pages) => db.exec(`PRAGMA max_page_count = ${pages}`);
      return db;
    });
    await withStore(store, async () => {
      setLimit(1);
      const one = nextTurn(testStream(50), { text: "x".repeat(200_000) });
      const batch = [turn(40), one.entry, nextTurn(one.after).entry];
      expectCoded(await rejection(store.append(batch)), "T0_LEDGER_DISK_FULL", path);
      expect(await store.position()).toBe(8);
      expect(await store.read(testStream(40).id)).toEqual([]);
      setLimit(1_000_000);
      expect((await store.append(batch)).every(({ ok }) => ok)).toBe(true);
      expect(verifyChain(await store.read(testStream(50).id))).toBe(null);
    });
    withDatabase(path, (db) => expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" }));
  });

  it("refuses a malformed row: the batch is undone", async () => {
    await withStore(sqliteLedger(), async (store) => {
      const broken = turn(2);
      const batch = [turn(1), { ...broken, row: { ...broken.row, last_sequence: 0 } }];
      expect((await rejection(store.append(batch))).code).toBe("T0_LEDGER_CONFLICT");
      expect(await store.position()).toBe(0);
      expect(await store.append([turn(1)])).toEqual([{ ok: true, position: 1, epoch: null }]);
    });
  });

  it("is given what no column takes: the batch is undone", async () => {
    await withStore(sqliteLedger(), async (store) => {
      const broken = turn(2);
      const batch = [turn(1), { ...broken, row: { ...broken.row, body: {} as unknown as string } }];
      expect((await rejection(store.append(batch))).code).toBe("T0_LEDGER_UNAVAILABLE");
      expect(await store.position()).toBe(0);
    });
  });
});

/** Overwrites the pages after the first few with noise. */
function damage(path: string): void {
  const bytes = Buffer.from(bytesOf(path), "base64");
  bytes.fill(0xa5, 8192 * 60, 8192 * 80);
  writeFileSync(path, bytes);
}
