/** The lease that an appended entry leaves its writer with. Owns: that one rule. */
import type { Append, Lease } from "../../ports/ledger-store.ts";

/** Returns the lease that is held after this entry; null if the entry gives it up, or if there never was one. */
export function heldLease({ lease, claim, indexes }: Append, epoch: number | null): Lease | null {
  if (indexes?.release === true) return null;
  if (lease !== undefined) return lease;
  return claim === undefined || epoch === null ? null : { owner: claim, epoch };
}
