/**
 * A store whose machine may lose its power: what was written since the last sync is gone, in the ledger and of leases alike.
 *
 * P1  An append is synced unless all of its entries are lazy, or all were refused; a sync covers all that was written before it.
 * P2  After a cut the store stands as it was written up to the last sync, as if nothing had come after.
 */
import type { Append, LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-row-store.ts";

const writing = ["append", "beat", "claim", "takeUp", "release", "fillHead"] as const;

interface Written {
  readonly name: (typeof writing)[number];
  readonly given: readonly unknown[];
}

export interface CutStore {
  readonly store: LedgerStore;
  /** The power goes; gives how many rows went with it. */
  readonly cut: () => Promise<number>;
}

type Member = (...given: readonly unknown[]) => Promise<unknown>;

export async function powerCutStore(): Promise<CutStore> {
  let rows = memoryLedger();
  await rows.open();
  let written: Written[] = [];
  let synced = 0;
  const call = ({ name, given }: { readonly name: string; readonly given: readonly unknown[] }): Promise<unknown> =>
    (rows[name as keyof LedgerStore] as Member)(...given);
  const reading = Object.keys(rows).filter((name) => typeof rows[name as keyof LedgerStore] === "function");
  const store = {
    ...Object.fromEntries(reading.map((name) => [name, (...given: readonly unknown[]) => call({ name, given })])),
    ...Object.fromEntries(
      writing.map((name) => [
        name,
        async (...given: readonly unknown[]) => {
          const answer = await call({ name, given });
          written.push({ name, given });
          if (name === "append" && isSynced(given[0] as readonly Append[], answer as never)) synced = written.length;
          return answer;
        },
      ]),
    ),
    name: "rows that a power cut may take",
    open: async () => undefined,
    close: async () => undefined,
    sync: async () => {
      synced = written.length;
    },
  } as unknown as LedgerStore;
  const cut = async (): Promise<number> => {
    const before = await rows.position();
    written = written.slice(0, synced);
    rows = memoryLedger();
    await rows.open();
    for (const one of written) await call(one);
    return before - (await rows.position());
  };
  return { store, cut };
}

const isSynced = (batch: readonly Append[], receipts: readonly { readonly ok: boolean }[]): boolean =>
  batch.some(({ lazy }) => lazy !== true) && receipts.some(({ ok }) => ok);
