/**
 * The ledger in a schema of a Postgres database: the store for more than one process on more than one machine.
 *
 * Owns: the options and what they are when absent.
 * Never: loads the driver before `open`, so that the package can be imported where nobody needs a database.
 * 1.  The schema is the ledger's alone: it is made when it is not there, and refused when others' tables are in it.
 * Neighbours: store.ts is the port's face, connect.ts connects, append.ts writes.
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
  /** What the pool was made with. */
  readonly options: object;
}

/** Which database, by `url` or `pool`, and in which schema. */
export interface PostgresLedgerOptions {
  /** `postgres://user:password@host:port/database`; what it leaves out comes from the environment (PGUSER, PGPASSWORD …). */
  readonly url?: string;
  /** In place of `url`: connects as this pool does. */
  readonly pool?: HostPool;
  /** `countersign` when absent: lower case letters, digits and underscores. */
  readonly schema?: string;
  /** False: refused where there is no ledger yet. */
  readonly create?: boolean;
  /** Connections beside the one that appends, 2 or more; 4 when absent. */
  readonly maxConnections?: number;
  /** How long to wait for the server, a lock or an answer, in ms; 10,000 when absent. */
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

/** A ledger store in a schema of a database. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function postgresLedger(options: PostgresLedgerOptions): PostgresLedger {
  const { url, pool, ...given } = readStrictly(Options, options, { what, source });
  if ((url === undefined) === (pool === undefined))
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${what} takes either a url or a pool`, source));
  const config = pool === undefined ? configIn(url as string) : configOf(pool);
  return createStore({ ...given, config, name: nameOf(url, given.schema) });
}

/** Options of a session stand beside those of the ledger; the driver would take either. */
function configIn(text: string): ConnectOptions["config"] {
  const url = URL.parse(text);
  const options = url?.searchParams.get("options");
  if (url === null || options == null) return { connectionString: text };
  url.searchParams.delete("options");
  return { connectionString: url.href, options };
}

/** A pool hides its password from who lists its options. */
const configOf = ({ options }: HostPool): ConnectOptions["config"] => ({
  ...options,
  ...("password" in options ? { password: options.password as string } : {}),
});

/** Without user and password. */
function nameOf(url: string | undefined, schema: string): string {
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed === null ? schema : `${parsed.host}${parsed.pathname}/${schema}`;
}
