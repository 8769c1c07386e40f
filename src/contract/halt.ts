/**
 * Halts: orders that stop work of a tenant until they are lifted. Steps that they concern are held; they do not fail.
 *
 * 1.  A halt concerns the work that fits each member of its filter; without members it concerns all work of the tenant.
 * 2.  A halt that names no operator holds a workflow as a whole; one that names an operator holds the steps that would
 *     call it.
 */
import { z } from "zod";
import { PrincipalId } from "./ids.ts";
import { type Intent, Principal } from "./intent.ts";

export const HaltId = z.string().regex(/^hlt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/, "hlt_ and a ULID");

/** The work that a halt concerns; each member that is present must fit. */
export const HaltFilter = z.strictObject({
  /** The intent type of the workflow. */
  capability: z.string().min(1).max(256).optional(),
  /** The operator that a step would call. */
  operator: z.string().min(1).max(256).optional(),
  /** The principal who requested the work; of any type if none is named. */
  principal: z
    .strictObject({
      /** Such as `user`, `agent` or `service`. */
      type: z.string().min(1).max(64).optional(),
      /** Unique within its type. */
      id: PrincipalId,
    })
    .optional(),
});
export type HaltFilter = z.infer<typeof HaltFilter>;

/** A halt that holds. */
export const Halt = z
  .object({
    /** Its id, by which it is lifted. */
    halt_id: HaltId,
    /** The work that it concerns. */
    of: HaltFilter.readonly(),
    /** The reason that was given. */
    reason: z.string(),
    /** The principal who ordered it. */
    by: Principal.readonly(),
    /** The ISO instant of the order. */
    at: z.string(),
  })
  .readonly();
export type Halt = z.infer<typeof Halt>;

/** A halt as the index has it, with the position of the row that set or lifted it last. */
export interface StoredHalt extends Halt {
  readonly tenant_id: string | number;
  readonly is_lifted: boolean;
  readonly position: number;
}

/** A halt, and how much it holds. */
export const HaltStanding = z
  .object({
    ...Halt.unwrap().shape,
    /** The workflows that it holds as a whole, and the single steps of others. */
    held: z.object({ workflows: z.int().nonnegative(), steps: z.int().nonnegative() }).readonly(),
  })
  .readonly();
export type HaltStanding = z.infer<typeof HaltStanding>;

/**
 * Returns whether a halt concerns work of this intent, whatever operator it names. It is the one place that says so.
 */
export function concerns({ of: { capability, principal } }: Pick<Halt, "of">, { type, actor }: Concerned): boolean {
  if (capability !== undefined && capability !== type) return false;
  if (principal === undefined) return true;
  return principal.id === actor.id && (principal.type ?? actor.type) === actor.type;
}

/** The part of an intent that halts look at. */
export type Concerned = Pick<Intent, "type" | "actor">;
