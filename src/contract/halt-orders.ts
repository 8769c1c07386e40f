/** Orders on the work of a tenant: setting a halt and lifting it. */
import { z } from "zod";
import { HaltFilter, HaltId } from "./halt.ts";
import { TenantId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** Stops work of a tenant until the halt is lifted. */
export const HaltRequest = z.strictObject({
  /** The tenant whose work is stopped. */
  tenant_id: TenantId,
  /** The principal who orders the halt. */
  principal: Principal,
  /** The work that it concerns; all of the tenant's without members. */
  of: HaltFilter.default({}),
  /** Kept with the halt. */
  reason: z.string().min(1).max(1024),
});
export type HaltRequest = z.input<typeof HaltRequest>;

/** The halt holds; the same order again gives the same halt. */
export const HaltResponse = z.object({ halt_id: HaltId, status: z.literal("halted") });
export type HaltResponse = z.infer<typeof HaltResponse>;

/** Lifts a halt: what it held goes on. */
export const LiftRequest = z.strictObject({
  /** The tenant of the halt. */
  tenant_id: TenantId,
  /** The principal who lifts the halt. */
  principal: Principal,
  /** The halt. */
  halt_id: z.string().min(1).max(64),
  /** Kept with the end of the halt. */
  reason: z.string().max(1024).default("lifted by request"),
});
export type LiftRequest = z.input<typeof LiftRequest>;

/** The halt is lifted. */
export const LiftResponse = z.object({ halt_id: HaltId, status: z.literal("lifted") });
export type LiftResponse = z.infer<typeof LiftResponse>;
