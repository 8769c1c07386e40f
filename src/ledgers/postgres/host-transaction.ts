/**
 * An operator's writes to the host's own tables, exactly once: they are committed together with the key of the call.
 *
 * Owns: the order of the transaction. Works with any ledger: the tables may be in another database than it.
 * Never: makes the table of keys (`hostTransactionTable` is for the host's own migrations), or forgets a key.
 * INV-1  Of calls under one key, in whatever processes, one takes effect, and each gives its result.
 * INV-2  What is aborted, or throws, is rolled back with its key: the same call may be made again.
 */
import type { OperatorCall } from "../../contract/operator.ts";

/** What keys and results are kept in: to be made once where the host's tables are. */
export const hostTransactionTable = `CREATE TABLE IF NOT EXISTS countersign_effects (
  key text PRIMARY KEY,
  result text,
  at timestamptz NOT NULL DEFAULT now()
)`;

/** A connection of the package `pg`, inside the transaction. */
export interface HostClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

/** A pool of the package `pg`, as far as it is used here. */
export interface TransactionPool<Client extends HostClient = HostClient> {
  connect(): Promise<Client & { release(destroy?: boolean): void }>;
}

/**
 * What `run` writes to the host's tables, the call's key and its result (as JSON) are one transaction: there once, however
 * often the call is made. @returns what `defineOperator` takes as `run`; the operator may say `idempotent: true`.
 */
export function hostTransaction<Client extends HostClient, I = never, O = unknown>(
  pool: TransactionPool<Client>,
  run: (tx: Client, call: OperatorCall<I>) => O | Promise<O>,
): (call: OperatorCall<I>) => Promise<O> {
  return async (call) => {
    const { signal } = call;
    signal.throwIfAborted();
    const client = await pool.connect();
    let isReleased = false;
    const release = (destroy: boolean): void => {
      signal.removeEventListener("abort", abort);
      if (!isReleased) client.release(destroy);
      isReleased = true;
    };
    // The server rolls back what loses its connection.
    const abort = (): void => release(true);
    signal.addEventListener("abort", abort, { once: true });
    try {
      const result = await runOnce(client, call, run);
      release(false);
      return result;
    } catch (error) {
      if (!isReleased) await client.query("ROLLBACK").catch(() => undefined);
      release(false);
      throw error;
    }
  };
}

async function runOnce<Client extends HostClient, I, O>(
  client: Client,
  call: OperatorCall<I>,
  run: (tx: Client, call: OperatorCall<I>) => O | Promise<O>,
): Promise<O> {
  const { idempotencyKey: key, signal } = call;
  await client.query("BEGIN");
  // Waits for whoever makes the same call just now.
  const put = await client.query("INSERT INTO countersign_effects (key) VALUES ($1) ON CONFLICT DO NOTHING", [key]);
  if (put.rowCount === 0) {
    const kept = await client.query("SELECT result FROM countersign_effects WHERE key = $1", [key]);
    await client.query("COMMIT");
    return readResult<O>((kept.rows[0] as { readonly result: string | null }).result);
  }
  const result = await run(client, call);
  signal.throwIfAborted();
  await client.query("UPDATE countersign_effects SET result = $2 WHERE key = $1", [
    key,
    JSON.stringify(result) ?? null,
  ]);
  await client.query("COMMIT");
  return result;
}

/** An operator may give nothing. */
const readResult = <O>(text: string | null): O => (text === null ? undefined : JSON.parse(text)) as O;
