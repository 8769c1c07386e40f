/**
 * The index tables as they stand, for whoever computes them again from the log.
 *
 * Owns: which columns the log tells, and how they are spelled for the comparison: as every store spells them.
 * INV-1  All of it is one snapshot, at a position up to which the tail shows all rows, and beyond which it shows none.
 */
import type { StoredIndexes } from "../../ports/ledger-store.ts";
import { parseCell } from "../tables/columns.ts";
import type { Connections } from "./connect.ts";
import { ledgerFailure } from "./failure.ts";
import { horizon } from "./position.ts";
import { firstOf, type Runner, rowsOf, transact } from "./query.ts";

const heads =
  "workflow_id, tenant_id, thread_id, principal_id, intent_id, intent_type, correlation_id, state, created_at, " +
  "updated_at, due_at, principal_type, title, percent";

const tables: readonly (readonly [name: string, key: readonly string[], text: string])[] = [
  [
    "charges",
    ["tenant_id", "counter"],
    `SELECT tenant_id, counter, sum(tokens) AS tokens, sum(money) AS money, sum(invocations) AS invocations,
      sum(wall_ms) AS wall_ms FROM charges GROUP BY tenant_id, counter`,
  ],
  ["counters", ["tenant_id", "thread_id"], "SELECT tenant_id, thread_id, position FROM counters"],
  ["documents", ["tenant_id", "document_id"], "SELECT tenant_id, document_id, record FROM documents"],
  [
    "gates",
    ["workflow_id", "gate_id"],
    "SELECT workflow_id, gate_id, tenant_id, record, operator, due_at, listed FROM gates",
  ],
  ["keys", ["tenant_id", "key"], "SELECT tenant_id, key, workflow_id, action_id FROM keys"],
  [
    "memory",
    ["tenant_id", "key", "thread_id"],
    "SELECT tenant_id, thread_id, key, position, ordinal, record FROM memory",
  ],
  ["workflows", ["workflow_id"], `SELECT ${heads} FROM workflows`],
  // Whose the streams are; one whose head does not stand where its rows end is missing here.
  [
    "events",
    ["stream", "tenant_id"],
    `SELECT s.stream, s.tenant_id FROM streams AS s WHERE EXISTS (
      SELECT 1 FROM events AS e WHERE e.stream = s.stream AND e.tenant_id = s.tenant_id
      AND e.last_sequence = s.last_sequence AND e.hash = s.hash AND e.position = s.position)`,
  ],
];

type Row = StoredIndexes["tables"][number]["rows"][number];

/** @throws KernelErrorException T0_LEDGER_LOCKED where another program's transaction keeps rows from being told. */
export async function dumpIndexes({ pool }: Connections, { name, timeoutMs }: DumpPlace): Promise<StoredIndexes> {
  const reader = await pool.connect();
  try {
    const dumped = await transact(reader, () => dump(pool, reader), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += pauseMs) {
      if (await isTold(reader, dumped.position)) return dumped;
      await reader.query("SELECT pg_sleep($1)", [pauseMs / 1000]);
    }
    const reason = "cannot be told as it stands: a transaction of this server has been open for too long";
    throw ledgerFailure("T0_LEDGER_LOCKED", reason, { name, fn: "indexes" });
  } finally {
    reader.release();
  }
}

export interface DumpPlace {
  /** For messages. */
  readonly name: string;
  readonly timeoutMs: number;
}

const pauseMs = 20;

async function isTold(on: Runner, position: number): Promise<boolean> {
  const row = await firstOf(on, { text: `SELECT ${horizon} > $1 AS told`, values: [position] });
  return row?.["told"] === true;
}

/** The snapshot is taken while nobody appends: a row that is under way could come before one that it shows. */
async function dump(pool: Connections["pool"], reader: Runner): Promise<StoredIndexes> {
  const locker = await pool.connect();
  try {
    const begin = "BEGIN; LOCK TABLE events IN SHARE MODE";
    const last = await transact(locker, () => firstOf(reader, { text: lastPosition }), begin);
    return { position: last?.["position"] as number, tables: await readTables(reader) };
  } finally {
    locker.release();
  }
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
