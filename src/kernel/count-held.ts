/** The count of what begins nothing: by an order of a person, or for want of a place. */
import { heldByPause, type LedgerStore } from "../ports/ledger-store.ts";
import type { Kernel } from "./kernel-interface.ts";

/** Counts over all tenants. */
export async function countHeld(
  store: Pick<LedgerStore, "countHolds" | "halts" | "countQueued">,
): ReturnType<Kernel["holds"]> {
  const [holds, halts, queued] = await Promise.all([store.countHolds(), store.halts(), store.countQueued()]);
  const held = holds.filter(({ holder }) => holder !== heldByPause);
  const sum = (of: "workflows" | "steps") => held.reduce((all, one) => all + one[of], 0);
  return {
    queued,
    paused: holds.find(({ holder }) => holder === heldByPause)?.workflows ?? 0,
    halts: halts.filter(({ is_lifted }) => !is_lifted).length,
    workflows: sum("workflows"),
    steps: sum("steps"),
  };
}
