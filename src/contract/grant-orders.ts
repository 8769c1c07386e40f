/** Orders about grants: giving one at a gate and revoking it; and the list of those that stand. */
import { z } from "zod";
import { GrantId, GrantStanding, GrantTerms } from "./grant.ts";
import { GateId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";

export { Grant, GrantStanding, GrantTerms, GrantTest, GrantUse } from "./grant.ts";

/** Approves ahead what the rule of a gate asks about, for calls of the gate's operator. */
export const GrantRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who gives the grant: one who may approve the gate. */
  principal: Principal,
  /** The workflow of the gate. */
  workflow_id: WorkflowId,
  /** The gate whose operator, rule and people the grant takes over; open, or decided. */
  gate_id: GateId,
  ...GrantTerms.shape,
  /** Kept with the grant. */
  reason: z.string().max(1024).default(""),
});
export type GrantRequest = z.input<typeof GrantRequest>;
/** A grant as it was read. */
export type ParsedGrantRequest = z.output<typeof GrantRequest>;

/** The grant stands; the same order again gives the same grant. */
export const GrantResponse = z.object({ grant_id: GrantId, status: z.literal("granted") });
export type GrantResponse = z.infer<typeof GrantResponse>;

/** Ends a grant: later calls ask a person again. */
export const RevokeGrantRequest = z.strictObject({
  /** The tenant of the grant. */
  tenant_id: TenantId,
  /** The principal who revokes it. */
  principal: Principal,
  /** The grant. */
  grant_id: z.string().min(1).max(64),
  /** Kept with the end of the grant. */
  reason: z.string().max(1024).default("revoked by request"),
});
export type RevokeGrantRequest = z.input<typeof RevokeGrantRequest>;

/** The grant is revoked. */
export const RevokeGrantResponse = z.object({ grant_id: GrantId, status: z.literal("revoked") });
export type RevokeGrantResponse = z.infer<typeof RevokeGrantResponse>;

/** The filter of a list of grants, which is in the order in which they were given. */
export const GrantFilter = z.strictObject({
  /** The tenant of the grants; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** The cursor: grants that were given after this one. */
  after: z.string().max(64).optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type GrantFilter = z.input<typeof GrantFilter>;

/** A page of grants; `next` is the cursor of the following page, null on the last one. */
export const GrantPage = z.object({ grants: z.array(GrantStanding), next: z.string().nullable() });
export type GrantPage = z.infer<typeof GrantPage>;
