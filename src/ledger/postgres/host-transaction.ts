/**
 * An operator's writes to the host's own tables, exactly once: they are committed together with the key of the call.
 *
 * Owns: the order of the transaction. Works with any ledger: the tables may be in another database than it.
 * Never: makes the table of keys (`hostTransactionTable` is for the host's own migrations), or forgets a key.
 * 1.  Of calls under one key, in any processes, one takes effect, and each returns its result.
 * 2.  A call that is aborted, or throws, is rolled back with its key: the same call may be made again.
 * 3.  A connection that ends while it is lent fails the call, and nothing else; if it is lost in its COMMIT, the key
 *     shows the result.
 */
import type { OperatorCall } from "../../contract/operator.ts";

/** The table of keys and results: create it once in the database of the host's tables. */
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
  /** Reports each connection before it is lent. */
  on?(event: "acquire", listener: (client: { on(event: "error", listener: () => void): unknown }) => void): unknown;
}

/**
 * Makes one transaction of the writes of `run` to the host's tables, the call's key and its result (as JSON): it takes
 * effect once, however often the call is made. @returns a function for `run` of `defineOperator`; the operator may be
 * `idempotent: true`.
 */
export function hostTransaction<Client extends HostClient, I = never, O = unknown>(
  pool: TransactionPool<Client>,
  run: (tx: Client, call: OperatorCall<I>) => O | Promise<O>,
): (call: OperatorCall<I>) => Promise<O> {
  return async (call) => {
    const { signal, idempotencyKey: key } = call;
    signal.throwIfAborted();
    const { client, giveBack } = await borrow(pool);
    // The server rolls back the transaction of a lost connection.
    const abort = (): void => giveBack(true);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      const result = await runOnce(client, call, run);
      giveBack(false);
      return result;
    } catch (error) {
      const isUndone = await undo(client);
      giveBack(!isUndone);
      const kept = isUndone || signal.aborted ? null : await findKept<O>(pool, key);
      if (kept === null) throw error;
      return kept.result;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  };
}

interface Borrowed<Client> {
  readonly client: Client;
  /** Returns the connection once; later calls have no effect. */
  readonly giveBack: (destroy: boolean) => void;
}

async function borrow<Client extends HostClient>(pool: TransactionPool<Client>): Promise<Borrowed<Client>> {
  watch(pool);
  const client = await pool.connect();
  let isLent = true;
  const giveBack = (destroy: boolean): void => {
    if (isLent) client.release(destroy);
    isLent = false;
  };
  return { client, giveBack };
}

const watched = new WeakSet<object>();

/** Listens for errors of a lent connection: no pool listens meanwhile, and an unheard error would end the process. */
function watch(pool: TransactionPool): void {
  if (watched.has(pool)) return;
  watched.add(pool);
  pool.on?.("acquire", (client) => {
    if (!watched.has(client)) client.on("error", () => undefined);
    watched.add(client);
  });
}

/** Rolls back; false if the connection is lost. */
const undo = (client: HostClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );

interface Kept<O> {
  readonly result: O;
}

async function runOnce<Client extends HostClient, I, O>(
  client: Client,
  call: OperatorCall<I>,
  run: (tx: Client, call: OperatorCall<I>) => O | Promise<O>,
): Promise<O> {
  const { idempotencyKey: key, signal } = call;
  await client.query("BEGIN");
  const kept = await takeKey<O>(client, key);
  const result = kept === null ? await run(client, call) : kept.result;
  signal.throwIfAborted();
  if (kept === null) {
    const keep = "UPDATE countersign_effects SET result = $2 WHERE key = $1";
    await client.query(keep, [key, JSON.stringify(result) ?? null]);
  }
  await client.query("COMMIT");
  return result;
}

/** Takes the key; null if it is this transaction's now. Waits for another that makes the same call. */
async function takeKey<O>(client: HostClient, key: string): Promise<Kept<O> | null> {
  const put = await client.query("INSERT INTO countersign_effects (key) VALUES ($1) ON CONFLICT DO NOTHING", [key]);
  if (put.rowCount !== 0) return null;
  const { rows } = await client.query("SELECT result FROM countersign_effects WHERE key = $1", [key]);
  const { result: text } = rows[0] as { readonly result: string | null };
  // The result of an operator may be undefined.
  return { result: (text === null ? undefined : JSON.parse(text)) as O };
}

/** Returns the result of a transaction whose connection was lost; null if it left none, or if that cannot be read. */
async function findKept<O>(pool: TransactionPool, key: string): Promise<Kept<O> | null> {
  try {
    const { client, giveBack } = await borrow(pool);
    const looked = client.query("BEGIN").then(() => takeKey<O>(client, key));
    return await looked.finally(async () => giveBack(!(await undo(client))));
  } catch {
    return null;
  }
}
