/**
 * A ledger store that counts how often it is asked for rows.
 * Owns: the counts. Never: changes an answer.
 */
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/index.ts";

export type Counts = { read: number; last: number; tail: number; heads: number; gates: number; append: number };

export interface CountingLedger {
  readonly store: LedgerStore;
  readonly counts: Counts;
}

export function countingLedger(of: LedgerStore = memoryLedger()): CountingLedger {
  const counts: Counts = { read: 0, last: 0, tail: 0, heads: 0, gates: 0, append: 0 };
  const count =
    <K extends keyof Counts>(name: K): LedgerStore[K] =>
    (...args: never[]) => {
      counts[name] += 1;
      return (of[name] as (...given: never[]) => never)(...args);
    };
  return {
    counts,
    store: {
      ...of,
      read: count("read"),
      last: count("last"),
      tail: count("tail"),
      heads: count("heads"),
      gates: count("gates"),
      append: count("append"),
    },
  };
}
