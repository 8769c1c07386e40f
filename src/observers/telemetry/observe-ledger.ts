/** A ledger store with measured transactions: the number of rows in one, and its duration. */
import type { LedgerStore } from "../../index.ts";
import type { MetricRecorder } from "./metric-recorder.ts";

/** Measures `append`; everything else is the store's own. */
export function observeLedger(
  store: LedgerStore,
  metrics: MetricRecorder,
  guard: (work: () => void) => void,
): LedgerStore {
  const append: LedgerStore["append"] = async (entries) => {
    const began = performance.now();
    const receipts = await store.append(entries);
    guard(() => {
      metrics.record("commitBatch", entries.length);
      metrics.record("commitDuration", (performance.now() - began) / 1000);
    });
    return receipts;
  };
  // Over an empty object: a store may be frozen, or keep private fields of its class.
  return new Proxy({} as LedgerStore, {
    get(_target, name) {
      if (name === "append") return append;
      const member: unknown = Reflect.get(store, name, store);
      return typeof member === "function" ? member.bind(store) : member;
    },
    has: (_target, name) => name in store,
  });
}
