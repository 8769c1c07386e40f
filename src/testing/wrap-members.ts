/**
 * Stores whose calls go another way: held back, answered late, or counted as under way.
 *
 * Owns: which members are calls. Never: makes one by itself.
 */

/** A call of a store's function. */
export interface StoreCall {
  readonly name: string;
  readonly given: readonly unknown[];
  /** Makes it. */
  readonly make: () => Promise<unknown>;
}

/** Wraps a store, or its further records: `answer` answers every call, and may make it. */
export function wrapMembers<T extends object>(store: T, answer: (call: StoreCall) => Promise<unknown>): T {
  const wrapped = Object.entries(store).map(([name, member]) => {
    if (typeof member === "object" && member !== null) return [name, wrapMembers(member, answer)];
    if (typeof member !== "function") return [name, member];
    const call = (...given: readonly unknown[]): Promise<unknown> =>
      answer({ name, given, make: async () => member.apply(store, given) });
    return [name, call];
  });
  return Object.fromEntries(wrapped) as T;
}
