/**
 * A ledger in memory, for tests: SQLite's, behind the members that the port requires and no other.
 *
 * Owns: its life. The rows stay when the store is closed, so that the next kernel of a test opens them again; they go
 * with the object.
 * Never: touches a disk, or shares state between two stores.
 */
import { connect } from "../ledger/sqlite/connect.ts";
import { createStore } from "../ledger/sqlite/store.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

const inMemory = { path: ":memory:", busyTimeoutMs: 0, synchronous: "normal" } as const;

/** Creates a new, empty store. */
export function memoryLedger(): LedgerStore {
  const { sync: _sync, check: _check, searchHeads: _search, indexes: _indexes, ...all } = createRows();
  const { sessions: _sessions, pushes: _pushes, deliveries: _deliveries, ...rows } = all;
  // A store that is not open refuses as one does that never was.
  const unopened = createRows();
  let isOpen = false;
  return {
    ...rows,
    open: async () => {
      await rows.open();
      isOpen = true;
    },
    append: (batch) => (isOpen ? rows : unopened).append(batch),
    close: async () => {
      isOpen = false;
    },
  };
}

const createRows = () => createStore(inMemory.path, () => connect(inMemory));
