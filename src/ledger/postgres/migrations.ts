/**
 * The tables of a Postgres ledger, as numbered migrations in a schema of their own.
 *
 * Owns: the schema, its version, and the base that positions are counted from (both in `meta`).
 * Never: changes a migration that was released; a new need is a new number.
 * INV-1  All pending migrations are applied in one transaction, under a lock that every opener takes first.
 * INV-2  The database itself refuses to change, remove or truncate a row of `events`.
 * INV-3  Ids are compared byte by byte: in the order of every other store, whatever the database's language.
 * INV-4  What a host names is kept as JSON text: 1 and "1" are different, and no character is refused.
 */
import type { ClientBase } from "pg";
import { type FailurePlace, isRace, ledgerFailure } from "./failure.ts";
import { raisePositions } from "./position.ts";
import { columnOf, scalar } from "./query.ts";

interface Migration {
  readonly version: number;
  readonly sql: string;
}

const id = 'text COLLATE "C"';

// Queries in statements.ts repeat the expressions and conditions of indexes word for word, or Postgres would not use them.
// Tables whose rows are changed often leave room for it on a page.
const base: Migration = {
  version: 1,
  sql: `
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
      expires_at float8,
      principal_type text,
      title text,
      percent bigint
    ) WITH (fillfactor = 60);
    CREATE INDEX workflows_by_tenant ON workflows (tenant_id, workflow_id);
    CREATE INDEX workflows_by_thread ON workflows (tenant_id, thread_id, workflow_id) WHERE thread_id IS NOT NULL;
    CREATE INDEX workflows_by_intent ON workflows (intent_id);
    CREATE INDEX workflows_newest ON workflows (tenant_id, created_at, workflow_id);
    CREATE INDEX workflows_newest_by_state ON workflows (tenant_id, state, created_at, workflow_id);
    CREATE INDEX workflows_newest_by_type ON workflows (tenant_id, intent_type, created_at, workflow_id);
    CREATE INDEX workflows_newest_by_principal ON workflows (tenant_id, principal_id, created_at, workflow_id);
    CREATE INDEX workflows_due ON workflows (greatest(due_at, coalesce(expires_at, 0)), workflow_id)
      WHERE due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled');
    CREATE INDEX workflows_held ON workflows (owner, workflow_id) WHERE owner IS NOT NULL;
    CREATE INDEX workflows_abandoned ON workflows (greatest(coalesce(due_at, 0), coalesce(expires_at, 0)), workflow_id)
      WHERE state IN ('accepted', 'planned', 'running');

    CREATE TABLE gates (
      workflow_id ${id} NOT NULL,
      gate_id ${id} NOT NULL,
      tenant_id ${id} NOT NULL,
      record text NOT NULL,
      operator ${id},
      due_at float8,
      listed text,
      PRIMARY KEY (workflow_id, gate_id)
    );
    CREATE INDEX gates_by_tenant ON gates (tenant_id, workflow_id, gate_id);
    CREATE INDEX gates_newest ON gates (tenant_id, workflow_id DESC, gate_id);
    CREATE INDEX gates_newest_by_operator ON gates (tenant_id, operator, workflow_id DESC, gate_id);
    CREATE INDEX gates_due ON gates (tenant_id, due_at, workflow_id DESC, gate_id) WHERE due_at IS NOT NULL;

    -- digest: an index takes no key of more than some kB.
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

    -- What a context built for this tenant (thread_id '') or thread could notice: the last write's position, and how many.
    CREATE TABLE counters (
      tenant_id ${id} NOT NULL,
      thread_id ${id} NOT NULL,
      position bigint NOT NULL,
      changes bigint NOT NULL,
      PRIMARY KEY (tenant_id, thread_id)
    ) WITH (fillfactor = 60);

    -- Budget counters, in shares: who appends adds to one of them, so that few wait for one another.
    CREATE TABLE charges (
      tenant_id ${id} NOT NULL,
      counter ${id} NOT NULL,
      share smallint NOT NULL,
      tokens float8 NOT NULL,
      money float8 NOT NULL,
      invocations float8 NOT NULL,
      wall_ms float8 NOT NULL,
      PRIMARY KEY (tenant_id, counter, share)
    ) WITH (fillfactor = 60);

    -- Processes that are alive, each with the lock that its session holds.
    CREATE TABLE owners (owner ${id} PRIMARY KEY, lock bigint NOT NULL);

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
      UNIQUE (notifier, delivery_id)
    );
    CREATE INDEX deliveries_next ON deliveries (notifier, next_at, ordinal) WHERE state = 'pending';
    CREATE INDEX deliveries_of_gate ON deliveries (notifier, workflow_id, gate_id, at, ordinal) WHERE state = 'pending';
    CREATE INDEX deliveries_settled ON deliveries (notifier, state, settled_at) WHERE state <> 'pending';
  `,
};

/**
 * A lease is its owner's, who is alive or not: renewing it touches one row, whatever is held. `expires_at` is by the
 * database's clock; `lock` is that of a session, where there is one.
 */
const owners: Migration = {
  version: 2,
  sql: `
    DROP TABLE owners;
    CREATE TABLE owners (owner ${id} PRIMARY KEY, session ${id} NOT NULL, expires_at float8 NOT NULL, lock bigint)
      WITH (fillfactor = 60);
    INSERT INTO owners SELECT owner, '', max(expires_at) FROM workflows WHERE owner IS NOT NULL GROUP BY owner;
    DROP INDEX workflows_due;
    DROP INDEX workflows_abandoned;
    ALTER TABLE workflows DROP COLUMN expires_at;
    CREATE INDEX workflows_due ON workflows (due_at, workflow_id)
      WHERE owner IS NULL AND due_at IS NOT NULL AND state NOT IN ('completed', 'failed', 'cancelled');
    CREATE INDEX workflows_abandoned ON workflows (coalesce(due_at, 0::float8), workflow_id)
      WHERE owner IS NULL AND state IN ('accepted', 'planned', 'running');
  `,
};

/** What is left of a model endpoint is over all tenants: beside each tenant's counter of one stands that of all. */
const endpointsOfAll: Migration = {
  version: 3,
  sql: `
    INSERT INTO charges (tenant_id, counter, share, tokens, money, invocations, wall_ms)
      SELECT 'null', counter, 0, sum(tokens), sum(money), sum(invocations), sum(wall_ms)
      FROM charges WHERE counter LIKE 'endpoint:%' GROUP BY counter;
  `,
};

/** Money is decimal: sums of binary fractions are none. */
const exactMoney: Migration = {
  version: 4,
  sql: "ALTER TABLE charges ALTER COLUMN money TYPE numeric USING round(money::numeric, 6);",
};

/** What a notifier has sent is found again by its receipt, such as the channel and the timestamp of a message. */
const receipts: Migration = {
  version: 5,
  sql: `
    ALTER TABLE deliveries ADD COLUMN receipt text;
    CREATE INDEX deliveries_receipts ON deliveries (notifier, workflow_id, gate_id, at, ordinal) WHERE receipt IS NOT NULL;
  `,
};

const migrations: readonly Migration[] = [base, owners, endpointsOfAll, exactMoney, receipts];

/** The newest schema that this code reads and writes. */
export const schemaVersion = (migrations.at(-1) ?? base).version;

/** Whatever schema they are in, all who open a ledger of this database go one after another here. */
const openers = 0x4353474e;

export interface Place {
  /** For messages. */
  readonly name: string;
  readonly schema: string;
  readonly create: boolean;
}

/** Brings the ledger to `schemaVersion`, making it where there is none; takes no lock when it is there already. */
export async function migrate(client: ClientBase, place: Place): Promise<void> {
  await requireWritable(client, place);
  const version = await readVersion(client, place);
  if (version === schemaVersion) return raisePositions(client);
  if (version === 0 && !place.create)
    throw ledgerFailure("T0_LEDGER_UNAVAILABLE", "is not there: nothing was recorded in it yet", {
      ...place,
      fn: "open",
    });
  await apply(client, place);
}

/** Who works on tables that change may be in the way, and be waited for in turn: then it is done once more. */
async function apply(client: ClientBase, place: Place, triesLeft = 4): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [openers]);
    const isThere = await scalar(client, "SELECT 1 FROM pg_namespace WHERE nspname = $1", [place.schema]);
    if (isThere === null) await client.query(`CREATE SCHEMA "${place.schema}"`);
    await applyPending(client, place);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    if (triesLeft === 0 || !isRace(error)) throw error;
    await apply(client, place, triesLeft - 1);
  }
}

interface Standing {
  readonly replica: boolean;
  readonly encoding: string;
  /** False where the schema is there, and its tables cannot be seen: they would seem not to be. */
  readonly sees: boolean | null;
}

async function requireWritable(client: ClientBase, { name, schema }: Place): Promise<void> {
  const place = { name, fn: "open" };
  const { rows } = await client.query(
    `SELECT pg_is_in_recovery() AS replica, current_setting('server_encoding') AS encoding,
      has_schema_privilege(to_regnamespace($1)::oid, 'USAGE') AS sees`,
    [schema],
  );
  const { replica, encoding, sees } = rows[0] as Standing;
  if (sees === false) throw ledgerFailure("T0_LEDGER_FORBIDDEN", `does not let this role into schema ${schema}`, place);
  if (replica) throw ledgerFailure("T0_LEDGER_READ_ONLY", "is a replica; turns are written to the primary", place);
  if (encoding !== "UTF8")
    throw ledgerFailure("T0_LEDGER_NOT_A_DATABASE", `keeps text as ${encoding}; a ledger needs UTF8`, place);
}

/** 0 where there is no ledger yet. @throws KernelErrorException for what is no ledger, or a newer one. */
async function readVersion(client: ClientBase, { name, schema }: Place): Promise<number> {
  const place = { name, fn: "open" };
  const tables = await columnOf(client, "SELECT tablename FROM pg_tables WHERE schemaname = $1", [schema]);
  if (tables.length === 0) return 0;
  const isOurs = tables.includes("meta") && tables.includes("events");
  if (!isOurs)
    throw ledgerFailure(
      "T0_LEDGER_NOT_A_DATABASE",
      `is not a Countersign ledger: other tables are in schema ${schema}`,
      place,
    );
  const version = Number(await scalar(client, "SELECT value FROM meta WHERE name = 'schema_version'"));
  requireKnownSchema(version, place);
  return version;
}

/** What a newer release has migrated is not written by this one. @throws KernelErrorException T0_LEDGER_NEWER_SCHEMA. */
export function requireKnownSchema(version: number, place: FailurePlace): void {
  if (version <= schemaVersion) return;
  const reason = `has schema ${version}, newer than the known ${schemaVersion}`;
  throw ledgerFailure("T0_LEDGER_NEWER_SCHEMA", reason, place);
}

async function applyPending(client: ClientBase, place: Place): Promise<void> {
  // Read again: another process may have migrated while this one waited for the lock.
  const from = await readVersion(client, place);
  if (from === 0) await client.query("CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL)");
  for (const { version, sql } of migrations) if (version > from) await client.query(sql);
  const put = "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
  await client.query(put, ["schema_version", String(Math.max(from, schemaVersion))]);
  if (from === 0) await client.query(put, ["position_base", "0"]);
}
