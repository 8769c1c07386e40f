/** Ledger files for tests: a folder of their own, filled ledgers, their bytes, and what a rejection says. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type KernelError, KernelErrorException } from "../../src/contract/error.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";

export { freshPaths } from "../fixtures.ts";

/** Writes `rows` rows in streams of four to a closed ledger file. */
export async function writeLedger(path: string, rows = 8): Promise<void> {
  await withStore(sqliteLedger({ path }), async (store) => {
    for (let n = 1; n <= rows / 4; n += 1) await store.append(fourTurns(n));
  });
}

function fourTurns(n: number) {
  const one = firstTurn(testStream(n), {}, { text: "x".repeat(500) });
  const two = nextTurn(one.after, { events: 2 });
  const three = nextTurn(two.after, { indexes: { state: "running" } });
  return [one, two, three, nextTurn(three.after)].map(({ entry }) => entry);
}

export async function withStore<T>(store: LedgerStore, use: (store: LedgerStore) => Promise<T>): Promise<T> {
  await store.open();
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Uses a connection of one's own, beside any store. */
export function withDatabase<T>(path: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

export const bytesOf = (path: string): string => readFileSync(path).toString("base64");

/** The coded error that the promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<KernelError> {
  const thrown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof KernelErrorException) return thrown.error;
  throw new Error(`expected a KernelErrorException, got ${String(thrown)}`);
}
