/**
 * The tables of a Postgres ledger, in a schema of their own.
 *
 * Owns: the schema, its version, and the base that positions are counted from (both in `meta`).
 * Never: changes the tables of an existing ledger; `npm run convert` writes its events into a new one.
 * 1.  The tables are created in one transaction, under a lock that every creator takes first.
 */
import type { ClientBase } from "pg";
import { type FailurePlace, isRace, ledgerFailure } from "./failure.ts";
import { raisePositions } from "./position.ts";
import { columnOf, scalar } from "./query.ts";
import { tables } from "./tables.ts";

/** The version of the schema. Earlier versions held rows of formats that are no longer read. */
export const schemaVersion = 20;

const openers = 0x4353474e;

export interface Place {
  /** For messages. */
  readonly name: string;
  readonly schema: string;
  readonly create: boolean;
}

/** Creates the ledger if the schema holds none; takes no lock if it is there already. */
export async function openSchema(client: ClientBase, place: Place): Promise<void> {
  await requireWritable(client, place);
  const version = await readVersion(client, place);
  if (version > 0) return raisePositions(client);
  if (!place.create)
    throw ledgerFailure("T0_LEDGER_UNAVAILABLE", "is not there: nothing was recorded in it yet", {
      ...place,
      fn: "open",
    });
  await create(client, place);
}

/** Creates the ledger; another creator may be in the way, and creation is then tried again. */
async function create(client: ClientBase, place: Place, triesLeft = 4): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [openers]);
    const isThere = await scalar(client, "SELECT 1 FROM pg_namespace WHERE nspname = $1", [place.schema]);
    if (isThere === null) await client.query(`CREATE SCHEMA "${place.schema}"`);
    await createTables(client, place);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    if (triesLeft === 0 || !isRace(error)) throw error;
    await create(client, place, triesLeft - 1);
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

/** Returns 0 if there is no ledger yet. @throws KernelErrorException if there is something else, or another schema. */
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

/** Refuses a ledger of another schema. @throws KernelErrorException T0_LEDGER_FORMAT or T0_LEDGER_NEWER_SCHEMA. */
export function requireKnownSchema(version: number, place: FailurePlace): void {
  if (version === schemaVersion) return;
  const [code, how] =
    version > schemaVersion ? (["T0_LEDGER_NEWER_SCHEMA", "newer"] as const) : (["T0_LEDGER_FORMAT", "older"] as const);
  throw ledgerFailure(code, `has schema ${version}, ${how} than the known ${schemaVersion}`, place);
}

async function createTables(client: ClientBase, place: Place): Promise<void> {
  // Another process may have created the tables while this one waited for the lock.
  if ((await readVersion(client, place)) > 0) return;
  await client.query(`CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL); ${tables}`);
  const put = "INSERT INTO meta VALUES ('schema_version', $1), ('position_base', '0')";
  await client.query(put, [String(schemaVersion)]);
}
