/**
 * A store as those read it who tell others: what is told has been made durable before (`durability: "effects"`).
 *
 * Never: writes. R1  No answer and no stream goes further than what no power cut can take back.
 */
import type { LedgerStore } from "../../ports/ledger-store.ts";

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
  if (store.sync === undefined) return store;
  const waits: ReadonlySet<PropertyKey> = new Set(told);
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
