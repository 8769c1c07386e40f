/**
 * Short ways to ask Postgres.
 *
 * Owns: named statements, and several of them sent at once.
 * 1.  Of statements that are sent at once, all have ended when the promise settles.
 */
import type { ClientBase, QueryResult } from "pg";
import type { Columns } from "../tables/columns.ts";

export type Value = string | number | boolean | null | readonly (string | number | boolean | null)[];

/** A statement with its values; one with a name is prepared once a connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly Value[];
}

/** A connection, or a pool of connections, that runs statements. */
export interface Runner {
  query(statement: Statement): Promise<QueryResult>;
}

export async function rowsOf(runner: Runner, statement: Statement): Promise<readonly Columns[]> {
  return (await runner.query(statement)).rows as readonly Columns[];
}

export const firstOf = async (runner: Runner, statement: Statement): Promise<Columns | undefined> =>
  (await rowsOf(runner, statement))[0];

/** Sends all statements at once, to a connection that pipelines. @throws the error of the first that failed. */
export async function sendAll(client: Runner, statements: readonly Statement[]): Promise<readonly QueryResult[]> {
  const ends = await Promise.allSettled(statements.map((statement) => client.query(statement)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return ends.map((end) => (end as PromiseFulfilledResult<QueryResult>).value);
}

/** Runs a body in a transaction: all of it or nothing. */
export async function transact<T>(client: Runner, body: () => Promise<T>, begin = "BEGIN"): Promise<T> {
  await client.query({ text: begin });
  try {
    const value = await body();
    await client.query({ text: "COMMIT" });
    return value;
  } catch (error) {
    await client.query({ text: "ROLLBACK" }).catch(() => undefined);
    throw error;
  }
}

/** Returns the only column of all rows. */
export async function columnOf(client: ClientBase, text: string, values: readonly Value[] = []): Promise<unknown[]> {
  const { rows } = await client.query({ text, values: [...values], rowMode: "array" });
  return (rows as unknown[][]).map(([value]) => value);
}

/** Returns the only column of the only row; null if there is none. */
export const scalar = async (client: ClientBase, text: string, values: readonly Value[] = []): Promise<unknown> =>
  (await columnOf(client, text, values))[0] ?? null;
