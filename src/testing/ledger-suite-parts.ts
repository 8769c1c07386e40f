/**
 * The shared parts of the ledger store suite: the way to register a test, and short ways to append.
 *
 * Owns: nothing of the port's promises; those are in the suites.
 * Never: imports a runner.
 */
import type { Append, AppendReceipt, LedgerStore } from "../ports/ledger-store.ts";
import { firstTurn, type TestStream } from "./ledger-turns.ts";

/** The functions of a test runner that the suite needs: Vitest, Jest and Bun have them. */
export interface LedgerSuiteRunner {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>) => void;
  readonly expect: (actual: unknown) => { toEqual(expected: unknown): void };
}

/** Registers a test that gets an open store, closed after it. */
export type StoreTest = (law: string, body: (store: LedgerStore) => Promise<void>) => void;

export interface SuiteParts {
  readonly test: StoreTest;
  readonly expect: LedgerSuiteRunner["expect"];
}

export const ttlMs = 1000;
export const me = "me";

/** Appends one entry and gives its receipt. */
export async function appendOne(store: LedgerStore, entry: Append): Promise<AppendReceipt> {
  return (await store.append([entry]))[0]!;
}

/** Returns `true`, or the reason of the refusal. */
export const verdict = (receipt: AppendReceipt): true | string => (receipt.ok ? true : receipt.reason);

/** Returns how many rows there are. Positions rise, and that is all that is promised of them. */
export const countRows = async (store: LedgerStore): Promise<number> => (await store.tail(0, 100)).length;

export async function judge(store: LedgerStore, entry: Append): Promise<true | string> {
  return verdict(await appendOne(store, entry));
}

/** Puts the first turn of a workflow into the store. */
export async function putWorkflow(store: LedgerStore, stream: TestStream, head: Parameters<typeof firstTurn>[1] = {}) {
  const { entry, after } = firstTurn(stream, head);
  await store.append([entry]);
  return after;
}
