/**
 * A Postgres ledger as the port sees it.
 *
 * Owns: the life of the connections, and the port's face over the functions of this folder.
 * 1.  Every failure leaves as a KernelErrorException with a T0_LEDGER_ code.
 * 2.  If a connection is lost while it commits, the result is unknown: the append fails, and the writer reads the
 *     ledger. If it is lost before, nothing was kept: the append is made on another.
 */
import type { KernelErrorException } from "../../contract/error.ts";
import type { KeepsDeliveries } from "../../ports/delivery-store.ts";
import type { Append, AppendReceipt, LedgerLag, LedgerStore, StoredIndexes } from "../../ports/ledger-store.ts";
import type { PushStore } from "../../ports/push-store.ts";
import type { SessionStore } from "../../ports/session-store.ts";
import { toTurnRow } from "../tables/columns.ts";
import { appendBatch } from "./append.ts";
import { CommitAnnouncer } from "./commit-announcer.ts";
import { type Connections, type ConnectOptions, connect, loadDriver } from "./connect.ts";
import { createDeliveryTable } from "./delivery-table.ts";
import { dumpIndexes } from "./dump-indexes.ts";
import { isAway, ledgerFailure, toLedgerFailure } from "./failure.ts";
import { createOwners, type Entered } from "./owners.ts";
import { channelOf, Presence } from "./presence.ts";
import { createPushTable } from "./push-table.ts";
import { firstOf, type Runner, rowsOf, transact } from "./query.ts";
import { createGrantReads } from "./read-grants.ts";
import { createQueueReads } from "./read-queues.ts";
import { createHeadReads, createRecordReads } from "./read-records.ts";
import { createScheduleReads } from "./read-schedules.ts";
import { createStandInReads } from "./read-stand-ins.ts";
import { createWaitReads } from "./read-waits.ts";
import { openSchema, requireKnownSchema } from "./schema.ts";
import { createSessionTable } from "./session-table.ts";
import { statement } from "./statements.ts";

/** A ledger in Postgres, with the other records that it keeps. */
export interface PostgresLedger extends LedgerStore, KeepsDeliveries {
  /** The store of browsers' sessions beside the log, while the ledger is open. */
  readonly sessions: SessionStore;
  /** The store of the addresses that are notified of tasks, beside the log, while the ledger is open. */
  readonly pushes: PushStore;
}

type Work = <T>(fn: string, body: (on: Runner) => Promise<T>) => Promise<T>;

/** Runs the port's functions on the database; each maps errors to codes. */
export interface Run {
  /** A statement, or several that need not agree. */
  readonly read: Work;
  /** Runs a body in a transaction: all of it or nothing. */
  readonly write: Work;
}

interface Session extends Run {
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
  readonly append: (batch: readonly Append[]) => Promise<readonly AppendReceipt[]>;
  readonly check: () => Promise<void>;
  readonly indexes: () => Promise<StoredIndexes>;
  readonly follow: NonNullable<LedgerStore["follow"]>;
  readonly entered: () => Entered;
}

export function createStore(options: ConnectOptions): PostgresLedger {
  const session = createSession(options);
  return {
    name: options.name,
    open: session.open,
    close: session.close,
    append: session.append,
    check: session.check,
    indexes: session.indexes,
    follow: session.follow,
    ...createLogReads(session),
    ...createOwners(session, session.entered),
    ...createHeadReads(session),
    ...createRecordReads(session),
    ...createGrantReads(session),
    ...createStandInReads(session),
    ...createWaitReads(session),
    ...createScheduleReads(session),
    ...createQueueReads(session),
    sessions: createSessionTable(session),
    pushes: createPushTable(session),
    deliveries: createDeliveryTable(session),
  };
}

function createSession(options: ConnectOptions): Session {
  const { name } = options;
  let open: Live | null = null;
  const coded = async <T>(fn: string, body: (on: Live) => Promise<T>): Promise<T> => {
    try {
      if (open === null) throw ledgerFailure("T0_LEDGER_UNAVAILABLE", "is not open", { name, fn });
      if (open.outdated !== null) throw open.outdated;
      return await body(open);
    } catch (error) {
      const failure = toLedgerFailure(error, { name, fn });
      if (open !== null && failure.error.code === "T0_LEDGER_NEWER_SCHEMA") leave(open, failure);
      throw failure;
    }
  };
  return {
    open: async () => {
      if (open !== null) return;
      const connections = await openAll(options).catch((error: unknown) => {
        throw toLedgerFailure(error, { name, fn: "open" });
      });
      open = startLive(connections, options);
    },
    close: async () => {
      const closing = open;
      open = null;
      if (closing !== null) await closeLive(closing);
    },
    read: (fn, body) => coded(fn, ({ pool }) => body(pool)),
    write: (fn, body) =>
      coded(fn, async ({ pool }) => {
        const client = await pool.connect();
        let failed = true;
        try {
          const value = await transact(client, () => body(client));
          failed = false;
          return value;
        } finally {
          client.release(failed);
        }
      }),
    append: (batch) =>
      coded("append", async ({ appender, announcer }) => {
        let mayBeKept = false;
        const onCommit = (): void => {
          mayBeKept = true;
        };
        const append = () => appender.run((client) => appendBatch(client, batch, { name, onCommit }));
        const receipts = await append().catch((error: unknown) => {
          if (mayBeKept || !isAway(error)) throw error;
          return append();
        });
        announcer.announce(batch.flatMap(({ row }, i) => (receipts[i]?.ok === true ? [row.stream] : [])));
        return receipts;
      }),
    check: () => coded("check", ({ appender }) => appender.run((client) => requireStanding(client, name))),
    follow: (owner, updates) =>
      coded("follow", async (live) => {
        const { openOne, entered, appender } = live;
        if (!(await appender.hasSession())) return;
        const sender = entered.session;
        const presence = new Presence({ name, schema: options.schema, owner, sender, updates, open: openOne });
        await presence.begin();
        live.presence = presence;
      }),
    indexes: () => coded("indexes", (connections) => dumpIndexes(connections, options)),
    entered: () => open?.entered ?? { name, session: "", lock: () => null, beats: 0 },
  };
}

/** The time for the server to record that this process leaves, in ms. */
const closeMs = 2_000;

async function closeLive(live: Live): Promise<void> {
  const cut = setTimeout(live.cut, closeMs);
  live.announcer.stop();
  if (live.outdated === null) await strikeOff(live);
  await live.presence?.end();
  await live.appender.close();
  await live.pool.end();
  clearTimeout(cut);
}

/**
 * Leaves a ledger that a newer release has migrated: this store does nothing more in it, and its workflows are free.
 */
function leave(live: Live, failure: KernelErrorException): void {
  if (live.outdated !== null) return;
  live.outdated = failure;
  live.announcer.stop();
  void live.presence?.end();
}

/** The state of a store while it is open. */
interface Live extends Connections {
  /** Not null once the ledger is of a newer schema than this release knows. */
  outdated: KernelErrorException | null;
  readonly announcer: CommitAnnouncer;
  readonly entered: Entered;
  presence: Presence | null;
}

async function requireStanding(client: Runner, name: string): Promise<void> {
  const place = { name, fn: "check" };
  const { replica, reads, schema } = (await firstOf(client, statement("standing"))) ?? {};
  if (replica === true) throw ledgerFailure("T0_LEDGER_READ_ONLY", "is a replica now", place);
  if (reads === true) throw ledgerFailure("T0_LEDGER_READ_ONLY", "cannot be written", place);
  requireKnownSchema(schema as number, place);
}

function startLive(connections: Connections, { schema, name }: ConnectOptions): Live {
  const { session } = connections;
  const announcer = new CommitAnnouncer(connections.pool, { channel: channelOf(schema), sender: session });
  const live: Live = {
    ...connections,
    announcer,
    entered: { name, session, lock: () => live.presence?.lock ?? null, beats: 0 },
    presence: null,
    outdated: null,
  };
  return live;
}

/**
 * Removes this owner. One with a lock is removed by the others, who take over its workflows; one without heartbeats
 * leaves none.
 */
async function strikeOff({ entered, pool, presence }: Live): Promise<void> {
  if (presence === null && entered.beats > 0)
    await (pool as Runner).query(statement("leave", entered.session)).catch(() => undefined);
}

async function openAll(options: ConnectOptions): Promise<Connections> {
  const connections = connect(await loadDriver(), crypto.randomUUID(), options);
  try {
    await connections.appender.run((client) => openSchema(client, options));
    return connections;
  } catch (error) {
    await connections.appender.close();
    await connections.pool.end();
    throw error;
  }
}

function createLogReads({ read }: Run): Pick<LedgerStore, "sync" | "read" | "last" | "tail" | "position" | "lag"> {
  let synced = -1;
  const position = async (on: Runner) => (await firstOf(on, statement("position")))?.["position"] as number;
  return {
    sync: () =>
      read("sync", async (on) => {
        const reached = await position(on);
        if (reached <= synced) return;
        await on.query(statement("sync"));
        synced = Math.max(synced, reached);
      }),
    read: (stream, after = 0, limit) =>
      read("read", async (on) =>
        (await rowsOf(on, statement("readStream", stream, after, limit ?? null))).map(toTurnRow),
      ),
    last: (stream) =>
      read("last", async (on) => {
        const row = await firstOf(on, statement("last", stream));
        return row === undefined ? null : toTurnRow(row);
      }),
    tail: (after, limit) =>
      read("tail", async (on) =>
        (await rowsOf(on, statement("tail", after, limit))).map((row) => ({
          position: row["position"] as number,
          row: toTurnRow(row),
        })),
      ),
    position: () => read("position", position),
    lag: () => read("lag", async (on) => (await firstOf(on, statement("lag"))) as unknown as LedgerLag),
  };
}
