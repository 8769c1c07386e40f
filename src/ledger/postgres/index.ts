/**
 * The ledger in a schema of a Postgres database: the store for more than one process on more than one machine.
 *
 * Owns: the options and their defaults.
 * Never: loads the driver before `open`, so that the package can be imported without it.
 * 1.  The schema is the ledger's alone: it is made when it is not there, and refused when others' tables are in it.
 *     Neighbours: store.ts is the port's face, connect.ts connects, append.ts writes.
 */
import { z } from "zod";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type KeysOf, readStrictly } from "../../contract/known-keys.ts";
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

/** The database, by `url` or `pool`, and the schema. */
export interface PostgresLedgerOptions {
  /** `postgres://user:password@host:port/database`; missing parts come from the environment (PGUSER, PGPASSWORD …). */
  readonly url?: string;
  /** The pool whose configuration is used instead of `url`. */
  readonly pool?: HostPool;
  /** `countersign` when absent: lower case letters, digits and underscores. */
  readonly schema?: string;
  /** False: refused where there is no ledger yet. */
  readonly create?: boolean;
  /** The number of connections besides the appending one, 2 or more; 4 by default. */
  readonly maxConnections?: number;
  /** The time to wait for the server, a lock or an answer, in ms; 10,000 by default. */
  readonly timeoutMs?: number;
}

const source = moduleRef(0, "ledger", "postgresLedger");
const what = "postgresLedger";

const Options = z.strictObject({
  url: z.string().optional(),
  pool: z.custom<HostPool>((value) => typeof value === "object" && value !== null && "options" in value).optional(),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .default("countersign"),
  create: z.boolean().default(true),
  maxConnections: z.int().min(2).default(4),
  timeoutMs: z.int().positive().default(10_000),
} satisfies KeysOf<PostgresLedgerOptions>);

/** Creates a ledger store in a schema of a database. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function postgresLedger(options: PostgresLedgerOptions): PostgresLedger {
  const { url, pool, ...given } = readStrictly(Options, options, { what, source });
  if ((url === undefined) === (pool === undefined))
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${what} takes either a url or a pool`, source));
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
