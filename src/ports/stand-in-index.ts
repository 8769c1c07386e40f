/** The stand-ins of a ledger store, by tenant: the orders that were given and not ended. */
import type { PrincipalRef } from "../contract/gate-vote.ts";
import type { StandIn } from "../contract/stand-in.ts";

type Id = string | number;

/** The changes of stand-ins that an append makes. */
export interface StandInChanges {
  /** Orders that were given. */
  readonly standIns?: readonly StandIn[];
  /** The ids of orders that were ended. */
  readonly endedStandIns?: readonly string[];
}

/** A selection of orders: those whose end is after `now` (epoch ms). */
export interface StandInPageQuery {
  readonly now: number;
  /** Only those that have begun by then (epoch ms). */
  readonly begunBy?: number;
  /** Only those that this person gave, or by which they stand in. */
  readonly person?: PrincipalRef;
  /** Only those that were given after this one. */
  readonly after?: string;
  readonly limit: number;
}

/** The index of stand-ins, as a store keeps it. */
export interface StandInIndex {
  /** Returns a page of the orders of a tenant, in the order in which they were given. */
  standIns(tenantId: Id, page: StandInPageQuery): Promise<readonly StandIn[]>;
  /** Returns an order of a tenant by its id; null if there is none. */
  standIn(tenantId: Id, standInId: string): Promise<StandIn | null>;
  /** Returns the orders by which a person stands in for others at an instant (epoch ms); oldest first. */
  standInsFor(tenantId: Id, deputy: PrincipalRef, now: number): Promise<readonly StandIn[]>;
  /** Returns the tenants that have orders; a cheap call. */
  standInTenants(): Promise<readonly Id[]>;
}
