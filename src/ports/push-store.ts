/**
 * The port of the addresses that clients have notified of tasks, so that notifications go on in another process.
 *
 * 1.  A record is replaced as a whole, by its key.
 * 2.  How far an address has been told is kept after it was told: after a crash the last notification is repeated.
 */
import type { ScopedCaller } from "../contract/auth-context.ts";

/** An address that is notified of one task, in the name of the caller who asked for it. */
export interface PushRecord {
  /** The id of the record: task, caller and name. */
  readonly key: string;
  /** The name of the record among those of its task. */
  readonly id: string;
  readonly workflow_id: string;
  readonly caller: ScopedCaller;
  readonly url: string;
  /** The credentials that the client gave for its address, encrypted under the secret of the handler. */
  readonly sealed: string;
  /** The sequence of the last event of the workflow that the address has been told of. */
  readonly told: number;
}

/** The store of notifications. */
export interface PushStore {
  /** Keeps a record, in place of the one with its key. */
  readonly keep: (record: PushRecord) => Promise<void>;
  /** Returns all records in the order of their keys. */
  readonly list: () => Promise<readonly PushRecord[]>;
  /** Removes a record; false if there was none. */
  readonly drop: (key: string) => Promise<boolean>;
}
