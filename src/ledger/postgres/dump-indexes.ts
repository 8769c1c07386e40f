/**
 * Dumps the index tables, for a comparison with those that are derived again from the log.
 *
 * Owns: the columns that the log determines, and their format for the comparison, which is that of every store.
 * 1.  All of it is one snapshot, at a position up to which the tail shows all rows, and beyond which it shows none.
 */
import type { StoredIndexes } from "../../ports/ledger-store.ts";
import { gateColumns, parseCell } from "../tables/columns.ts";
import { decisionColumns } from "../tables/decision-queries.ts";
import type { Connections } from "./connect.ts";
import { ledgerFailure } from "./failure.ts";
import { horizon } from "./position.ts";
import { firstOf, type Runner, rowsOf, transact } from "./query.ts";

const heads =
  "workflow_id, tenant_id, thread_id, principal_id, intent_id, intent_type, correlation_id, state, created_at, " +
  "updated_at, due_at, principal_type, title, percent, schedule, compensated, search";

const tables: readonly (readonly [name: string, key: readonly string[], text: string])[] = [
  [
    "charges",
    ["tenant_id", "counter"],
    `SELECT tenant_id, counter, sum(tokens) AS tokens, sum(money)::float8 AS money, sum(invocations) AS invocations,
      sum(wall_ms) AS wall_ms FROM charges GROUP BY tenant_id, counter`,
  ],
  ["counters", ["tenant_id", "thread_id"], "SELECT tenant_id, thread_id, position FROM counters"],
  ["decisions", ["workflow_id", "sequence"], `SELECT ${decisionColumns.join(", ")} FROM decisions`],
  ["documents", ["tenant_id", "document_id"], "SELECT tenant_id, document_id, record FROM documents"],
  [
    "gates",
    ["workflow_id", "gate_id"],
    `SELECT ${gateColumns.join(", ")} FROM gates FULL JOIN gate_lists USING (workflow_id, gate_id, tenant_id)`,
  ],
  ["grants", ["grant_id"], "SELECT grant_id, tenant_id, operator, covers, record FROM grants"],
  ["halts", ["halt_id"], "SELECT halt_id, tenant_id, position, record, lifted FROM halts"],
  ["holds", ["workflow_id", "step_id", "holder"], "SELECT workflow_id, step_id, holder, tenant_id FROM holds"],
  ["keys", ["tenant_id", "key"], "SELECT tenant_id, key, workflow_id, action_id FROM keys"],
  [
    "memory",
    ["tenant_id", "key", "thread_id"],
    "SELECT tenant_id, thread_id, key, position, ordinal, record FROM memory",
  ],
  [
    "queue_entries",
    ["workflow_id"],
    "SELECT workflow_id, tenant_id, line, place, rank, since, concurrency FROM queue_entries",
  ],
  [
    "queue_limits",
    ["line_from"],
    `SELECT line_from, line_to, tenant_id, name, position, concurrency, rate_limit, rate_per, record
      FROM queue_limits`,
  ],
  [
    "received_events",
    ["tenant_id", "event_id"],
    "SELECT tenant_id, event_id, name, key, record, expires_at, position, taken_by FROM received_events",
  ],
  [
    "stand_ins",
    ["stand_in_id"],
    "SELECT stand_in_id, tenant_id, author, deputy, from_at, until_at, record FROM stand_ins",
  ],
  ["waits", ["workflow_id", "step_id"], "SELECT workflow_id, step_id, tenant_id, source, name, key, since FROM waits"],
  [
    "schedule_entries",
    ["tenant_id", "name", "sequence"],
    "SELECT tenant_id, name, sequence, at, record FROM schedule_entries",
  ],
  [
    "schedules",
    ["tenant_id", "name"],
    "SELECT tenant_id, name, intent_type, due_at, awaits, definition, standing FROM schedules",
  ],
  ["workflows", ["workflow_id"], `SELECT ${heads} FROM workflows`],
  // The owners of the streams; a stream whose head does not match its rows is missing here.
  [
    "events",
    ["stream", "tenant_id"],
    `SELECT s.stream, s.tenant_id FROM streams AS s WHERE EXISTS (
      SELECT 1 FROM events AS e WHERE e.stream = s.stream AND e.tenant_id = s.tenant_id
      AND e.last_sequence = s.last_sequence AND e.hash = s.hash AND e.position = s.position)`,
  ],
];

type Row = StoredIndexes["tables"][number]["rows"][number];

/**
 * Reads the indexes on a connection of its own, so that simultaneous dumps leave the other connections free.
 * @throws KernelErrorException T0_LEDGER_LOCKED if another program's transaction keeps rows from being shown.
 */
export async function dumpIndexes(connections: Connections, place: DumpPlace): Promise<StoredIndexes> {
  const { client } = await connections.openOne();
  try {
    const position = await beginReading(connections, client);
    const dumped = { position, tables: await readTables(client) };
    await client.query({ text: "COMMIT" });
    await awaitNotification(client, position, place);
    return dumped;
  } finally {
    await client.end().catch(() => undefined);
  }
}

export interface DumpPlace {
  /** For messages. */
  readonly name: string;
  readonly timeoutMs: number;
}

/** Takes the snapshot while nobody appends: a row under way could come before one that it shows. */
async function beginReading({ appender }: Connections, reader: Runner): Promise<number> {
  const begin = async () => {
    await reader.query({ text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" });
    return (await firstOf(reader, { text: lastPosition }))?.["position"] as number;
  };
  return appender.run((locker) => transact(locker, begin, "BEGIN; LOCK TABLE events IN SHARE MODE"));
}

const pauseMs = 20;

async function awaitNotification(on: Runner, position: number, { name, timeoutMs }: DumpPlace): Promise<void> {
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += pauseMs) {
    const row = await firstOf(on, { text: `SELECT ${horizon} > $1 AS told`, values: [position] });
    if (row?.["told"] === true) return;
    await on.query({ text: "SELECT pg_sleep($1)", values: [pauseMs / 1000] });
  }
  const reason = "cannot be told as it stands: a transaction of this server has been open for too long";
  throw ledgerFailure("T0_LEDGER_LOCKED", reason, { name, fn: "indexes" });
}

const lastPosition = "SELECT coalesce(max(position), 0) AS position FROM events";

async function readTables(on: Runner): Promise<StoredIndexes["tables"]> {
  const read: StoredIndexes["tables"][number][] = [];
  for (const [name, key, text] of tables) {
    const rows = (await rowsOf(on, { text })) as readonly Row[];
    read.push({ name, key, rows: name === "workflows" ? rows.map(plainTitle) : rows });
  }
  return read;
}

const plainTitle = (row: Row): Row =>
  row["title"] == null ? row : { ...row, title: parseCell<string>(row["title"], "title") };
