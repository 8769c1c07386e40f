/**
 * The ledger in a schema of a Postgres database: the store for more than one process on more than one machine.
 *
 * Owns: the options and their defaults.
 * Never: loads the driver before `open`, so that the package can be imported without it.
 * 1.  The schema is the ledger's alone: it is made when it is not there, and refused when others' tables are in it.
 *     Neighbours: store.ts is the port's face, connect.ts connects, append.ts writes.
 */
import { z } from "zod";
import { hostObject, objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { ConnectOptions } from "./connect.ts";
import { createStore, type PostgresLedger } from "./store.ts";

export { type HostClient, hostTransaction, hostTransactionTable, type TransactionPool } from "./host-transaction.ts";
export { type PostgresRolesOptions, postgresRoles } from "./roles.ts";
export type { PostgresLedger };

/** A pool of the package `pg`. Its configuration is used; its connections are the host's own. */
export interface HostPool {
  /** The options that the pool was made with. */
  readonly options: object;
}

const Options = z
  .strictObject({
    /**
     * `postgres://user:password@host:port/database`; missing parts come from the environment (PGUSER, PGPASSWORD …).
     */
    url: z.string().optional(),
    /** The pool whose configuration is used instead of `url`. */
    pool: hostObject<HostPool>({ options: objectWith() }).optional(),
    /** `countersign` when absent: lower case letters, digits and underscores. */
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/)
      .default("countersign"),
    /** False: refused where there is no ledger yet. */
    create: z.boolean().default(true),
    /** The number of connections besides the appending one, 2 or more; 4 by default. */
    maxConnections: z.int().min(2).default(4),
    /** The time to wait for the server, a lock or an answer, in ms; 10,000 by default. */
    timeoutMs: z.int().positive().default(10_000),
  })
  .refine(({ url, pool }) => (url === undefined) !== (pool === undefined), "takes either a url or a pool");

/** The database, by `url` or `pool`, and the schema. */
export interface PostgresLedgerOptions extends Readonly<z.input<typeof Options>> {}

const reading = { what: "postgresLedger", source: moduleRef(0, "ledger", "postgresLedger") };

/** Creates a ledger store in a schema of a database. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function postgresLedger(options: PostgresLedgerOptions): PostgresLedger {
  const { url, pool, ...given } = readStrictly(Options, options, reading);
  const config = pool === undefined ? configIn(url as string) : configOf(pool);
  return createStore({ ...given, config, name: nameOf(url, given.schema) });
}

/** Reads a URL. Options of a session are added to those of the ledger; the driver would take only one of them. */
function configIn(text: string): ConnectOptions["config"] {
  const url = URL.parse(text);
  const options = url?.searchParams.get("options");
  if (url === null || options == null) return { connectionString: text };
  url.searchParams.delete("options");
  return { connectionString: url.href, options };
}

/** Returns the configuration of a pool, which hides its password from enumeration. */
const configOf = ({ options }: HostPool): ConnectOptions["config"] => ({
  ...options,
  ...("password" in options ? { password: options.password as string } : {}),
});

/** Returns the name without user and password. */
function nameOf(url: string | undefined, schema: string): string {
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed === null ? schema : `${parsed.host}${parsed.pathname}/${schema}`;
}
