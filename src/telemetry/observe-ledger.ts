/**
 * A ledger store whose transactions are measured: how many rows share one, how long it takes.
 */
import type { LedgerStore } from "../index.ts";
import type { MetricBook } from "./metric-book.ts";

/** Everything but `append` is the store's own. */
export function observeLedger(store: LedgerStore, metrics: MetricBook, guard: (work: () => void) => void): LedgerStore {
  const append: LedgerStore["append"] = async (entries) => {
    const began = performance.now();
    const receipts = await store.append(entries);
    guard(() => {
      metrics.record("commitBatch", entries.length);
      metrics.record("commitDuration", (performance.now() - began) / 1000);
    });
    return receipts;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "append") return append;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
