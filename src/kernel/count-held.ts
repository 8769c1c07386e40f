/** Counts the work that begins nothing by an order of a person. */
import { heldByPause, type LedgerStore } from "../ports/ledger-store.ts";
import type { Kernel } from "./kernel-interface.ts";

/** Counts over all tenants. */
export async function countHeld(store: Pick<LedgerStore, "countHolds">): ReturnType<Kernel["holds"]> {
  const holds = await store.countHolds();
  return { paused: holds.find(({ holder }) => holder === heldByPause)?.workflows ?? 0 };
}
