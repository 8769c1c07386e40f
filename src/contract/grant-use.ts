/** The use of a grant in the decision that it makes, and its counter. */
import { z } from "zod";
import type { Charge } from "./budget.ts";

/** A use of a grant. */
export const GrantUse = z.object({
  grant_id: z.string(),
  /** The ISO instant at which the grant was given. */
  given_at: z.string(),
  /** The estimated cost of the call, which counts against the sum of the grant. */
  money: z.number(),
  /** The limits of the grant: the number of uses, and the sum of the estimated costs if it has one. */
  within: z.object({ invocations: z.number(), money: z.number().optional() }),
});
export type GrantUse = z.infer<typeof GrantUse>;

/** The uses that a grant has at most. */
export const mostUses = 1_000_000;

/** Returns the name of the counter of a grant. */
export const grantCounter = (grantId: string): string => `grant:${grantId}`;

/** Returns what one use adds to the counter of a grant. */
export const chargeOfUse = (money: number): Charge => ({ tokens: 0, money, invocations: 1, wall_ms: 0 });
