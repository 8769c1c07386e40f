/** Which commits are synced: counted at the commit, by the level that SQLite has there. */
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { appendBatch } from "../../src/ledger/sqlite/append.ts";
import { connect } from "../../src/ledger/sqlite/connect.ts";
import { Durability } from "../../src/ledger/sqlite/durability.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { claimLease } from "../../src/ledger/sqlite/leases.ts";
import { keepPrepared, prepareStatements } from "../../src/ledger/sqlite/statements.ts";
import { StreamHeads } from "../../src/ledger/sqlite/stream-heads.ts";
import { type Connection, syncAll } from "../../src/ledger/sqlite/transaction.ts";
import type { Append } from "../../src/ports/ledger-store.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { freshPaths } from "./ledger-files.ts";

const freshPath = freshPaths();

/** A connection, and the level of each of its commits. */
async function open(path: string, synchronous: "full" | "normal" = "full") {
  const db = await connect({ path, busyTimeoutMs: 0, synchronous });
  const statements = prepareStatements(db);
  const levels: string[] = [];
  const commit = {
    run: () => {
      levels.push(levelOf(db));
      return statements.commit.run();
    },
  } as typeof statements.commit;
  const connection: Connection = {
    db,
    prepare: keepPrepared(db),
    statements: { ...statements, commit },
    heads: new StreamHeads(),
    requireSameFile: () => undefined,
    durability: new Durability(db),
    mark: "",
    isFailing: false,
  };
  return { connection, levels, [Symbol.dispose]: () => db.close() };
}

const levelOf = (db: DatabaseSync): string =>
  db.prepare("PRAGMA synchronous").get()?.["synchronous"] === 2 ? "synced" : "lazy";

const lazy = (entry: Append): Append => ({ ...entry, lazy: true });

describe("a commit", () => {
  it("is synced unless all of its entries are lazy", async () => {
    using at = await open(freshPath());
    const one = firstTurn(testStream(1));
    const two = nextTurn(one.after);
    const other = firstTurn(testStream(2));
    const three = nextTurn(two.after);
    appendBatch(at.connection, [one.entry]);
    appendBatch(at.connection, [lazy(two.entry)]);
    appendBatch(at.connection, [lazy(three.entry), other.entry]);
    appendBatch(at.connection, [lazy(nextTurn(three.after).entry)]);
    expect(at.levels).toEqual(["synced", "lazy", "synced", "lazy"]);
    claimLease(at.connection, { workflowId: one.entry.row.stream, owner: "k", now: 0 });
    expect(at.levels.at(-1)).toBe("synced");
  });

  it("is made durable by one sync; where nothing was committed since, a sync commits nothing", async () => {
    using at = await open(freshPath());
    const one = firstTurn(testStream(1));
    const two = nextTurn(one.after);
    appendBatch(at.connection, [lazy(one.entry)]);
    for (let i = 0; i < 3; i += 1) syncAll(at.connection);
    expect(at.levels).toEqual(["lazy", "synced"]);
    appendBatch(at.connection, [two.entry]);
    syncAll(at.connection);
    expect(at.levels).toEqual(["lazy", "synced", "synced"]);
  });

  it("of another process is made durable by a sync as well", async () => {
    const path = freshPath();
    using one = await open(path);
    using other = await open(path);
    appendBatch(other.connection, [lazy(firstTurn(testStream(1)).entry)]);
    syncAll(one.connection);
    syncAll(one.connection);
    expect([one.levels, other.levels]).toEqual([["synced"], ["lazy"]]);
  });

  it("is known to be durable by those who only read, once its process has closed the ledger", async () => {
    const path = freshPath();
    const store = sqliteLedger({ path });
    await store.open();
    await store.append([firstTurn(testStream(1)).entry]);
    await store.close();
    using reader = await open(path);
    syncAll(reader.connection);
    expect(reader.levels).toEqual([]);
  });

  it("is not taken for durable because a process that syncs nothing has closed the ledger", async () => {
    const path = freshPath();
    const store = sqliteLedger({ path, synchronous: "normal" });
    await store.open();
    await store.append([firstTurn(testStream(1)).entry]);
    await store.close();
    using reader = await open(path);
    syncAll(reader.connection);
    expect(reader.levels).toEqual(["synced"]);
  });

  it("is never synced where the ledger was opened so", async () => {
    using at = await open(freshPath(), "normal");
    appendBatch(at.connection, [firstTurn(testStream(1)).entry]);
    syncAll(at.connection);
    expect(at.levels).toEqual(["lazy"]);
  });
});
