/** The grants of a ledger store, by tenant: those that were given and not revoked. */
import type { Grant } from "../contract/grant.ts";

type Id = string | number;

/** The changes of grants that an append makes. */
export interface GrantChanges {
  /** Grants that were given. */
  readonly grants?: readonly Grant[];
  /** The ids of grants that were revoked. */
  readonly revoked?: readonly string[];
}

/** The index of grants, as a store keeps it. */
export interface GrantIndex {
  /** Returns a page of the grants of a tenant, in the order in which they were given. */
  grants(tenantId: Id, page: { readonly after?: string; readonly limit: number }): Promise<readonly Grant[]>;
  /** Returns a grant of a tenant by its id; null if there is none. */
  grant(tenantId: Id, grantId: string): Promise<Grant | null>;
  /** Returns the grants that may cover a call: of its operator, for its workflow or until an instant; oldest first. */
  grantsFor(tenantId: Id, call: { readonly operator: string; readonly workflow_id: string }): Promise<readonly Grant[]>;
  /** Returns the tenants that have grants; a cheap call. */
  grantingTenants(): Promise<readonly Id[]>;
}
