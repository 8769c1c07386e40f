/**
 * Finds the orders by which a person stands in for others. What they hand over at a gate is decided by `seatVoter`.
 *
 * Never: decides.
 */

import type { PrincipalRef } from "../../contract/gate-vote.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type { StandIn } from "../../contract/stand-in.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";

/** The tenants that have orders of a kind, as far as this process knows. */
export interface KnownTenants {
  readonly isFresh: boolean;
  readonly look: () => Promise<void>;
  readonly mayHave: (tenantId: string | number) => boolean;
}

export interface StandIns {
  readonly known: KnownTenants;
  readonly store: Pick<LedgerStore, "standInsFor">;
}

const none: readonly StandIn[] = Object.freeze([]);

/** Returns whether a tenant may have orders of a kind. */
export const mayHave = (known: KnownTenants, tenantId: string | number): boolean | Promise<boolean> =>
  follow(known.isFresh ? undefined : known.look(), () => known.mayHave(tenantId));

/** Returns the orders by which a person stands in for others at an instant (ISO 8601), oldest first. */
export const findStandIns = (
  tenantId: string | number,
  { principal, now }: { readonly principal: PrincipalRef; readonly now: string },
  { known, store }: StandIns,
): readonly StandIn[] | Promise<readonly StandIn[]> =>
  follow(mayHave(known, tenantId), (may) => (may ? store.standInsFor(tenantId, principal, Date.parse(now)) : none));
