/**
 * The statements of a ledger, prepared once per connection.
 *
 * Owns: all fixed SQL text. Queries that depend on their filter are in read-heads.ts and list-queries.ts.
 * Never: runs anything.
 * 1.  The conditions of due, abandoned and held repeat those of their partial indexes word for word.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { gateChanges, gateColumns } from "../tables/columns.ts";
import { decisionColumns } from "../tables/decision-queries.ts";

// The driver refuses an integer that JavaScript cannot hold. A forged sequence must not keep other rows from a reader.
const sequences = ["first_sequence", "last_sequence"].map(
  (name) => `min(${name}, ${Number.MAX_SAFE_INTEGER}) AS ${name}`,
);
const turn = `position, stream, ${sequences.join()}, envelope, body, body_hash, prev_hash, hash`;

const schedule = "tenant_id, name, definition, standing";

const free = "owner IS NULL";
const due = `${free} AND due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled')`;
const abandoned = `${free} AND state IN ('accepted', 'planned', 'running')`;
const readyAt = "coalesce(due_at, 0)";
const freed = `${free} AND state NOT IN ('completed', 'failed', 'cancelled') AND workflow_id IN (
  SELECT workflow_id FROM holds
  WHERE holder <> 'pause' AND holder NOT IN (SELECT halt_id FROM halts WHERE lifted = 0))`;
const orphaned = "owner IS NOT NULL AND owner NOT IN (SELECT owner FROM owners)";

/** Returns the condition of workflows that are not left to others; the parameter is the JSON list of their types. */
const isOurs = (parameter: string): string => `intent_type NOT IN (SELECT value FROM json_each(${parameter}))`;

const takeUp = (which: string, at: string): string => `
  UPDATE workflows SET owner = ?1, epoch = epoch + 1 WHERE workflow_id IN (
    SELECT workflow_id FROM workflows WHERE ${which} AND ${at} <= ?2 AND ${isOurs("?4")}
    ORDER BY ${at}, workflow_id LIMIT ?3) RETURNING *`;

/**
 * The condition of the earliest pending delivery of a gate, the only one that may be taken; `d` is the examined one.
 */
const isFirst = `NOT EXISTS (
  SELECT 1 FROM deliveries AS e WHERE e.notifier = d.notifier AND e.workflow_id = d.workflow_id
  AND e.gate_id = d.gate_id AND e.state = 'pending' AND (e.at, e.ordinal) < (d.at, d.ordinal))`;

/** No other thread has a newer entry of the key; here, too, plus signs keep SQLite from an index on position. */
const isNewestOfKey = `NOT EXISTS (SELECT 1 FROM memory AS n WHERE n.tenant_id = ?1 AND n.key = m.key
      AND (+n.position, +n.ordinal) > (m.position, m.ordinal))`;

const texts = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  dataVersion: "PRAGMA data_version",
  markTried: "INSERT INTO meta VALUES ('tried', '1') ON CONFLICT DO UPDATE SET value = excluded.value",
  syncedMark: "SELECT CAST(value AS INTEGER) AS position FROM meta WHERE name = 'synced'",
  markSynced: "INSERT INTO meta VALUES ('synced', ?) ON CONFLICT DO UPDATE SET value = excluded.value",

  insertTurn: `
    INSERT INTO events (position, stream, first_sequence, last_sequence, tenant_id, envelope, body,
      body_hash, prev_hash,
      hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  streamHead: `
    SELECT e.last_sequence, e.hash, e.tenant_id, w.workflow_id, w.thread_id, w.owner, w.epoch
    FROM events e LEFT JOIN workflows w ON w.workflow_id = e.stream
    WHERE e.stream = ? ORDER BY e.first_sequence DESC LIMIT 1`,
  // The row that holds sequence ?2 + 1 is the last one that begins at or before it.
  readStream: `
    SELECT ${turn} FROM events WHERE stream = ?1 AND last_sequence > ?2 AND first_sequence >= coalesce(
      (SELECT max(first_sequence) FROM events WHERE stream = ?1 AND first_sequence <= ?2 + 1), 0)
    ORDER BY events.first_sequence LIMIT ?3`,
  lastSequence: "SELECT last_sequence FROM events WHERE stream = ? ORDER BY first_sequence DESC LIMIT 1",
  last: `SELECT ${turn} FROM events WHERE stream = ? ORDER BY events.first_sequence DESC LIMIT 1`,
  tail: `SELECT ${turn} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
  turnBytes: `
    SELECT CAST(stream AS BLOB) AS stream, CAST(envelope AS BLOB) AS envelope, CAST(body AS BLOB) AS body
    FROM events WHERE position = ?`,
  position: "SELECT coalesce(max(position), 0) AS position FROM events",

  insertWorkflow: `
    INSERT INTO workflows (workflow_id, tenant_id, thread_id, principal_id, intent_id, intent_type,
      correlation_id, state,
      created_at, updated_at, due_at, owner, epoch, principal_type, title, percent, schedule,
      compensated, search)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // ?2 state or NULL to keep it; ?3 whether ?4 is the new due time. The holder is known from the stream's head.
  updateWorkflow: `
    UPDATE workflows SET updated_at = ?1, state = coalesce(?2, state), due_at = iif(?3, ?4, due_at),
      owner = ?5, epoch = ?6, percent = coalesce(?7, percent), compensated = iif(?2 IS NULL, compensated, ?8)
    WHERE workflow_id = ?9`,
  // Touches no index.
  updatePercent: "UPDATE workflows SET updated_at = ?, percent = ? WHERE workflow_id = ?",
  head: "SELECT * FROM workflows WHERE workflow_id = ?",

  claim: `
    UPDATE workflows SET owner = ?2, epoch = epoch + 1
    WHERE workflow_id = ?1 AND (owner IS NULL OR owner = ?2) RETURNING epoch`,
  release: "UPDATE workflows SET owner = NULL WHERE workflow_id = ? AND owner = ? AND epoch = ?",
  held: "SELECT workflow_id, epoch FROM workflows WHERE owner = ? ORDER BY workflow_id",
  nextDue: `SELECT due_at AS at FROM workflows WHERE ${due} AND ${isOurs("?1")} ORDER BY due_at LIMIT 1`,
  anyToTake: `
    SELECT EXISTS (SELECT 1 FROM owners WHERE expires_at <= ?1) OR EXISTS (SELECT 1 FROM workflows WHERE ${orphaned})
      OR EXISTS (SELECT 1 FROM workflows WHERE ${due} AND due_at <= ?2 AND ${isOurs("?3")})
      OR EXISTS (SELECT 1 FROM workflows WHERE ${abandoned} AND ${readyAt} <= ?2 AND ${isOurs("?3")})
      OR EXISTS (SELECT 1 FROM workflows WHERE ${freed} AND ${isOurs("?3")}) AS found`,
  takeDue: takeUp(due, "due_at"),
  takeAbandoned: takeUp(abandoned, readyAt),
  takeFreed: takeUp(freed, "epoch * 0"),

  prolong: "UPDATE owners SET expires_at = ? WHERE owner = ? AND session = ?",
  findOwner: "SELECT session, expires_at FROM owners WHERE owner = ?",
  enter: "INSERT INTO owners (owner, session, expires_at) VALUES (?, ?, ?)",
  strikeOff: "DELETE FROM owners WHERE owner = ?",
  isEntered: "SELECT 1 FROM owners WHERE session = ?",
  leave: "DELETE FROM owners WHERE session = ?",
  strikeOffGone: "DELETE FROM owners WHERE expires_at <= ?",
  freeHeld: "UPDATE workflows SET owner = NULL WHERE owner = ?",
  freeOrphaned: `UPDATE workflows SET owner = NULL WHERE ${orphaned}`,

  haltsAt: "SELECT coalesce(max(position), 0) AS at FROM halts WHERE tenant_id = ?",
  halts: "SELECT tenant_id, position, record, lifted FROM halts ORDER BY position, halt_id",
  insertHalt: "INSERT INTO halts (halt_id, tenant_id, position, record, lifted) VALUES (?, ?, ?, ?, ?)",
  liftHalt: "UPDATE halts SET lifted = 1, position = ?2 WHERE halt_id = ?1",
  insertGrant: "INSERT INTO grants (grant_id, tenant_id, operator, covers, record) VALUES (?, ?, ?, ?, ?)",
  deleteGrant: "DELETE FROM grants WHERE grant_id = ?",
  grants: "SELECT record FROM grants WHERE tenant_id = ? AND grant_id > ? ORDER BY grant_id LIMIT ?",
  grant: "SELECT record FROM grants WHERE tenant_id = ? AND grant_id = ?",
  grantsFor: "SELECT record FROM grants WHERE tenant_id = ? AND operator = ? AND covers IN ('', ?) ORDER BY grant_id",
  grantingTenants: "SELECT DISTINCT tenant_id FROM grants",
  insertStandIn: `INSERT INTO stand_ins (stand_in_id, tenant_id, author, deputy, from_at, until_at, record)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  deleteStandIn: "DELETE FROM stand_ins WHERE stand_in_id = ?",
  standIns: `SELECT record FROM stand_ins
    WHERE tenant_id = ?1 AND until_at > ?2 AND stand_in_id > ?3 AND (?4 IS NULL OR from_at <= ?4)
      AND (?5 IS NULL OR author = ?5 OR deputy = ?5)
    ORDER BY stand_in_id LIMIT ?6`,
  standIn: "SELECT record FROM stand_ins WHERE tenant_id = ? AND stand_in_id = ?",
  standInsFor: `SELECT record FROM stand_ins WHERE tenant_id = ?1 AND deputy = ?2 AND until_at > ?3 AND from_at <= ?3
    ORDER BY stand_in_id`,
  standInTenants: "SELECT DISTINCT tenant_id FROM stand_ins",
  deleteHolds: "DELETE FROM holds WHERE workflow_id = ?",
  insertHold: "INSERT INTO holds (workflow_id, step_id, holder, tenant_id) VALUES (?, ?, ?, ?)",

  upsertQueueEntry: `
    INSERT INTO queue_entries
      (workflow_id, tenant_id, line, place, rank, since, concurrency, rate_limit, rate_per)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET line = excluded.line, place = excluded.place, rank = excluded.rank,
      since = excluded.since, concurrency = excluded.concurrency, rate_limit = excluded.rate_limit,
      rate_per = excluded.rate_per`,
  upsertLimits: `
    INSERT INTO queue_limits
      (line_from, line_to, tenant_id, name, position, concurrency, rate_limit, rate_per, record)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET position = excluded.position, concurrency = excluded.concurrency,
      rate_limit = excluded.rate_limit, rate_per = excluded.rate_per, record = excluded.record`,
  queueLimits: "SELECT record FROM queue_limits WHERE tenant_id = ?1 AND coalesce(?2, name) = name",
  lineLimits: "SELECT concurrency, rate_limit, rate_per FROM queue_limits WHERE line_from < ?1 AND line_to > ?1",
  insertAdmission: `
    INSERT OR IGNORE INTO queue_admissions (line, at, until, workflow_id, sequence) VALUES (?, ?, ?, ?, ?)`,
  dropAdmissions: "DELETE FROM queue_admissions WHERE until <= ?",
  lineAdmitted: "SELECT at FROM queue_admissions WHERE line = ? ORDER BY at DESC LIMIT ?",
  isAnyQueued: "SELECT EXISTS (SELECT 1 FROM queue_entries WHERE place = 'waiting') AS found",
  countQueued: "SELECT count(*) AS n FROM queue_entries WHERE place <> 'taken'",
  lineMembers: `
    SELECT workflow_id, place, since FROM queue_entries WHERE line = ?
    ORDER BY place, rank, since, workflow_id LIMIT ?`,
  countLines: `
    SELECT line, count(*) FILTER (WHERE place = 'taken') AS running,
      count(*) FILTER (WHERE place <> 'taken') AS waiting, min(since) FILTER (WHERE place <> 'taken') AS oldest,
      min(concurrency) AS concurrency
    FROM queue_entries WHERE line > ? AND line < ? GROUP BY line ORDER BY line LIMIT ?`,
  deleteQueueEntry: "DELETE FROM queue_entries WHERE workflow_id = ?",
  // One line after the other, without a look at those who wait in it.
  queueLines: `
    WITH RECURSIVE found (line) AS (
      SELECT min(line) FROM queue_entries WHERE place = 'waiting'
      UNION ALL SELECT (SELECT min(line) FROM queue_entries WHERE place = 'waiting' AND line > found.line)
      FROM found WHERE found.line IS NOT NULL)
    SELECT line FROM found WHERE line IS NOT NULL`,
  ratedLines: `
    SELECT DISTINCT line FROM queue_entries WHERE place = 'waiting' AND rate_limit IS NOT NULL
    UNION ALL SELECT e.line FROM queue_limits AS q
      JOIN queue_entries AS e ON e.line > q.line_from AND e.line < q.line_to AND e.place = 'waiting'
    WHERE q.rate_limit > 0`,
  lineTaken: "SELECT workflow_id FROM queue_entries WHERE line = ? AND place = 'taken'",
  lineWaiting: `
    SELECT workflow_id, rank, since, concurrency, rate_limit, rate_per FROM queue_entries
    WHERE line = ? AND place = 'waiting' ORDER BY rank, since, workflow_id LIMIT ?`,
  lineAhead: `
    SELECT count(*) AS n FROM (
      SELECT 1 FROM queue_entries WHERE line = ? AND place = 'waiting' AND (rank, since, workflow_id) < (?, ?, ?)
      LIMIT ?)`,
  takeQueued: `
    UPDATE workflows SET owner = ?1, epoch = epoch + 1
    WHERE ${free} AND workflow_id IN (SELECT value FROM json_each(?2)) AND ${isOurs("?3")} RETURNING *`,

  countHolds: `
    SELECT holder, count(*) FILTER (WHERE step_id = '') AS workflows, count(*) FILTER (WHERE step_id <> '') AS steps
    FROM holds WHERE tenant_id = coalesce(?1, tenant_id) GROUP BY holder ORDER BY holder`,

  upsertGate: `
    INSERT INTO gates (${gateColumns.join(", ")}) VALUES (${gateColumns.map(() => "?").join(", ")})
    ON CONFLICT DO UPDATE SET ${gateChanges(gateColumns)}`,
  deleteGate: "DELETE FROM gates WHERE workflow_id = ? AND gate_id = ?",
  gatesOfTenant: `
    SELECT record FROM gates WHERE tenant_id = ? AND (workflow_id, gate_id) > (?, ?)
    ORDER BY workflow_id, gate_id LIMIT ?`,
  gatesOfWorkflow: `
    SELECT record FROM gates WHERE workflow_id = ? AND tenant_id = coalesce(?, tenant_id)
    AND (workflow_id, gate_id) > (?, ?) ORDER BY gate_id LIMIT ?`,
  gatesOfAll: "SELECT record FROM gates WHERE (workflow_id, gate_id) > (?, ?) ORDER BY workflow_id, gate_id LIMIT ?",

  insertKey: "INSERT INTO keys (tenant_id, key, workflow_id, action_id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  findKey: "SELECT workflow_id, action_id FROM keys WHERE tenant_id = ? AND key = ?",

  writeCharge: `
    INSERT INTO charges (tenant_id, counter, tokens, money, invocations, wall_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET tokens = excluded.tokens, money = excluded.money, invocations = excluded.invocations,
      wall_ms = excluded.wall_ms`,
  chargesOfCounter: "SELECT * FROM charges WHERE tenant_id = ? AND counter = ?",
  chargesOfTenant: "SELECT * FROM charges WHERE tenant_id = ? ORDER BY counter",

  upsertMemory: `
    INSERT INTO memory (tenant_id, thread_id, key, position, ordinal, record) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET position = excluded.position, ordinal = excluded.ordinal, record = excluded.record`,
  memoryOfThread: `
    SELECT position, record FROM memory WHERE tenant_id = ?1 AND thread_id = ?2
    ORDER BY position DESC, ordinal DESC LIMIT ?3`,
  memoryOfTenant: `
    SELECT position, record FROM memory AS m WHERE tenant_id = ?1 AND ${isNewestOfKey}
    ORDER BY position DESC, ordinal DESC LIMIT ?2`,
  // Keys are a JSON list of key texts. The plus signs keep SQLite from the indexes on position, which would look at
  // every entry of the tenant or the thread.
  memoryOfThreadByKey: `
    SELECT position, record FROM memory WHERE tenant_id = ?1 AND thread_id = ?2
    AND key IN (SELECT value FROM json_each(?3)) ORDER BY +position DESC, +ordinal DESC LIMIT ?4`,
  memoryOfTenantByKey: `
    SELECT position, record FROM memory AS m WHERE tenant_id = ?1
    AND key IN (SELECT value FROM json_each(?2)) AND ${isNewestOfKey}
    ORDER BY +position DESC, +ordinal DESC LIMIT ?3`,

  upsertDocument: `
    INSERT INTO documents (tenant_id, document_id, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET record = excluded.record`,
  document: "SELECT record FROM documents WHERE tenant_id = ? AND document_id = ?",

  upsertWait: `
    INSERT INTO waits (workflow_id, step_id, tenant_id, source, name, key, since) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET source = excluded.source, name = excluded.name, key = excluded.key,
      since = excluded.since`,
  deleteWait: "DELETE FROM waits WHERE workflow_id = ? AND step_id = ?",
  insertEvent: `
    INSERT INTO received_events (tenant_id, event_id, name, key, record, expires_at, position)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  takeEvent: "UPDATE received_events SET taken_by = ?3 WHERE tenant_id = ?1 AND event_id = ?2",
  findEvent: "SELECT tenant_id, record, taken_by FROM received_events WHERE tenant_id = ? AND event_id = ?",
  eventsOfKey: `
    SELECT tenant_id, record, taken_by FROM received_events
    WHERE tenant_id = ? AND name = ? AND key = ? AND taken_by IS NULL AND expires_at > ?
    ORDER BY position, event_id LIMIT ?`,
  // Few events are kept, many steps may wait: the events are read first.
  overdueByEvent: `
    SELECT w.workflow_id, w.step_id, w.tenant_id, w.source, e.event_id FROM received_events AS e CROSS JOIN waits AS w
    WHERE e.taken_by IS NULL AND e.expires_at > ? AND w.tenant_id = e.tenant_id AND w.source = 'event'
      AND w.name = e.name AND w.key = e.key ORDER BY e.expires_at LIMIT ?`,
  overdueByWorkflow: `
    SELECT w.workflow_id, w.step_id, w.tenant_id, w.source, NULL AS event_id FROM waits AS w CROSS JOIN workflows AS c
    WHERE w.source = 'workflow' AND c.workflow_id = json_extract(w.key, '$') AND c.tenant_id = w.tenant_id
      AND (c.state IN ('completed', 'failed', 'cancelled') OR EXISTS (
        SELECT 1 FROM workflows AS p WHERE p.workflow_id = w.workflow_id AND p.state = 'cancelling'))
    ORDER BY w.since LIMIT ?`,

  // Among entries of equal age the one that came first is dropped.
  insertSession: `
    INSERT INTO sessions (name, kind, holder, caller, born_at, used_at, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  dropOldSessions: `
    DELETE FROM sessions WHERE ordinal IN (
      SELECT ordinal FROM sessions WHERE kind = ? ORDER BY used_at DESC, ordinal DESC LIMIT -1 OFFSET ?)
      RETURNING name`,
  findSession: "SELECT name, kind, holder, caller, born_at, used_at, ends_at FROM sessions WHERE name = ?",
  touchSession: "UPDATE sessions SET used_at = ? WHERE name = ?",
  redeemSession: "UPDATE sessions SET kind = 'used', used_at = ? WHERE name = ? AND kind = 'code' AND ends_at > ?",
  dropSession: "DELETE FROM sessions WHERE name = ? RETURNING name",
  dropSessionsOf: "DELETE FROM sessions WHERE holder = ? AND kind <> 'used' RETURNING name",

  keepPush: "INSERT INTO pushes (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record",
  listPushes: "SELECT record FROM pushes ORDER BY key",
  dropPush: "DELETE FROM pushes WHERE key = ?",

  deliveryCursor: "SELECT position FROM notifiers WHERE name = ?",
  insertCursor: "INSERT INTO notifiers (name, position) VALUES (?, ?) ON CONFLICT DO NOTHING",
  moveCursor: "UPDATE notifiers SET position = ? WHERE name = ? AND position = ?",
  withdrawReminder: `
    DELETE FROM deliveries WHERE notifier = ? AND workflow_id = ? AND gate_id = ? AND kind = 'due_soon'
    AND state = 'pending'`,
  insertDelivery: `
    INSERT INTO deliveries (notifier, delivery_id, tenant_id, workflow_id, gate_id, kind, sequence, at, next_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  takeDeliveries: `
    UPDATE deliveries SET owner = ?4, next_at = ?5 WHERE ordinal IN (
      SELECT ordinal FROM deliveries AS d WHERE notifier = ?1 AND state = 'pending' AND next_at <= ?2
      AND ${isFirst} ORDER BY next_at, ordinal LIMIT ?3)
    RETURNING delivery_id, tenant_id, workflow_id, gate_id, kind, sequence, at, attempts`,
  nextDelivery: `
    SELECT next_at AS at FROM deliveries AS d
    WHERE notifier = ? AND state = 'pending' AND ${isFirst} ORDER BY next_at, ordinal LIMIT 1`,
  endDelivery: `
    UPDATE deliveries SET state = 'delivered', settled_at = ?, receipt = ?, owner = NULL, error = NULL
    WHERE notifier = ? AND delivery_id = ? AND owner = ? RETURNING workflow_id, gate_id, kind`,
  deliveryReceipts: `
    SELECT receipt FROM deliveries WHERE notifier = ? AND workflow_id = ? AND gate_id = ? AND receipt IS NOT NULL
    ORDER BY at, ordinal`,
  endReceipts: `
    UPDATE deliveries SET receipt = NULL
    WHERE notifier = ? AND workflow_id = ? AND gate_id = ? AND receipt IS NOT NULL`,
  dropDelivery: "DELETE FROM deliveries WHERE notifier = ? AND delivery_id = ? AND owner = ?",
  putDeliveryBack: `
    UPDATE deliveries SET state = ?, attempts = ?, next_at = ?, error = ?, settled_at = ?, owner = NULL
    WHERE notifier = ? AND delivery_id = ? AND owner = ?`,
  countDeliveries: `
    SELECT n.name AS notifier, count(d.ordinal) FILTER (WHERE d.state = 'pending') AS pending,
      count(d.ordinal) FILTER (WHERE d.state = 'failed') AS failed,
      (SELECT newest.error FROM (SELECT e.error, max(e.settled_at) FROM deliveries AS e
        WHERE e.notifier = n.name AND e.error IS NOT NULL) AS newest) AS error
    FROM notifiers AS n LEFT JOIN deliveries AS d ON d.notifier = n.name AND d.state IN ('pending', 'failed')
    GROUP BY n.name ORDER BY n.name`,
  retryDeliveries: `
    UPDATE deliveries SET state = 'pending', attempts = 0, next_at = ? WHERE notifier = ? AND state = 'failed'`,
  forgetDeliveries: `
    DELETE FROM deliveries WHERE notifier = ? AND state = 'delivered' AND settled_at < ? AND receipt IS NULL`,

  upsertSchedule: `
    INSERT INTO schedules (tenant_id, name, intent_type, due_at, awaits, definition, standing)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET intent_type = excluded.intent_type, due_at = excluded.due_at, awaits = excluded.awaits,
      definition = excluded.definition, standing = excluded.standing`,
  moveSchedule: "UPDATE schedules SET due_at = ?3, awaits = ?4, standing = ?5 WHERE tenant_id = ?1 AND name = ?2",
  deleteSchedule: "DELETE FROM schedules WHERE tenant_id = ? AND name = ?",
  insertScheduleEntry: `
    INSERT INTO schedule_entries (tenant_id, name, sequence, at, record) VALUES (?, ?, ?, ?, ?)`,
  insertDecision: `
    INSERT INTO decisions (${decisionColumns.join(", ")}) VALUES (${decisionColumns.map(() => "?").join(", ")})`,
  schedulesNamed: `
    SELECT ${schedule} FROM schedules WHERE tenant_id = ? AND name IN (SELECT value FROM json_each(?)) ORDER BY name`,
  schedulesDue: `
    SELECT ${schedule} FROM schedules WHERE due_at IS NOT NULL AND due_at <= ?
      AND intent_type IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT ?`,
  // Few schedules wait at a time.
  schedulesFreed: `
    SELECT s.tenant_id, s.name, s.definition, s.standing FROM schedules AS s CROSS JOIN workflows AS w
    WHERE s.awaits IS NOT NULL AND w.workflow_id = s.awaits AND w.state IN ('completed', 'failed', 'cancelled')
      AND s.intent_type IN (SELECT value FROM json_each(?)) LIMIT ?`,
  nextScheduleDue: `
    SELECT due_at AS at FROM schedules WHERE due_at IS NOT NULL
      AND intent_type IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1`,
  scheduleEntries: `
    SELECT sequence, at, record FROM schedule_entries WHERE tenant_id = ? AND name = ? AND sequence < ?
    ORDER BY sequence DESC LIMIT ?`,
  bump: `
    INSERT INTO counters (tenant_id, thread_id, position) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET position = excluded.position`,
  version: "SELECT coalesce(max(position), 0) AS position FROM counters WHERE tenant_id = ? AND thread_id IN ('', ?)",
} as const;

export type Statements = Readonly<Record<keyof typeof texts, StatementSync>>;

/** Returns the statements of a connection. Each is prepared at its first use: most connections use few of them. */
export function prepareStatements(db: DatabaseSync): Statements {
  const statements = {};
  for (const [name, text] of Object.entries(texts)) {
    let prepared: StatementSync | undefined;
    Object.defineProperty(statements, name, {
      enumerable: true,
      get() {
        prepared ??= db.prepare(text);
        return prepared;
      },
    });
  }
  return statements as Statements;
}

export type Prepare = (text: string) => StatementSync;

/** Returns a function that prepares a text of a list, and keeps the statements of the texts that it saw last. */
export function keepPrepared(db: DatabaseSync, most = 64): Prepare {
  const kept = new Map<string, StatementSync>();
  return (text) => {
    const statement = kept.get(text) ?? db.prepare(text);
    kept.delete(text);
    kept.set(text, statement);
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return statement;
  };
}
