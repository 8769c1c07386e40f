/**
 * The tables of a SQLite ledger.
 *
 * Owns: the schema, its version (PRAGMA user_version) and the mark of a Countersign file (PRAGMA application_id).
 * Never: changes the tables of an existing file; `npm run convert` writes its events into a new one.
 * 1.  The tables are created in one transaction: a file has all of them or none.
 * 2.  The database itself refuses to change, remove or replace a row of `events`.
 * 3.  Ids that a host may give as number or text are kept as JSON text: 1 and "1" are different tenants.
 */
import type { DatabaseSync } from "node:sqlite";
import { historyBy } from "../tables/decision-queries.ts";
import { dueOrder, listedBy } from "../tables/gate-queries.ts";
import { type FailurePlace, ledgerFailure } from "./failure.ts";

/** "CSGN" */
export const applicationId = 0x4353474e;

/** The version of the schema below. Earlier versions held rows of formats that are no longer read. */
export const schemaVersion = 20;

// Times are REAL so that an injected clock may have fractions of a millisecond. Queries in statements.ts repeat the
// expressions and conditions of indexes word for word, or SQLite would not use them.
const tables = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    first_sequence INTEGER NOT NULL CHECK (first_sequence >= 1),
    last_sequence INTEGER NOT NULL CHECK (last_sequence >= first_sequence),
    tenant_id TEXT NOT NULL,
    envelope TEXT NOT NULL,
    body TEXT,
    body_hash TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (stream, first_sequence)
  ) STRICT;
  CREATE TRIGGER events_keep_on_update BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the event log is append only'); END;
  CREATE TRIGGER events_keep_on_delete BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the event log is append only'); END;
  -- INSERT OR REPLACE removes rows without a delete trigger; position is -1 here when SQLite chooses it.
  CREATE TRIGGER events_keep_on_replace BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND first_sequence = NEW.first_sequence)
      OR (NEW.position <> -1 AND NEW.position <= (SELECT max(position) FROM events))
    BEGIN SELECT RAISE(ABORT, 'the event log is append only'); END;

  CREATE TABLE workflows (
    workflow_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    thread_id TEXT,
    principal_id TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    intent_type TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    due_at REAL,
    owner TEXT,
    epoch INTEGER NOT NULL,
    -- Lists show these three, and how much is undone.
    principal_type TEXT NOT NULL,
    title TEXT NOT NULL,
    percent INTEGER NOT NULL,
    schedule TEXT,
    compensated TEXT,
    -- The folded text that a search looks in.
    search TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX workflows_by_tenant ON workflows (tenant_id, workflow_id);
  CREATE INDEX workflows_by_intent ON workflows (intent_id);
  -- Each list of a tenant is read off an index in its own order, whatever it selects by.
  CREATE INDEX workflows_newest ON workflows (tenant_id, created_at, workflow_id, search);
  CREATE INDEX workflows_newest_by_state ON workflows (tenant_id, state, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_type ON workflows (tenant_id, intent_type, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_principal ON workflows (tenant_id, principal_id, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_thread ON workflows (tenant_id, thread_id, created_at, workflow_id)
    WHERE thread_id IS NOT NULL;
  CREATE INDEX workflows_newest_by_schedule ON workflows (tenant_id, schedule, created_at, workflow_id)
    WHERE schedule IS NOT NULL;
  CREATE INDEX workflows_held ON workflows (owner) WHERE owner IS NOT NULL;
  CREATE INDEX workflows_due ON workflows (due_at)
    WHERE owner IS NULL AND due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled');
  CREATE INDEX workflows_abandoned ON workflows (coalesce(due_at, 0))
    WHERE owner IS NULL AND state IN ('accepted', 'planned', 'running');

  -- An owner holds its leases as long as it is alive: renewing them touches this one row.
  CREATE TABLE owners (owner TEXT PRIMARY KEY, session TEXT NOT NULL, expires_at REAL NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE gates (
    workflow_id TEXT NOT NULL,
    gate_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    record TEXT NOT NULL,
    operator TEXT,
    due_at REAL,
    -- The gate as lists show it; NULL where that is the record itself.
    listed TEXT,
    opened_at REAL NOT NULL,
    intent_type TEXT NOT NULL,
    principal_id TEXT,
    risk TEXT NOT NULL,
    -- The workflows above its own, each on a line; who may decide, as JSON; the folded text that a search looks in.
    above TEXT NOT NULL,
    seat TEXT NOT NULL,
    search TEXT NOT NULL,
    PRIMARY KEY (workflow_id, gate_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX gates_by_tenant ON gates (tenant_id, workflow_id, gate_id);
  -- Each order, and the people, with all that a list selects by: a record is read for a gate of the page only.
  CREATE INDEX gates_newest ON gates (tenant_id, workflow_id DESC, gate_id, ${listedBy});
  CREATE INDEX gates_opened ON gates (tenant_id, opened_at, workflow_id, gate_id, ${listedBy});
  CREATE INDEX gates_due ON gates (tenant_id, ${dueOrder}, workflow_id, gate_id, ${listedBy});
  CREATE INDEX gates_seats ON gates (tenant_id, ${listedBy}, workflow_id);

  -- The workflows that begin nothing, as a whole (step_id '') or in one step, and who holds them: 'pause', or a halt.
  CREATE TABLE holds (
    workflow_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    holder TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    PRIMARY KEY (workflow_id, step_id, holder)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX holds_by_halt ON holds (holder, workflow_id) WHERE holder <> 'pause';

  -- All halts that were ever set, as few as people give orders; position is that of the newest change.
  CREATE TABLE halts (
    halt_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    record TEXT NOT NULL,
    lifted INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX halts_changed ON halts (tenant_id, position);

  -- Grants that are not revoked. covers: the workflow whose calls one covers, or '' for all work of its tenant.
  CREATE TABLE grants (
    grant_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    operator TEXT NOT NULL,
    covers TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX grants_given ON grants (tenant_id, grant_id);
  CREATE INDEX grants_covering ON grants (tenant_id, operator, covers, grant_id);

  -- Orders that name stand-ins and were not ended; author and deputy are [type, id] as text, times are epoch ms.
  CREATE TABLE stand_ins (
    stand_in_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    author TEXT NOT NULL,
    deputy TEXT NOT NULL,
    from_at REAL NOT NULL,
    until_at REAL NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX stand_ins_named ON stand_ins (tenant_id, stand_in_id);
  CREATE INDEX stand_ins_of_deputy ON stand_ins (tenant_id, deputy, stand_in_id);

  -- The workflows that wait in a queue (place 'waiting') or for newer requests ('upcoming'), or have a place ('taken').
  -- A lower rank comes first.
  CREATE TABLE queue_entries (
    workflow_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    line TEXT NOT NULL,
    place TEXT NOT NULL,
    rank INTEGER NOT NULL,
    since REAL NOT NULL,
    concurrency INTEGER NOT NULL,
    rate_limit INTEGER,
    rate_per REAL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX queue_lines ON queue_entries (line, place, rank, since, workflow_id);
  CREATE INDEX queue_rated ON queue_entries (line) WHERE place = 'waiting' AND rate_limit IS NOT NULL;

  -- The newest order on the limits of each queue: of the lines whose texts are between the two.
  CREATE TABLE queue_limits (
    line_from TEXT PRIMARY KEY,
    line_to TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    concurrency INTEGER,
    rate_limit INTEGER,
    rate_per REAL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The places that were taken in lines with a rate, until their time is over.
  CREATE TABLE queue_admissions (
    line TEXT NOT NULL,
    at REAL NOT NULL,
    until REAL NOT NULL,
    workflow_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (line, at, workflow_id, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX queue_admissions_over ON queue_admissions (until);

  CREATE TABLE keys (
    tenant_id TEXT NOT NULL,
    key TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key)
  ) STRICT, WITHOUT ROWID;

  -- The newest entry of each key; earlier ones are in the log. thread_id is '' for an entry of the whole tenant.
  CREATE TABLE memory (
    tenant_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (tenant_id, key, thread_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX memory_newest ON memory (tenant_id, position, ordinal);
  CREATE INDEX memory_newest_of_thread ON memory (tenant_id, thread_id, position, ordinal);

  -- The newest record of each document; earlier ones are in the log.
  CREATE TABLE documents (
    tenant_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (tenant_id, document_id)
  ) STRICT, WITHOUT ROWID;

  -- What parked steps wait for: the event of a name and a key, or the workflow whose id is the key.
  CREATE TABLE waits (
    workflow_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    since REAL NOT NULL,
    PRIMARY KEY (workflow_id, step_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX waits_by_key ON waits (tenant_id, source, name, key, since);
  CREATE INDEX waits_by_source ON waits (source, since);

  -- Events from outside, and the workflow whose step took one.
  CREATE TABLE received_events (
    tenant_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    record TEXT NOT NULL,
    expires_at REAL NOT NULL,
    position INTEGER NOT NULL,
    taken_by TEXT,
    PRIMARY KEY (tenant_id, event_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX received_by_key ON received_events (tenant_id, name, key, position) WHERE taken_by IS NULL;
  CREATE INDEX received_kept ON received_events (expires_at) WHERE taken_by IS NULL;

  -- Where each schedule stands, and the workflow whose end it awaits.
  CREATE TABLE schedules (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    intent_type TEXT NOT NULL,
    due_at REAL,
    awaits TEXT,
    definition TEXT NOT NULL,
    standing TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX schedules_awaiting ON schedules (awaits) WHERE awaits IS NOT NULL;

  -- The events of each schedule, by their sequence in the log of its tenant.
  CREATE TABLE schedule_entries (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at REAL NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name, sequence)
  ) STRICT, WITHOUT ROWID;

  -- The decisions of people at gates, each by its event; record is the decision without its place.
  CREATE TABLE decisions (
    workflow_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    tenant_id TEXT NOT NULL,
    at REAL NOT NULL,
    principal_id TEXT NOT NULL,
    act TEXT NOT NULL,
    intent_type TEXT NOT NULL,
    operator TEXT NOT NULL,
    search TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (workflow_id, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX decisions_newest ON decisions (tenant_id, at, workflow_id, sequence, ${historyBy});
  CREATE INDEX decisions_of_person ON decisions (tenant_id, principal_id, at, workflow_id, sequence);

  -- The position of the last write that a context built for this tenant (thread_id '') or thread could notice.
  CREATE TABLE counters (
    tenant_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, thread_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- Totals of the budget counters: a projection of BUDGET_ events, written with them. Tenant 'null' stands for all.
  CREATE TABLE charges (
    tenant_id TEXT NOT NULL,
    counter TEXT NOT NULL,
    tokens REAL NOT NULL,
    money REAL NOT NULL,
    invocations REAL NOT NULL,
    wall_ms REAL NOT NULL,
    PRIMARY KEY (tenant_id, counter)
  ) STRICT, WITHOUT ROWID;

  -- Login codes and sessions of browsers, by digest. No index: the log does not tell of them.
  CREATE TABLE sessions (
    ordinal INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    holder TEXT NOT NULL,
    caller TEXT NOT NULL,
    born_at REAL NOT NULL,
    used_at REAL NOT NULL,
    ends_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX sessions_by_use ON sessions (kind, used_at, ordinal);

  -- Addresses that clients have notified of their tasks, and how far each was told. No index, either.
  CREATE TABLE pushes (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- What people are still to be told of gates, and how far each notifier has come in the log. No index, either.
  CREATE TABLE notifiers (name TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE deliveries (
    ordinal INTEGER PRIMARY KEY,
    notifier TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    gate_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    sequence INTEGER,
    at REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When it may be taken; who has taken it has moved this to the end of the lease.
    next_at REAL NOT NULL,
    owner TEXT,
    settled_at REAL,
    error TEXT,
    receipt TEXT,
    UNIQUE (notifier, delivery_id)
  ) STRICT;
  CREATE INDEX deliveries_next ON deliveries (notifier, next_at, ordinal) WHERE state = 'pending';
  CREATE INDEX deliveries_of_gate ON deliveries (notifier, workflow_id, gate_id, at, ordinal) WHERE state = 'pending';
  CREATE INDEX deliveries_settled ON deliveries (notifier, state, settled_at) WHERE state <> 'pending';
  -- A notifier finds again what it has sent, by receipts such as the channel and the timestamp of a message.
  CREATE INDEX deliveries_receipts ON deliveries (notifier, workflow_id, gate_id, at, ordinal)
    WHERE receipt IS NOT NULL;
`;

export function readSchemaVersion(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}

/** Refuses a file of another schema. @throws KernelErrorException T0_LEDGER_FORMAT or T0_LEDGER_NEWER_SCHEMA. */
export function requireSchema(version: number, place: FailurePlace): void {
  if (version > schemaVersion)
    throw ledgerFailure(
      "T0_LEDGER_NEWER_SCHEMA",
      `has schema ${version}, newer than the known ${schemaVersion}`,
      place,
    );
  if (version < schemaVersion)
    throw ledgerFailure("T0_LEDGER_FORMAT", `has schema ${version}, older than the known ${schemaVersion}`, place);
}

/** Creates the tables in an empty database; does nothing, and takes no lock, if the database has a version. */
export function createTables(db: DatabaseSync): void {
  if (readSchemaVersion(db) > 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have created the tables while this one waited for the lock.
    if (readSchemaVersion(db) === 0)
      db.exec(`${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion};
        INSERT INTO meta VALUES ('schema_version', '${schemaVersion}')`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
