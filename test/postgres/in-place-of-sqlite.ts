/**
 * `sqliteLedger` as tests of the project "kernel on postgres" get it: the same options, kept in Postgres. A path is a
 * schema; what would be in memory is a ledger that is emptied when it is closed, and used again.
 *
 * P1  No time of a virtual clock passes while the server has not answered.
 * P2  A virtual clock does not take a connection of these ledgers for something that may answer another call, such as
 *     one of an operator: a call that nothing can answer runs out of its time at once, as it does with a ledger on a
 *     file.
 * P3  What was appended is shown in the tail before it is acknowledged: other tests on the server hold it back else.
 */
import { Socket } from "node:net";
import { Pool } from "pg";
import { sha256 } from "../../src/contract/digest.ts";
import { type PostgresLedger, postgresLedger } from "../../src/ledger/postgres/index.ts";
import { aside, letStoreAnswer } from "../../src/testing/let-run.ts";
import { freshSchema, serverUrl } from "./server.ts";

export type SqliteLedger = PostgresLedger;

/** A socket that virtual clocks do not count: each call of the store that uses it is waited for by `letStoreAnswer`. */
class StoreSocket extends Socket {
  override connect(...given: readonly unknown[]): this {
    return aside(() => Reflect.apply(super.connect, this, given));
  }
}

const connecting = { connectionString: serverUrl, stream: () => new StoreSocket() };

interface Kept {
  readonly schema: string;
  readonly store: PostgresLedger;
}

const free: Kept[] = [];

export function sqliteLedger({ path = ":memory:" }: { readonly path?: string } = {}): PostgresLedger {
  if (path === ":memory:") return emptiedLedger();
  const schema = `p${sha256(path).slice(0, 20)}`;
  return letStoreAnswer(told(ledgerIn(schema)));
}

function emptiedLedger(): PostgresLedger {
  const kept = free.pop() ?? keep(freshSchema());
  const { schema, store } = kept;
  let isOpen = false;
  const closed = new Error("not open");
  const whileOpen = told(store, () => {
    if (!isOpen) throw closed;
  });
  return letStoreAnswer({
    ...whileOpen,
    open: async () => {
      await store.open();
      isOpen = true;
    },
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await empty(schema);
      free.push(kept);
    },
  });
}

const keep = (schema: string): Kept => ({ schema, store: ledgerIn(schema) });

const ledgerIn = (schema: string): PostgresLedger => postgresLedger({ pool: { options: connecting }, schema });

function told(store: PostgresLedger, check: () => void = () => undefined): PostgresLedger {
  // Who is alive is told by the machine's time, which a virtual clock does not know.
  const { follow: _follow, ...rest } = store;
  return {
    ...rest,
    append: async (batch) => {
      check();
      const receipts = await store.append(batch);
      const last = Math.max(0, ...receipts.map((receipt) => (receipt.ok ? receipt.position : 0)));
      while ((await store.position()) < last) check();
      return receipts;
    },
  };
}

const pool = new Pool({ ...connecting, max: 1, allowExitOnIdle: true });

/** Removes all rows but those that a ledger has from its creation. The log's own refusals are put aside for it. */
async function empty(schema: string): Promise<void> {
  const named = "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'owners')";
  const { rows } = await pool.query<{ readonly tablename: string }>(named, [schema]);
  const removals = rows.map(({ tablename }) => `DELETE FROM ${schema}.${tablename}`);
  await pool.query(["SET session_replication_role = replica", ...removals].join("; "));
}
