/**
 * A store whose machine may lose its power: what was written since the last sync is gone, in the ledger and of leases
 * alike.
 *
 * P1  An append is synced unless all of its entries are lazy, or all were refused; a sync covers all that was written
 *     before it.
 * P2  After a cut the store stands as it was written up to the last sync, as if nothing had come after.
 */
import type { Append, LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { type StoreCall, wrapMembers } from "../../src/testing/wrap-members.ts";

const writing: ReadonlySet<string> = new Set(["append", "heartbeat", "claim", "takeUp", "release"]);

type Call = Pick<StoreCall, "name" | "given">;

export interface CutStore {
  readonly store: LedgerStore;
  /** The power goes; gives how many rows went with it. */
  readonly cut: () => Promise<number>;
}

type Members = Readonly<Record<string, (...given: readonly unknown[]) => Promise<unknown>>>;

export async function powerCutStore(): Promise<CutStore> {
  let rows = await openRows();
  let written: Call[] = [];
  let synced = 0;
  const make = ({ name, given }: Call): Promise<unknown> => (rows as unknown as Members)[name]!(...given);
  const serve = async (call: Call): Promise<unknown> => {
    const answer = await make(call);
    if (writing.has(call.name)) written.push(call);
    if (call.name === "append" && isSynced(call.given[0] as never, answer as never)) synced = written.length;
    return answer;
  };
  const store: LedgerStore = {
    ...wrapMembers(rows, ({ name, given }) => serve({ name, given })),
    name: "rows that a power cut may take",
    open: async () => undefined,
    close: async () => undefined,
    sync: async () => {
      synced = written.length;
    },
  };
  const cut = async (): Promise<number> => {
    const before = await rows.position();
    written = written.slice(0, synced);
    rows = await openRows();
    for (const call of written) await make(call);
    return before - (await rows.position());
  };
  return { store, cut };
}

async function openRows(): Promise<LedgerStore> {
  const rows = memoryLedger();
  await rows.open();
  return rows;
}

const isSynced = (batch: readonly Append[], receipts: readonly { readonly ok: boolean }[]): boolean =>
  batch.some(({ lazy }) => lazy !== true) && receipts.some(({ ok }) => ok);
