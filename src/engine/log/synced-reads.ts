/**
 * The store as it is read for answers to callers: rows are made durable before they are shown (`durability:
 * "effects"`).
 *
 * Never: writes.
 * 1.  No answer and no stream shows what a power cut could still remove.
 */
import type { LedgerStore } from "../../ports/ledger-store.ts";

const syncedMethods = [
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
  "listSeats",
  "decisions",
  "countDecisions",
  "countHolds",
  "halts",
  "grants",
  "grant",
  "standIns",
  "standIn",
  "chargesOf",
  "memory",
] as const satisfies readonly (keyof LedgerStore)[];

/** Returns reads that sync first; the store itself if each of its appends is durable. */
export function syncedReads<S extends LedgerStore>(store: S): S {
  if (store.sync === undefined) return store;
  const waits: ReadonlySet<PropertyKey> = new Set(syncedMethods);
  const members = new Map<PropertyKey, unknown>();
  const memberOf = (name: PropertyKey): unknown => {
    const member: unknown = Reflect.get(store, name);
    if (typeof member !== "function") return member;
    const call = member.bind(store) as (...args: readonly unknown[]) => Promise<unknown>;
    if (!waits.has(name)) return call;
    return async (...args: readonly unknown[]): Promise<unknown> => {
      await store.sync?.();
      return call(...args);
    };
  };
  return new Proxy({} as S, {
    get(_, name) {
      if (!members.has(name)) members.set(name, memberOf(name));
      return members.get(name);
    },
  });
}
