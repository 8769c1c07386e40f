/** Sessions in this process's memory: they end with it. For hosts that name no other store, and for tests. */
import type { SessionRecord, SessionStore } from "../../index.ts";

export function createMemorySessions(): SessionStore {
  /** The sessions in the order of use: the first is the least recently used. */
  const kept = new Map<string, SessionRecord>();
  const put = (record: SessionRecord): void => {
    kept.delete(record.name);
    kept.set(record.name, record);
  };
  const remove = (records: readonly SessionRecord[]): readonly string[] => {
    for (const { name } of records) kept.delete(name);
    return records.map(({ name }) => name);
  };
  const select = (isMeant: (record: SessionRecord) => boolean): readonly SessionRecord[] =>
    [...kept.values()].filter(isMeant);
  return {
    async keep(record, most) {
      put(record);
      const same = select(({ kind }) => kind === record.kind);
      return remove(same.slice(0, Math.max(0, same.length - most)));
    },
    find: async (name) => kept.get(name) ?? null,
    async touch(name, at) {
      const record = kept.get(name);
      if (record !== undefined) put({ ...record, used_at: at });
    },
    async redeem(name, at) {
      const record = kept.get(name);
      if (record?.kind !== "code" || record.ends_at <= at) return false;
      put({ ...record, kind: "used", used_at: at });
      return true;
    },
    drop: async (which) =>
      remove(
        select(({ name, holder, kind }) =>
          "name" in which ? name === which.name : holder === which.holder && kind !== "used",
        ),
      ),
  };
}
