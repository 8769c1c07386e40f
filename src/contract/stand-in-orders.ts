/** Orders about stand-ins: naming one for the time that one is away, ending that, and the list of those that hold. */
import { z } from "zod";
import { PrincipalRef } from "./gate-vote.ts";
import { TenantId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { StandInId, StandInStanding } from "./stand-in.ts";

export { AwayAtGate, StandIn, StandInStanding } from "./stand-in.ts";

/** Names who takes one's seats at all gates, open now or later, until an instant. */
export const StandInRequest = z.strictObject({
  /** The tenant of the gates. */
  tenant_id: TenantId,
  /** The principal who will be away, in the role in which they decide. */
  principal: Principal,
  /** The principal who stands in. */
  to: z.strictObject({
    /** The principal's type; `user` by default. */
    type: z.string().min(1).max(64).default("user"),
    /** The principal's id. */
    id: PrincipalRef.shape.id,
  }),
  /** The beginning, ISO 8601 in UTC; now by default. */
  from: z.iso.datetime().optional(),
  /** The end, ISO 8601 in UTC, at most 90 days ahead. */
  until: z.iso.datetime(),
  /** The reason, which everybody sees. */
  reason: z.string().min(1).max(1024),
});
export type StandInRequest = z.input<typeof StandInRequest>;
/** An order that names a stand-in, as it was read. */
export type ParsedStandInRequest = z.output<typeof StandInRequest>;

/** The stand-in is named; the same order again gives the same answer. */
export const StandInResponse = z.object({ stand_in_id: StandInId, status: z.literal("named") });
export type StandInResponse = z.infer<typeof StandInResponse>;

/** Ends an order before its time. */
export const EndStandInRequest = z.strictObject({
  /** The tenant of the order. */
  tenant_id: TenantId,
  /** The principal who ends it: its author, or one who may stop work of the tenant (`halt:write`). */
  principal: Principal,
  /** The order. */
  stand_in_id: z.string().min(1).max(64),
  /** Kept with the end of the order. */
  reason: z.string().max(1024).default("ended by request"),
});
export type EndStandInRequest = z.input<typeof EndStandInRequest>;

/** The order has ended. */
export const EndStandInResponse = z.object({ stand_in_id: StandInId, status: z.literal("ended") });
export type EndStandInResponse = z.infer<typeof EndStandInResponse>;

/** The filter of a list of stand-ins, which is in the order in which they were named. */
export const StandInFilter = z.strictObject({
  /** The tenant of the orders; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** Those that the caller gave, and those by which the caller stands in. */
  mine: z.boolean().optional().describe("Those that the caller gave, and those by which the caller stands in."),
  /** The cursor: orders that were given after this one. */
  after: z.string().max(64).optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type StandInFilter = z.input<typeof StandInFilter>;

/** A page of stand-ins; `next` is the cursor of the following page, null on the last one. */
export const StandInPage = z.object({ stand_ins: z.array(StandInStanding), next: z.string().nullable() });
export type StandInPage = z.infer<typeof StandInPage>;
