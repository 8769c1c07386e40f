/** The lease that an appended entry leaves its writer with. Owns: that one rule. */
import type { Append, Lease } from "../../ports/ledger-store.ts";

/** The lease that is held once this entry is in; null where it holds none any more, or never did. */
export function heldLease({ lease, claim, indexes }: Append, epoch: number | null): Lease | null {
  if (indexes?.release === true) return null;
  if (lease !== undefined) return lease;
  return claim === undefined || epoch === null ? null : { owner: claim, epoch };
}
