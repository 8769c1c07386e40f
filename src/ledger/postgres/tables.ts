/**
 * The statements that create the tables of a Postgres ledger.
 *
 * 1.  The database itself refuses to change, remove or truncate a row of `events`.
 * 2.  Ids are compared byte by byte: in the order of every other store, whatever the database's language.
 * 3.  What a host names is kept as JSON text: 1 and "1" are different, and no character is refused.
 */
import { dueOrder } from "../tables/gate-queries.ts";
import { seatDigest } from "./gate-statements.ts";

const id = 'text COLLATE "C"';

// Queries in statements.ts repeat the expressions and conditions of indexes word for word, or Postgres would not use
// them. Tables whose rows are changed often leave room for it on a page.
export const tables = `
  CREATE TABLE events (
    position bigint PRIMARY KEY,
    stream ${id} NOT NULL,
    first_sequence bigint NOT NULL CHECK (first_sequence >= 1),
    last_sequence bigint NOT NULL CHECK (last_sequence >= first_sequence),
    tenant_id ${id} NOT NULL,
    envelope text NOT NULL,
    body text,
    body_hash text NOT NULL,
    prev_hash text NOT NULL,
    hash text NOT NULL,
    UNIQUE (stream, first_sequence)
  );
  CREATE FUNCTION keep_events() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the event log is append only'; END $$;
  CREATE TRIGGER events_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION keep_events();

  -- Where each stream stands. Its row is locked by who appends.
  CREATE TABLE streams (
    stream ${id} PRIMARY KEY,
    tenant_id ${id} NOT NULL,
    last_sequence bigint NOT NULL,
    hash text NOT NULL,
    position bigint NOT NULL
  ) WITH (fillfactor = 80);

  CREATE TABLE workflows (
    workflow_id ${id} PRIMARY KEY,
    tenant_id ${id} NOT NULL,
    thread_id ${id},
    principal_id ${id} NOT NULL,
    intent_id ${id} NOT NULL,
    intent_type ${id} NOT NULL,
    correlation_id ${id} NOT NULL,
    state ${id} NOT NULL,
    created_at float8 NOT NULL,
    updated_at float8 NOT NULL,
    due_at float8,
    owner ${id},
    epoch bigint NOT NULL,
    principal_type text NOT NULL,
    title text NOT NULL,
    percent bigint NOT NULL,
    schedule ${id},
    compensated text,
    search ${id} NOT NULL
  ) WITH (fillfactor = 60);
  CREATE INDEX workflows_by_tenant ON workflows (tenant_id, workflow_id);
  CREATE INDEX workflows_by_intent ON workflows (intent_id);
  CREATE INDEX workflows_newest ON workflows (tenant_id, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_state ON workflows (tenant_id, state, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_type ON workflows (tenant_id, intent_type, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_thread ON workflows (tenant_id, thread_id, created_at, workflow_id)
    WHERE thread_id IS NOT NULL;
  CREATE INDEX workflows_newest_by_principal ON workflows (tenant_id, principal_id, created_at, workflow_id);
  CREATE INDEX workflows_newest_by_schedule ON workflows (tenant_id, schedule, created_at, workflow_id)
    WHERE schedule IS NOT NULL;
  CREATE INDEX workflows_held ON workflows (owner, workflow_id) WHERE owner IS NOT NULL;
  CREATE INDEX workflows_due ON workflows (due_at, workflow_id)
    WHERE owner IS NULL AND due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled');
  CREATE INDEX workflows_abandoned ON workflows (coalesce(due_at, 0::float8), workflow_id)
    WHERE owner IS NULL AND state IN ('accepted', 'planned', 'running');

  CREATE TABLE gates (
    workflow_id ${id} NOT NULL,
    gate_id ${id} NOT NULL,
    tenant_id ${id} NOT NULL,
    record text NOT NULL,
    listed text,
    PRIMARY KEY (workflow_id, gate_id)
  );
  CREATE INDEX gates_by_tenant ON gates (tenant_id, workflow_id, gate_id);

  -- What lists of gates select by, in short rows: a search reads all of them.
  CREATE TABLE gate_lists (
    workflow_id ${id} NOT NULL,
    gate_id ${id} NOT NULL,
    tenant_id ${id} NOT NULL,
    operator ${id},
    due_at float8,
    opened_at float8 NOT NULL,
    intent_type ${id} NOT NULL,
    principal_id ${id},
    risk ${id} NOT NULL,
    above ${id} NOT NULL,
    seat ${id} NOT NULL,
    search ${id} NOT NULL,
    PRIMARY KEY (workflow_id, gate_id)
  );
  CREATE INDEX gates_newest ON gate_lists (tenant_id, workflow_id DESC, gate_id);
  CREATE INDEX gates_opened ON gate_lists (tenant_id, opened_at, workflow_id, gate_id);
  CREATE INDEX gates_due ON gate_lists (tenant_id, (${dueOrder}), workflow_id, gate_id);
  CREATE INDEX gates_seats ON gate_lists (tenant_id, (${seatDigest}));

  -- The workflows that begin nothing, as a whole (step_id '') or in one step, and who holds them: 'pause', or a halt.
  CREATE TABLE holds (
    workflow_id ${id} NOT NULL,
    step_id ${id} NOT NULL,
    holder ${id} NOT NULL,
    tenant_id ${id} NOT NULL,
    PRIMARY KEY (workflow_id, step_id, holder)
  );
  CREATE INDEX holds_by_halt ON holds (holder, workflow_id) WHERE holder <> 'pause';

  -- All halts that were ever set, as few as people give orders; position is that of the newest change.
  CREATE TABLE halts (
    halt_id ${id} PRIMARY KEY,
    tenant_id ${id} NOT NULL,
    position bigint NOT NULL,
    record text NOT NULL,
    lifted bigint NOT NULL
  );
  CREATE INDEX halts_changed ON halts (tenant_id, position);

  -- Grants that are not revoked. covers: the workflow whose calls one covers, or '' for all work of its tenant.
  CREATE TABLE grants (
    grant_id ${id} PRIMARY KEY, tenant_id ${id} NOT NULL, operator ${id} NOT NULL, covers ${id} NOT NULL,
    record text NOT NULL
  );
  CREATE INDEX grants_given ON grants (tenant_id, grant_id);
  CREATE INDEX grants_covering ON grants (tenant_id, operator, covers, grant_id);

  -- Orders that name stand-ins and were not ended; author and deputy are [type, id] as text, times are epoch ms.
  CREATE TABLE stand_ins (
    stand_in_id ${id} PRIMARY KEY, tenant_id ${id} NOT NULL, author ${id} NOT NULL, deputy ${id} NOT NULL,
    from_at float8 NOT NULL, until_at float8 NOT NULL, record text NOT NULL
  );
  CREATE INDEX stand_ins_named ON stand_ins (tenant_id, stand_in_id);
  CREATE INDEX stand_ins_of_deputy ON stand_ins (tenant_id, deputy, stand_in_id);

  -- digest: an index takes no key of more than some kB.
  -- The workflows that wait in a queue (place 'waiting') or have a place in it ('taken'). A lower rank comes first.
  CREATE TABLE queue_entries (
    workflow_id ${id} PRIMARY KEY,
    tenant_id ${id} NOT NULL,
    line ${id} NOT NULL,
    place ${id} NOT NULL,
    rank bigint NOT NULL,
    since float8 NOT NULL,
    concurrency bigint NOT NULL,
    rate_limit bigint,
    rate_per float8
  ) WITH (fillfactor = 60);
  CREATE INDEX queue_lines ON queue_entries (line, place, rank, since, workflow_id);
  CREATE INDEX queue_rated ON queue_entries (line) WHERE place = 'waiting' AND rate_limit IS NOT NULL;

  -- The newest order on the limits of each queue: of the lines whose texts are between the two.
  CREATE TABLE queue_limits (
    line_from ${id} PRIMARY KEY,
    line_to ${id} NOT NULL,
    tenant_id ${id} NOT NULL, name ${id} NOT NULL,
    position bigint NOT NULL,
    concurrency bigint, rate_limit bigint, rate_per float8,
    record text NOT NULL
  );

  -- The places that were taken in lines with a rate, until their time is over.
  CREATE TABLE queue_admissions (
    line ${id} NOT NULL,
    at float8 NOT NULL,
    until float8 NOT NULL,
    workflow_id ${id} NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (line, at, workflow_id, sequence)
  );
  CREATE INDEX queue_admissions_over ON queue_admissions (until);

  CREATE TABLE keys (
    tenant_id ${id} NOT NULL,
    digest ${id} NOT NULL,
    key ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    action_id ${id} NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (tenant_id, digest)
  );

  -- The newest entry of each key; earlier ones are in the log. thread_id is '' for an entry of the whole tenant.
  CREATE TABLE memory (
    tenant_id ${id} NOT NULL,
    thread_id ${id} NOT NULL,
    digest ${id} NOT NULL,
    key ${id} NOT NULL,
    position bigint NOT NULL,
    ordinal bigint NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (tenant_id, digest, thread_id)
  );
  CREATE INDEX memory_newest ON memory (tenant_id, position, ordinal);
  CREATE INDEX memory_newest_of_thread ON memory (tenant_id, thread_id, position, ordinal);

  CREATE TABLE documents (
    tenant_id ${id} NOT NULL,
    document_id ${id} NOT NULL,
    position bigint NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (tenant_id, document_id)
  );

  -- What parked steps wait for: the event of a name and a key, or the workflow whose id is the key.
  CREATE TABLE waits (
    workflow_id ${id} NOT NULL,
    step_id ${id} NOT NULL,
    tenant_id ${id} NOT NULL,
    source ${id} NOT NULL,
    name ${id} NOT NULL,
    key ${id} NOT NULL,
    since float8 NOT NULL,
    PRIMARY KEY (workflow_id, step_id)
  );
  CREATE INDEX waits_by_key ON waits (tenant_id, source, name, key, since);
  CREATE INDEX waits_by_source ON waits (source, since);

  -- Events from outside, and the workflow whose step took one.
  CREATE TABLE received_events (
    tenant_id ${id} NOT NULL,
    event_id ${id} NOT NULL,
    name ${id} NOT NULL,
    key ${id} NOT NULL,
    record text NOT NULL,
    expires_at float8 NOT NULL,
    position bigint NOT NULL,
    taken_by ${id},
    PRIMARY KEY (tenant_id, event_id)
  );
  CREATE INDEX received_by_key ON received_events (tenant_id, name, key, position) WHERE taken_by IS NULL;
  CREATE INDEX received_kept ON received_events (expires_at) WHERE taken_by IS NULL;

  -- Where each schedule stands, and the workflow whose end it awaits.
  CREATE TABLE schedules (
    tenant_id ${id} NOT NULL,
    name ${id} NOT NULL,
    intent_type ${id} NOT NULL,
    due_at float8,
    awaits ${id},
    definition text NOT NULL,
    standing text NOT NULL,
    PRIMARY KEY (tenant_id, name)
  ) WITH (fillfactor = 60);
  CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX schedules_awaiting ON schedules (awaits) WHERE awaits IS NOT NULL;

  -- The events of each schedule, by their sequence in the log of its tenant.
  CREATE TABLE schedule_entries (
    tenant_id ${id} NOT NULL,
    name ${id} NOT NULL,
    sequence bigint NOT NULL,
    at float8 NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (tenant_id, name, sequence)
  );

  -- The decisions of people at gates, each by its event; record is the decision without its place.
  CREATE TABLE decisions (
    workflow_id ${id} NOT NULL,
    sequence bigint NOT NULL,
    tenant_id ${id} NOT NULL,
    at float8 NOT NULL,
    principal_id ${id} NOT NULL,
    act ${id} NOT NULL,
    intent_type ${id} NOT NULL,
    operator ${id} NOT NULL,
    search ${id} NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (workflow_id, sequence)
  );
  CREATE INDEX decisions_newest ON decisions (tenant_id, at, workflow_id, sequence);
  CREATE INDEX decisions_of_person ON decisions (tenant_id, principal_id, at, workflow_id, sequence);

  -- The changes that a context of this tenant (thread_id '') or thread depends on: the last write's position, and
  -- their number.
  CREATE TABLE counters (
    tenant_id ${id} NOT NULL,
    thread_id ${id} NOT NULL,
    position bigint NOT NULL,
    changes bigint NOT NULL,
    PRIMARY KEY (tenant_id, thread_id)
  ) WITH (fillfactor = 60);

  -- Budget counters, in shares: each appender adds to one of them, so that few wait for one another. Tenant 'null'
  -- stands for all tenants. Money is decimal, because sums of binary fractions are not exact.
  CREATE TABLE charges (
    tenant_id ${id} NOT NULL,
    counter ${id} NOT NULL,
    share smallint NOT NULL,
    tokens float8 NOT NULL,
    money numeric NOT NULL,
    invocations float8 NOT NULL,
    wall_ms float8 NOT NULL,
    PRIMARY KEY (tenant_id, counter, share)
  ) WITH (fillfactor = 60);

  -- An owner holds its leases as long as it is alive: renewing them touches this one row. expires_at is by the
  -- database's clock; lock is the lock of the owner's session, if it has one.
  CREATE TABLE owners (owner ${id} PRIMARY KEY, session ${id} NOT NULL, expires_at float8 NOT NULL, lock bigint)
    WITH (fillfactor = 60);

  CREATE TABLE sessions (
    ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name ${id} NOT NULL UNIQUE,
    kind ${id} NOT NULL,
    holder ${id} NOT NULL,
    caller text NOT NULL,
    born_at float8 NOT NULL,
    used_at float8 NOT NULL,
    ends_at float8 NOT NULL
  );
  CREATE INDEX sessions_by_use ON sessions (kind, used_at, ordinal);

  CREATE TABLE pushes (key ${id} PRIMARY KEY, record text NOT NULL);

  CREATE TABLE notifiers (name ${id} PRIMARY KEY, position bigint NOT NULL);
  CREATE TABLE deliveries (
    ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notifier ${id} NOT NULL,
    delivery_id ${id} NOT NULL,
    tenant_id ${id} NOT NULL,
    workflow_id ${id} NOT NULL,
    gate_id ${id} NOT NULL,
    kind ${id} NOT NULL,
    sequence bigint,
    at float8 NOT NULL,
    state ${id} NOT NULL DEFAULT 'pending',
    attempts bigint NOT NULL DEFAULT 0,
    next_at float8 NOT NULL,
    owner ${id},
    settled_at float8,
    error text,
    receipt text,
    UNIQUE (notifier, delivery_id)
  );
  CREATE INDEX deliveries_next ON deliveries (notifier, next_at, ordinal) WHERE state = 'pending';
  CREATE INDEX deliveries_of_gate ON deliveries (notifier, workflow_id, gate_id, at, ordinal) WHERE state = 'pending';
  CREATE INDEX deliveries_settled ON deliveries (notifier, state, settled_at) WHERE state <> 'pending';
  -- A notifier finds again what it has sent, by receipts such as the channel and the timestamp of a message.
  CREATE INDEX deliveries_receipts ON deliveries (notifier, workflow_id, gate_id, at, ordinal)
    WHERE receipt IS NOT NULL;
`;

/** All who open a ledger of this database take turns here, whatever the schema. */
