/** The store of the addresses that are notified of tasks, in this process's memory. */
import type { PushRecord, PushStore } from "../../../index.ts";

/** Creates a store in this process's memory: its records end with the process. */
export function createMemoryPushStore(): PushStore {
  const records = new Map<string, PushRecord>();
  return {
    keep: async (record) => void records.set(record.key, record),
    list: async () => [...records.values()].toSorted((one, other) => (one.key < other.key ? -1 : 1)),
    drop: async (key) => records.delete(key),
  };
}
