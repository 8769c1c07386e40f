/**
 * A SQLite ledger as the port sees it.
 *
 * Owns: the life of the connection, and the port's face over the functions of this folder.
 * Never: opens a file by itself; `connect` comes in.
 * 1.  Every failure leaves as a KernelErrorException with a T0_LEDGER_ code.
 */
import type { DatabaseSync } from "node:sqlite";
import type { KeepsDeliveries } from "../../ports/delivery-store.ts";
import type { HoldCount, LedgerStore } from "../../ports/ledger-store.ts";
import type { PushStore } from "../../ports/push-store.ts";
import type { SessionStore } from "../../ports/session-store.ts";
import { idText, parseCell, threadText, toGrant, toHead, toStoredHalt } from "../tables/columns.ts";
import { appendBatch } from "./append.ts";
import { createDeliveryTable } from "./delivery-table.ts";
import { dumpIndexes } from "./dump-indexes.ts";
import { Durability } from "./durability.ts";
import { isUnwritable, ledgerFailure, ledgerName, toLedgerFailure } from "./failure.ts";
import { claimLease, heartbeatOwner, releaseLease, takeUp } from "./leases.ts";
import { markProcess } from "./process-mark.ts";
import { createPushTable } from "./push-table.ts";
import {
  countDecisions,
  countGates,
  countHeads,
  listDecisions,
  listGates,
  listHeads,
  listSeats,
  readHeads,
  searchHeads,
} from "./read-lists.ts";
import { createQueueReads } from "./read-queues.ts";
import { readAllCharges, readCharges, readDocuments, readGates, readKey, readMemory } from "./read-records.ts";
import { createScheduleReads } from "./read-schedules.ts";
import { createStandInReads } from "./read-stand-ins.ts";
import { readTurn } from "./read-turns.ts";
import { createWaitReads } from "./read-waits.ts";
import { watchFile } from "./same-file.ts";
import { createSessionTable } from "./session-table.ts";
import { keepPrepared, prepareStatements } from "./statements.ts";
import { StreamHeads } from "./stream-heads.ts";
import { type Connection, leaveMark, readDataVersion, syncAll, tryAgain } from "./transaction.ts";

/** A ledger in one SQLite file, with the other records that it keeps. */
export interface SqliteLedger extends LedgerStore, KeepsDeliveries {
  /** The store of browsers' sessions beside the log, while the ledger is open. */
  readonly sessions: SessionStore;
  /** The store of the addresses that are notified of tasks, beside the log, while the ledger is open. */
  readonly pushes: PushStore;
}

/** Gives a configured and migrated database. */
export type Connect = () => Promise<DatabaseSync>;

/** Creates the store. `path` names the ledger in messages, and helps to explain why a file could not be opened. */
export function createStore(path: string, connect: Connect): SqliteLedger {
  const { open, close, run } = createSession(path, connect);
  return {
    name: ledgerName(path),
    open,
    close,
    ...createLog(run, path),
    ...createWorkflowIndex(path, run),
    ...createRecordIndexes(run),
    ...createWaitReads(run),
    ...createScheduleReads(run),
    ...createStandInReads(run),
    ...createQueueReads(run),
    sessions: createSessionTable(run),
    pushes: createPushTable(run),
    deliveries: createDeliveryTable(run),
  };
}

/** Runs a function on the open connection and maps its errors to codes. */
export type Run = <T>(fn: string, body: (connection: Connection) => T) => Promise<T>;

interface Session {
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
  readonly run: Run;
}

function createSession(path: string, connect: Connect): Session {
  let connection: Connection | null = null;
  return {
    open: async () => {
      if (connection !== null) return;
      connection = await coded(path, "open", async () => prepareConnection(path, await connect()));
    },
    run: (fn, body) =>
      coded(path, fn, async () => {
        if (connection === null) throw ledgerFailure("T0_LEDGER_UNAVAILABLE", "is not open", { path, fn });
        return body(connection);
      }),
    close: async () => {
      const closing = connection;
      connection = null;
      if (closing !== null) await coded(path, "close", async () => closeConnection(closing));
    },
  };
}

function prepareConnection(path: string, db: DatabaseSync): Connection {
  try {
    const requireSameFile = watchFile(path);
    const durability = new Durability(db);
    const statements = prepareStatements(db);
    return {
      db,
      statements,
      prepare: keepPrepared(db),
      heads: new StreamHeads(),
      requireSameFile,
      durability,
      mark: markProcess(),
      isFailing: false,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

async function coded<T>(path: string, fn: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw toLedgerFailure(error, { path, fn });
  }
}

function closeConnection(connection: Connection): void {
  const { db } = connection;
  try {
    tryLast(() => leaveMark(connection));
    tryLast(() => leave(connection));
    // Moves the write-ahead log into the file, without waiting for others; the last one to close removes the log.
    db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } finally {
    db.close();
  }
}

/** Leaves the ledger. If that can no longer be written, the owner's lease expires all the same. */
function leave({ statements, mark }: Connection): void {
  if (statements.isEntered.get(mark) !== undefined) statements.leave.run(mark);
}

/** Writes what makes the next opening easier, if it can still be written. */
function tryLast(write: () => void): void {
  try {
    write();
  } catch {
    return;
  }
}

type Log = "append" | "check" | "dataVersion" | "sync" | "read" | "last" | "tail" | "position";

function createLog(run: Run, path: string): Pick<LedgerStore, Log> {
  return {
    check: () =>
      run("check", (on) => {
        on.requireSameFile();
        if (isUnwritable(path)) throw ledgerFailure("T0_LEDGER_READ_ONLY", "cannot be written", { path, fn: "check" });
        tryAgain(on);
      }),
    append: (batch) => run("append", (on) => appendBatch(on, batch)),
    sync: () => run("sync", syncAll),
    read: (stream, after = 0, limit = -1) =>
      run("read", ({ statements }) => {
        // Most questions for newer rows find none.
        if (after > 0 && Number(statements.lastSequence.get(stream)?.["last_sequence"] ?? 0) <= after) return [];
        return statements.readStream.all(stream, after, limit).map((row) => readTurn(row, statements));
      }),
    last: (stream) =>
      run("last", ({ statements }) => {
        const row = statements.last.get(stream);
        return row === undefined ? null : readTurn(row, statements);
      }),
    tail: (position, limit) =>
      run("tail", ({ statements }) =>
        statements.tail
          .all(position, limit)
          .map((row) => ({ position: row["position"] as number, row: readTurn(row, statements) })),
      ),
    position: () => run("position", ({ statements }) => statements.position.get()?.["position"] as number),
    dataVersion: () => run("dataVersion", readDataVersion),
  };
}

type WorkflowIndex =
  | "head"
  | "heads"
  | "listHeads"
  | "searchHeads"
  | "countHeads"
  | "heartbeat"
  | "claim"
  | "takeUp"
  | "release"
  | "held"
  | "nextDue";

function createWorkflowIndex(path: string, run: Run): Pick<LedgerStore, WorkflowIndex> {
  return {
    head: (workflowId) =>
      run("head", ({ statements }) => {
        const row = statements.head.get(workflowId);
        return row === undefined ? null : toHead(row);
      }),
    heads: (filter) => run("heads", (on) => readHeads(on, filter)),
    listHeads: (page) => run("listHeads", (on) => listHeads(on, page)),
    searchHeads: (page) => run("searchHeads", (on) => searchHeads(on, page)),
    countHeads: (selection) => run("countHeads", (on) => countHeads(on, selection)),
    heartbeat: (owner, now, ttlMs) => run("heartbeat", (on) => heartbeatOwner(on, { owner, now, ttlMs, path })),
    claim: (workflowId, owner, now) => run("claim", (on) => claimLease(on, { workflowId, owner, now })),
    takeUp: (kind, owner, now, limit, elsewhere = []) =>
      run("takeUp", (on) => takeUp(on, { kind, owner, now, limit, elsewhere })),
    release: (workflowId, lease) => run("release", (on) => releaseLease(on, workflowId, lease)),
    held: (owner) =>
      run("held", ({ statements }) =>
        statements.held.all(owner).map((row) => ({
          workflow_id: row["workflow_id"] as string,
          epoch: row["epoch"] as number,
        })),
      ),
    nextDue: (elsewhere = []) =>
      run("nextDue", ({ statements }) => {
        const row = statements.nextDue.get(JSON.stringify(elsewhere));
        return (row?.["at"] as number | undefined) ?? null;
      }),
  };
}

type RecordIndex =
  | "indexes"
  | "gates"
  | "listGates"
  | "countGates"
  | "listSeats"
  | "decisions"
  | "countDecisions"
  | "countHolds"
  | "halts"
  | "grants"
  | "grant"
  | "grantsFor"
  | "grantingTenants"
  | "findKey"
  | "charges"
  | "chargesOf"
  | "memory"
  | "documents"
  | "version";

function createRecordIndexes(run: Run): Pick<LedgerStore, RecordIndex> {
  return {
    indexes: () => run("indexes", dumpIndexes),
    gates: (filter) => run("gates", (on) => readGates(on, filter)),
    listGates: (page) => run("listGates", (on) => listGates(on, page)),
    countGates: (selection) => run("countGates", (on) => countGates(on, selection)),
    listSeats: (selection, limit) => run("listSeats", (on) => listSeats(on, selection, limit)),
    decisions: (page) => run("decisions", (on) => listDecisions(on, page)),
    countDecisions: (selection) => run("countDecisions", (on) => countDecisions(on, selection)),
    halts: () => run("halts", ({ statements }) => statements.halts.all().map(toStoredHalt)),
    grants: (tenantId, { after = "", limit }) =>
      run("grants", ({ statements }) => statements.grants.all(idText(tenantId), after, limit).map(toGrant)),
    grant: (tenantId, grantId) =>
      run("grant", ({ statements }) => {
        const found = statements.grant.get(idText(tenantId), grantId);
        return found === undefined ? null : toGrant(found);
      }),
    grantsFor: (tenantId, { operator, workflow_id }) =>
      run("grantsFor", ({ statements }) => {
        return statements.grantsFor.all(idText(tenantId), operator, workflow_id).map(toGrant);
      }),
    grantingTenants: () =>
      run("grantingTenants", ({ statements }) =>
        statements.grantingTenants.all().map((row) => parseCell<string | number>(row["tenant_id"], "tenant_id")),
      ),
    countHolds: (tenantId) =>
      run("countHolds", ({ statements }) => {
        const tenant = tenantId === undefined ? null : idText(tenantId);
        return statements.countHolds.all(tenant) as unknown as readonly HoldCount[];
      }),
    findKey: (tenantId, key) => run("findKey", (on) => readKey(on, tenantId, key)),
    charges: (tenantId, counters) => run("charges", (on) => readCharges(on, tenantId, counters)),
    chargesOf: (tenantId) => run("chargesOf", (on) => readAllCharges(on, tenantId)),
    memory: (query) => run("memory", (on) => readMemory(on, query)),
    documents: (tenantId, documentIds) => run("documents", (on) => readDocuments(on, tenantId, documentIds)),
    version: (tenantId, threadId) =>
      run("version", ({ statements }) => {
        const row = statements.version.get(idText(tenantId), threadText(threadId));
        return row?.["position"] as number;
      }),
  };
}
