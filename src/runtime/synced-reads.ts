/**
 * A store as those read it who tell others: what is told has been made durable before (`durability: "effects"`).
 *
 * Never: writes. R1  No answer and no stream goes further than what no power cut can take back.
 */
import type { LedgerStore } from "../ports/ledger-store.ts";

const told = [
  "read",
  "last",
  "tail",
  "position",
  "head",
  "heads",
  "listHeads",
  "searchHeads",
  "countHeads",
  "gates",
  "listGates",
  "countGates",
  "chargesOf",
  "memory",
] as const satisfies readonly (keyof LedgerStore)[];

/** The store itself where each append of it is durable. */
export function syncedReads<S extends LedgerStore>(store: S): S {
  const { sync } = store;
  if (sync === undefined) return store;
  const synced = told
    .filter((name) => store[name] !== undefined)
    .map((name) => {
      const read = store[name] as (...args: readonly unknown[]) => Promise<unknown>;
      const readSynced = async (...args: readonly unknown[]): Promise<unknown> => {
        await sync();
        return read(...args);
      };
      return [name, readSynced] as const;
    });
  return { ...store, ...(Object.fromEntries(synced) as Partial<S>) };
}
