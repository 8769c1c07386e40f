/**
 * The statements of a ledger; each is prepared under its name, once a connection.
 *
 * Owns: all fixed SQL text. Queries that depend on their filter are in tables/list-queries.ts.
 * Never: names the schema: connections look into it alone.
 * 1.  The conditions of due, abandoned and held repeat those of their partial indexes word for word.
 * 2.  What several transactions may change at once is locked, and written, in the order of its key.
 */
import { nameOfSession } from "./connect.ts";
import { gateStatements } from "./gate-statements.ts";
import { memoryReads } from "./memory-reads.ts";
import { horizon, ownPosition } from "./position.ts";
import type { Statement, Value } from "./query.ts";
import { isOurs, queueStatements } from "./queue-statements.ts";
import { standInStatements } from "./stand-in-statements.ts";

const turn = "stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash";

const schemaOf = "(SELECT value::bigint FROM meta WHERE name = 'schema_version')";

const schedule = "tenant_id, name, definition, standing";

const free = "owner IS NULL";
const due = `${free} AND due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled')`;
const abandoned = `${free} AND state IN ('accepted', 'planned', 'running')`;
const readyAt = "coalesce(due_at, 0::float8)";

const freed = `${free} AND state NOT IN ('completed', 'failed', 'cancelled') AND workflow_id IN (
  SELECT workflow_id FROM holds
  WHERE holder <> 'pause' AND holder NOT IN (SELECT halt_id FROM halts WHERE lifted = 0))`;

/** Returns a take-up statement; simultaneous callers get different workflows. */
const takeUp = (which: string, at: string): string => `
  WITH found AS (
    SELECT workflow_id FROM workflows WHERE ${which} AND ${at} <= $2 AND ${isOurs("$4")}
    ORDER BY ${at}, workflow_id LIMIT $3
    FOR UPDATE SKIP LOCKED)
  UPDATE workflows SET owner = $1, epoch = epoch + 1 FROM found WHERE workflows.workflow_id = found.workflow_id
  RETURNING workflows.*`;

const freeWhere = (which: string): string => `
  WITH held AS (SELECT workflow_id FROM workflows WHERE ${which} ORDER BY workflow_id FOR UPDATE)
  UPDATE workflows SET owner = NULL FROM held WHERE workflows.workflow_id = held.workflow_id`;

/**
 * The condition of the earliest pending delivery of a gate, the only one that may be taken; `d` is the examined one.
 */
const isFirst = `NOT EXISTS (
  SELECT 1 FROM deliveries AS e WHERE e.notifier = d.notifier AND e.workflow_id = d.workflow_id
  AND e.gate_id = d.gate_id AND e.state = 'pending' AND (e.at, e.ordinal) < (d.at, d.ordinal))`;

/** Returns `unnest` of one array per column: `columns` is "name type, …". */
function listOf(columns: string): string {
  const typed = columns.split(", ").map((column) => column.split(" ") as [string, string]);
  const arrays = typed.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ");
  return `unnest(${arrays}) AS given (${typed.map(([name]) => name).join(", ")})`;
}

function insertInto(table: string, columns: string, conflict = ""): string {
  const names = columns
    .split(", ")
    .map((column) => column.split(" ")[0])
    .join(", ");
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${listOf(columns)} ${conflict}`;
}

const headColumns =
  "workflow_id text, tenant_id text, thread_id text, principal_id text, intent_id text, intent_type text, " +
  "correlation_id text, state text, created_at float8, updated_at float8, due_at float8, owner text, epoch bigint, " +
  "principal_type text, title text, percent bigint, schedule text, compensated text, search text";
const changeColumns =
  "workflow_id text, updated_at float8, state text, is_due_given smallint, due_at float8, owner text, epoch bigint, " +
  "percent bigint, compensated text";
const turnColumns =
  "position bigint, stream text, first_sequence bigint, last_sequence bigint, tenant_id text, envelope " +
  "text, body text, " +
  "body_hash text, prev_hash text, hash text";
const streamColumns = "stream text, tenant_id text, last_sequence bigint, hash text, position bigint";
const keyColumns = "tenant_id text, digest text, key text, workflow_id text, action_id text";

const texts = {
  ...memoryReads,
  // An append, first round trip. A row lock takes the transaction's id, so that its position is asked for at the end.
  insertKeys: `
    INSERT INTO keys (tenant_id, digest, key, workflow_id, action_id, position)
    SELECT given.*, ${ownPosition} FROM ${listOf(keyColumns)}
    ON CONFLICT DO NOTHING RETURNING tenant_id, digest, workflow_id, action_id`,
  findKeys: `
    SELECT k.* FROM ${listOf("tenant_id text, digest text")} JOIN keys AS k USING (tenant_id, digest)`,
  // A transaction that adds to a bounded counter waits for others that do; it reads once it has the lock.
  lockCounters: `
    SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || tenant_id || ' ' || counter, 0))
    FROM ${listOf("tenant_id text, counter text")}`,
  readCounters: `
    SELECT c.tenant_id, c.counter, sum(c.tokens) AS tokens, sum(c.money)::float8 AS money,
      sum(c.invocations) AS invocations,
      sum(c.wall_ms) AS wall_ms
    FROM ${listOf("tenant_id text, counter text")} JOIN charges AS c USING (tenant_id, counter)
    GROUP BY c.tenant_id, c.counter`,
  lockStreams: `
    SELECT stream, tenant_id, last_sequence, hash, position FROM streams WHERE stream = ANY($1)
    ORDER BY stream FOR UPDATE`,
  lockWorkflows:
    "SELECT workflow_id, thread_id, owner, epoch FROM workflows WHERE workflow_id = ANY($1) ORDER BY " +
    "workflow_id FOR UPDATE",
  // A transaction that begins calls and one that changes halts of the same tenant wait for each other; those that begin
  // calls do not. The halts are read once the locks are held.
  lockHalts: `
    SELECT CASE WHEN changes THEN pg_advisory_xact_lock(at) ELSE pg_advisory_xact_lock_shared(at) END
    FROM (SELECT hashtextextended(current_schema() || ' halts ' || tenant_id, 0) AS at, changes
      FROM ${listOf("tenant_id text, changes boolean")}) AS places`,
  haltsAt: "SELECT tenant_id, max(position) AS at FROM halts WHERE tenant_id = ANY($1) GROUP BY tenant_id",
  ownPosition: `SELECT ${ownPosition} AS position, ${schemaOf} AS schema`,
  // Its second.
  dropKeys: `DELETE FROM keys USING ${listOf("tenant_id text, digest text")}
    WHERE keys.tenant_id = given.tenant_id AND keys.digest = given.digest`,
  insertTurns: insertInto("events", turnColumns),
  insertStreams: insertInto("streams", streamColumns),
  moveStreams: `
    UPDATE streams SET last_sequence = given.last_sequence, hash = given.hash, position = given.position
    FROM ${listOf(streamColumns)} WHERE streams.stream = given.stream`,
  insertWorkflows: insertInto("workflows", headColumns),
  updateWorkflows: `
    UPDATE workflows SET state = coalesce(given.state, workflows.state), updated_at = given.updated_at,
      due_at = CASE given.is_due_given WHEN 1 THEN given.due_at ELSE workflows.due_at END, owner = given.owner,
      epoch = given.epoch, percent = coalesce(given.percent, workflows.percent),
      compensated = CASE WHEN given.state IS NULL THEN workflows.compensated ELSE given.compensated END
    FROM ${listOf(changeColumns)} WHERE workflows.workflow_id = given.workflow_id`,
  insertHalts: insertInto("halts", "halt_id text, tenant_id text, position bigint, record text, lifted bigint"),
  liftHalts: `
    UPDATE halts SET lifted = 1, position = given.position FROM ${listOf("halt_id text, position bigint")}
    WHERE halts.halt_id = given.halt_id`,
  insertGrants: insertInto("grants", "grant_id text, tenant_id text, operator text, covers text, record text"),
  deleteGrants: `DELETE FROM grants USING ${listOf("grant_id text")} WHERE grants.grant_id = given.grant_id`,
  deleteHolds: "DELETE FROM holds WHERE workflow_id = ANY($1)",
  insertHolds: insertInto("holds", "workflow_id text, step_id text, holder text, tenant_id text"),
  ...queueStatements(insertInto),
  ...gateStatements(insertInto, listOf),
  ...standInStatements(insertInto, listOf),
  addCharges: insertInto(
    "charges",
    "tenant_id text, counter text, share smallint, tokens float8, money numeric, invocations float8, wall_ms float8",
    `ON CONFLICT (tenant_id, counter, share) DO UPDATE SET tokens = charges.tokens + excluded.tokens,
      money = charges.money + excluded.money, invocations = charges.invocations + excluded.invocations,
      wall_ms = charges.wall_ms + excluded.wall_ms`,
  ),
  // Of two conflicting records, the later one in the ledger stays, whichever commits first.
  upsertMemory: insertInto(
    "memory",
    "tenant_id text, thread_id text, digest text, key text, position bigint, ordinal bigint, record text",
    `ON CONFLICT (tenant_id, digest, thread_id) DO UPDATE SET position = excluded.position, ordinal = excluded.ordinal,
      record = excluded.record WHERE (memory.position, memory.ordinal) < (excluded.position, excluded.ordinal)`,
  ),
  upsertDocuments: insertInto(
    "documents",
    "tenant_id text, document_id text, position bigint, record text",
    `ON CONFLICT (tenant_id, document_id) DO UPDATE SET position = excluded.position, record = excluded.record
      WHERE documents.position <= excluded.position`,
  ),
  upsertWaits: insertInto(
    "waits",
    "workflow_id text, step_id text, tenant_id text, source text, name text, key text, since float8",
    `ON CONFLICT (workflow_id, step_id) DO UPDATE SET source = excluded.source, name = excluded.name,
      key = excluded.key, since = excluded.since`,
  ),
  deleteWaits: `DELETE FROM waits USING ${listOf("workflow_id text, step_id text")}
    WHERE waits.workflow_id = given.workflow_id AND waits.step_id = given.step_id`,
  insertEvents: insertInto(
    "received_events",
    "tenant_id text, event_id text, name text, key text, record text, expires_at float8, position bigint",
    "ON CONFLICT DO NOTHING",
  ),
  takeEvents: `UPDATE received_events SET taken_by = given.taken_by
    FROM ${listOf("tenant_id text, event_id text, taken_by text")}
    WHERE received_events.tenant_id = given.tenant_id AND received_events.event_id = given.event_id`,
  upsertSchedules: insertInto(
    "schedules",
    "tenant_id text, name text, intent_type text, due_at float8, awaits text, definition text, standing text",
    `ON CONFLICT (tenant_id, name) DO UPDATE SET intent_type = excluded.intent_type, due_at = excluded.due_at,
      awaits = excluded.awaits, definition = excluded.definition, standing = excluded.standing`,
  ),
  moveSchedules: `
    UPDATE schedules SET due_at = given.due_at, awaits = given.awaits, standing = given.standing
    FROM ${listOf("tenant_id text, name text, due_at float8, awaits text, standing text")}
    WHERE schedules.tenant_id = given.tenant_id AND schedules.name = given.name`,
  deleteSchedules: `DELETE FROM schedules USING ${listOf("tenant_id text, name text")}
    WHERE schedules.tenant_id = given.tenant_id AND schedules.name = given.name`,
  insertDecisions: insertInto(
    "decisions",
    "workflow_id text, sequence bigint, tenant_id text, at float8, principal_id text, act text, intent_type text, " +
      "operator text, search text, record text",
  ),
  insertScheduleEntries: insertInto(
    "schedule_entries",
    "tenant_id text, name text, sequence bigint, at float8, record text",
  ),
  bump: insertInto(
    "counters",
    "tenant_id text, thread_id text, position bigint, changes bigint",
    `ON CONFLICT (tenant_id, thread_id) DO UPDATE SET position = greatest(counters.position, excluded.position),
      changes = counters.changes + excluded.changes`,
  ),
  // Its commit is synced, and with it all before it; it leaves nothing in a table.
  sync: "SELECT pg_logical_emit_message(true, 'countersign', '')",

  // The row that holds sequence $2 + 1 is the last one that begins at or before it.
  readStream: `
    SELECT ${turn} FROM events WHERE stream = $1 AND last_sequence > $2 AND first_sequence >= coalesce(
      (SELECT max(first_sequence) FROM events WHERE stream = $1 AND first_sequence <= $2 + 1), 0)
    ORDER BY first_sequence LIMIT $3`,
  last: `SELECT ${turn} FROM events WHERE stream = $1 ORDER BY first_sequence DESC LIMIT 1`,
  tail: `SELECT position, ${turn} FROM events WHERE position > $1 AND position < ${horizon} ORDER BY position LIMIT $2`,
  position: `SELECT coalesce(max(position), 0) AS position FROM events WHERE position < ${horizon}`,

  lag: `
    SELECT (SELECT count(*) FROM (SELECT 1 FROM events WHERE position >= ${horizon} LIMIT 10000) AS behind) AS rows,
      pg_snapshot_xmax(s.now)::text::bigint - pg_snapshot_xmin(s.now)::text::bigint AS transactions,
      (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000, 0)::float8
        FROM pg_stat_activity WHERE backend_xid IS NOT NULL) AS oldest_ms
    FROM (SELECT pg_current_snapshot() AS now) AS s`,
  // A session that only reads declares it for each of its transactions.
  standing: `
    SELECT pg_is_in_recovery() AS replica, current_setting('transaction_read_only') = 'on' AS reads,
      ${schemaOf} AS schema`,

  announce: "SELECT pg_notify($1, $2)",
  lockOwner: "SELECT pg_try_advisory_lock($1, $2) AS locked",
  clock: "SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at",
  prolong: `
    UPDATE owners SET expires_at = $3, lock = $4 WHERE owner = $1 AND session = $2
    RETURNING extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`,
  enterOwners: `
    INSERT INTO owners (owner, session, expires_at, lock) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING RETURNING owner`,
  strikeOff: "DELETE FROM owners WHERE owner = $1",
  // A hanging process would keep its locks: its connections are closed, and their transactions undone.
  strikeOffGone: `
    WITH gone AS (
      DELETE FROM owners WHERE owner IN (SELECT owner FROM owners WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)
      RETURNING session)
    SELECT pg_terminate_backend(a.pid) FROM gone JOIN pg_stat_activity AS a
      ON a.application_name = '${nameOfSession("")}' || gone.session AND a.usename = current_user
    WHERE gone.session <> $2`,
  // The holder of a name's lock knows that no other process has the name.
  strikeOffOther: `
    DELETE FROM owners WHERE owner = $1 AND session <> $2 AND (expires_at <= $3 OR lock = $4::bigint)`,
  leave: "DELETE FROM owners WHERE session = $1",
  goneOwners: `
    SELECT owner FROM owners WHERE owner <> $1 AND lock IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.classid::bigint = $2 AND l.objid::bigint = owners.lock)`,
  freeHeld: freeWhere("owner = $1"),
  freeOrphaned: freeWhere(
    "owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.owner = workflows.owner)",
  ),

  head: "SELECT * FROM workflows WHERE workflow_id = $1",
  claim: `
    UPDATE workflows SET owner = $2, epoch = epoch + 1
    WHERE workflow_id = $1 AND (owner IS NULL OR owner = $2) RETURNING epoch`,
  release: "UPDATE workflows SET owner = NULL WHERE workflow_id = $1 AND owner = $2 AND epoch = $3",
  held: "SELECT workflow_id, epoch FROM workflows WHERE owner = $1 ORDER BY workflow_id",
  nextDue: `SELECT due_at AS at FROM workflows WHERE ${due} AND ${isOurs("$1")} ORDER BY due_at LIMIT 1`,
  takeDue: takeUp(due, "due_at"),
  takeAbandoned: takeUp(abandoned, readyAt),
  takeFreed: takeUp(freed, "epoch * 0"),

  halts: "SELECT tenant_id, position, record, lifted FROM halts ORDER BY position, halt_id",
  grants: "SELECT record FROM grants WHERE tenant_id = $1 AND grant_id > $2 ORDER BY grant_id LIMIT $3",
  grant: "SELECT record FROM grants WHERE tenant_id = $1 AND grant_id = $2",
  grantsFor: `
    SELECT record FROM grants WHERE tenant_id = $1 AND operator = $2 AND covers IN ('', $3) ORDER BY grant_id`,
  grantingTenants: "SELECT DISTINCT tenant_id FROM grants",
  countHolds: `
    SELECT holder, count(*) FILTER (WHERE step_id = '') AS workflows, count(*) FILTER (WHERE step_id <> '') AS steps
    FROM holds WHERE tenant_id = coalesce($1, tenant_id) GROUP BY holder ORDER BY holder`,
  findKey: "SELECT workflow_id, action_id FROM keys WHERE tenant_id = $1 AND digest = $2",
  chargesOfTenant: `
    SELECT counter, sum(tokens) AS tokens, sum(money)::float8 AS money, sum(invocations) AS invocations,
      sum(wall_ms) AS wall_ms FROM charges
    WHERE tenant_id = $1 AND ($2::text[] IS NULL OR counter = ANY($2)) GROUP BY counter ORDER BY counter`,
  documents: `
    SELECT document_id, record FROM documents WHERE tenant_id = $1 AND document_id = ANY($2)`,
  version: `
    SELECT coalesce(sum(changes), 0)::bigint AS changes FROM counters WHERE tenant_id = $1 AND thread_id IN ('', $2)`,

  findEvent: "SELECT tenant_id, record, taken_by FROM received_events WHERE tenant_id = $1 AND event_id = $2",
  eventsOfKey: `
    SELECT tenant_id, record, taken_by FROM received_events
    WHERE tenant_id = $1 AND name = $2 AND key = $3 AND taken_by IS NULL AND expires_at > $4
    ORDER BY position, event_id LIMIT $5`,
  overdueByEvent: `
    SELECT w.workflow_id, w.step_id, w.tenant_id, w.source, e.event_id FROM received_events AS e
    JOIN waits AS w ON w.tenant_id = e.tenant_id AND w.source = 'event' AND w.name = e.name AND w.key = e.key
    WHERE e.taken_by IS NULL AND e.expires_at > $1 ORDER BY e.expires_at, w.since LIMIT $2`,
  overdueByWorkflow: `
    SELECT w.workflow_id, w.step_id, w.tenant_id, w.source, NULL AS event_id FROM waits AS w
    JOIN workflows AS c ON c.workflow_id = w.key::json #>> '{}' AND c.tenant_id = w.tenant_id
    WHERE w.source = 'workflow' AND (c.state IN ('completed', 'failed', 'cancelled') OR EXISTS (
      SELECT 1 FROM workflows AS p WHERE p.workflow_id = w.workflow_id AND p.state = 'cancelling'))
    ORDER BY w.since LIMIT $1`,
  schedulesNamed: `
    SELECT ${schedule} FROM schedules WHERE tenant_id = $1 AND name = ANY($2) ORDER BY name`,
  schedulesDue: `
    SELECT ${schedule} FROM schedules WHERE due_at IS NOT NULL AND due_at <= $1 AND intent_type = ANY($2)
    ORDER BY due_at LIMIT $3`,
  schedulesFreed: `
    SELECT s.tenant_id, s.name, s.definition, s.standing FROM schedules AS s
    JOIN workflows AS w ON w.workflow_id = s.awaits
    WHERE s.awaits IS NOT NULL AND w.state IN ('completed', 'failed', 'cancelled') AND s.intent_type = ANY($1)
    LIMIT $2`,
  nextScheduleDue: `
    SELECT due_at AS at FROM schedules WHERE due_at IS NOT NULL AND intent_type = ANY($1) ORDER BY due_at LIMIT 1`,
  scheduleEntries: `
    SELECT sequence, at, record FROM schedule_entries WHERE tenant_id = $1 AND name = $2 AND sequence < $3
    ORDER BY sequence DESC LIMIT $4`,

  insertSession: `
    INSERT INTO sessions (name, kind, holder, caller, born_at, used_at, ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
  // Among entries of equal age the one that came first is dropped.
  dropOldSessions: `
    DELETE FROM sessions WHERE ordinal IN (
      SELECT ordinal FROM sessions WHERE kind = $1 ORDER BY used_at DESC, ordinal DESC OFFSET $2) RETURNING name`,
  findSession: "SELECT name, kind, holder, caller, born_at, used_at, ends_at FROM sessions WHERE name = $1",
  touchSession: "UPDATE sessions SET used_at = $1 WHERE name = $2",
  redeemSession: "UPDATE sessions SET kind = 'used', used_at = $1 WHERE name = $2 AND kind = 'code' AND ends_at > $1",
  dropSession: "DELETE FROM sessions WHERE name = $1 RETURNING name",
  dropSessionsOf: "DELETE FROM sessions WHERE holder = $1 AND kind <> 'used' RETURNING name",

  keepPush: "INSERT INTO pushes (key, record) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET record = excluded.record",
  listPushes: 'SELECT record FROM pushes ORDER BY key COLLATE "C"',
  dropPush: "DELETE FROM pushes WHERE key = $1",

  deliveryCursor: "SELECT position FROM notifiers WHERE name = $1",
  insertCursor: "INSERT INTO notifiers (name, position) VALUES ($1, $2) ON CONFLICT DO NOTHING",
  moveCursor: "UPDATE notifiers SET position = $2 WHERE name = $1 AND position = $3",
  withdrawReminder: `
    DELETE FROM deliveries WHERE notifier = $1 AND workflow_id = $2 AND gate_id = $3 AND kind = 'due_soon'
    AND state = 'pending'`,
  insertDelivery: `
    INSERT INTO deliveries (notifier, delivery_id, tenant_id, workflow_id, gate_id, kind, sequence, at, next_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT DO NOTHING`,
  // The conditions are repeated outside: of two that choose one row at once, the second checks it again there.
  takeDeliveries: `
    UPDATE deliveries SET owner = $4, next_at = $5 WHERE ordinal IN (
      SELECT ordinal FROM deliveries AS d WHERE notifier = $1 AND state = 'pending' AND next_at <= $2
      AND ${isFirst} ORDER BY next_at, ordinal LIMIT $3) AND state = 'pending' AND next_at <= $2
    RETURNING delivery_id, tenant_id, workflow_id, gate_id, kind, sequence, at, attempts`,
  nextDelivery: `
    SELECT next_at AS at FROM deliveries AS d
    WHERE notifier = $1 AND state = 'pending' AND ${isFirst} ORDER BY next_at, ordinal LIMIT 1`,
  // The receipts of a gate are needed no longer once its decision was delivered.
  endDelivery: `
    WITH ended AS (
      UPDATE deliveries SET state = 'delivered', settled_at = $4, receipt = $5, owner = NULL, error = NULL
      WHERE notifier = $1 AND delivery_id = $2 AND owner = $3 RETURNING workflow_id, gate_id, kind)
    UPDATE deliveries AS d SET receipt = NULL FROM ended WHERE ended.kind = 'decided' AND d.notifier = $1
    AND d.workflow_id = ended.workflow_id AND d.gate_id = ended.gate_id AND d.receipt IS NOT NULL`,
  deliveryReceipts: `
    SELECT receipt FROM deliveries WHERE notifier = $1 AND workflow_id = $2 AND gate_id = $3 AND receipt IS NOT NULL
    ORDER BY at, ordinal`,
  dropDelivery: "DELETE FROM deliveries WHERE notifier = $1 AND delivery_id = $2 AND owner = $3",
  putDeliveryBack: `
    UPDATE deliveries SET state = $4, attempts = $5, next_at = $6, error = $7, settled_at = $8, owner = NULL
    WHERE notifier = $1 AND delivery_id = $2 AND owner = $3`,
  countDeliveries: `
    SELECT n.name AS notifier, count(d.ordinal) FILTER (WHERE d.state = 'pending') AS pending,
      count(d.ordinal) FILTER (WHERE d.state = 'failed') AS failed,
      (SELECT e.error FROM deliveries AS e WHERE e.notifier = n.name AND e.error IS NOT NULL
        ORDER BY e.settled_at DESC LIMIT 1) AS error
    FROM notifiers AS n LEFT JOIN deliveries AS d ON d.notifier = n.name AND d.state IN ('pending', 'failed')
    GROUP BY n.name ORDER BY n.name`,
  retryDeliveries: `
    UPDATE deliveries SET state = 'pending', attempts = 0, next_at = $2 WHERE notifier = $1 AND state = 'failed'`,
  forgetDeliveries: `
    DELETE FROM deliveries WHERE notifier = $1 AND state = 'delivered' AND settled_at < $2 AND receipt IS NULL`,
} as const;

export type StatementName = keyof typeof texts;

/** Returns a statement with its values, prepared under its name. */
export const statement = (name: StatementName, ...values: readonly Value[]): Statement => ({
  name,
  text: texts[name],
  values,
});

/** Returns a statement over rows, each of which is given as its columns in order. */
export function over(name: StatementName, rows: readonly (readonly Value[])[]): Statement {
  const width = rows[0]?.length ?? 0;
  return statement(name, ...Array.from({ length: width }, (_, i) => rows.map((row) => row[i] as string | null)));
}
