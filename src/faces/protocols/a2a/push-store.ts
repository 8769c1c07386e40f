/** The store of the addresses that are notified of tasks, and of how far each has been told. */
import type { ScopedCaller } from "../../../contract/auth-context.ts";

/** An address that is notified of one task, in the name of the caller who asked for it. */
export interface PushRecord {
  /** The id of the record: task and name. */
  readonly key: string;
  /** The name of the record among those of its task. */
  readonly id: string;
  readonly workflow_id: string;
  readonly caller: ScopedCaller;
  readonly url: string;
  readonly token: string;
  readonly authentication?: { readonly scheme: string; readonly credentials: string } | undefined;
  /** The sequence of the last event of the workflow that the address has been told of. */
  readonly told: number;
}

/** The store of notifications. It holds credentials that clients gave for their own addresses. */
export interface PushStore {
  /** Keeps a record, in place of the one with its key. */
  readonly keep: (record: PushRecord) => Promise<void>;
  /** Returns all records. */
  readonly list: () => Promise<readonly PushRecord[]>;
  /** Removes a record; false if there was none. */
  readonly drop: (key: string) => Promise<boolean>;
}

/** Creates a store in this process's memory: its records end with the process. */
export function createMemoryPushStore(): PushStore {
  const records = new Map<string, PushRecord>();
  return {
    keep: async (record) => void records.set(record.key, record),
    list: async () => [...records.values()],
    drop: async (key) => records.delete(key),
  };
}
