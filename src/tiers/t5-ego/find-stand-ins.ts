/**
 * Finds the orders by which a person stands in for others. What they hand over at a gate is decided by `seatVoter`.
 *
 * Never: decides.
 */

import type { PrincipalRef } from "../../contract/gate-vote.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type { StandIn } from "../../contract/stand-in.ts";
import type { TenantRegistry } from "../../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";

export interface StandIns {
  /** The tenants that have stand-ins, as far as this process knows. */
  readonly known: Pick<TenantRegistry, "mayHave">;
  readonly store: Pick<LedgerStore, "standInsFor">;
}

const none: readonly StandIn[] = Object.freeze([]);

/** Returns the orders by which a person stands in for others at an instant (ISO 8601), oldest first. */
export const findStandIns = (
  tenantId: string | number,
  { principal, now }: { readonly principal: PrincipalRef; readonly now: string },
  { known, store }: StandIns,
): readonly StandIn[] | Promise<readonly StandIn[]> =>
  follow(known.mayHave(tenantId), (may) => (may ? store.standInsFor(tenantId, principal, Date.parse(now)) : none));
