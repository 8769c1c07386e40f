/**
 * Stand-ins: a person's order by which somebody else takes their seat at gates while they are away.
 *
 * 1.  An order has an end, at most 90 days ahead, and holds from its own beginning on.
 * 2.  It has one link: it hands over the seat that its author has of their own, never one in which the author stands in
 *     for somebody or that was lent to them.
 * 3.  It ends for good when it is ended: its counter is then full, and the store refuses the row of a vote that was
 *     judged before.
 */
import { z } from "zod";
import { AuthContext } from "./auth-context.ts";
import type { Charge } from "./budget.ts";
import { type PrincipalRef, PrincipalRef as PrincipalRefShape } from "./gate-vote.ts";
import { Principal } from "./intent.ts";

export const StandInId = z.string().regex(/^stn_[0-7][0-9A-HJKMNP-TV-Z]{25}$/, "stn_ and a ULID");

/** The longest time, in milliseconds, from the naming of a stand-in to the end of the order. */
export const maxAwayMs = 90 * 24 * 3_600_000;

/** An order that names a stand-in and was not ended. */
export const StandIn = z
  .object({
    /** Its id, by which it is ended. */
    stand_in_id: StandInId,
    /** The principal who is away, in the role whose seats the order hands over. */
    by: Principal.readonly(),
    /** The principal who takes their seats meanwhile. */
    to: PrincipalRefShape.readonly(),
    /** The ISO instant at which it begins. */
    from: z.string(),
    /** The ISO instant at which it ends. */
    until: z.string(),
    /** The reason that was given, which everybody sees. */
    reason: z.string(),
    /** The ISO instant at which it was given. */
    at: z.string(),
    /** The rights with which it was given: they decide which seats the author would have. */
    auth: AuthContext.readonly(),
  })
  .readonly();
export type StandIn = z.infer<typeof StandIn>;

/** A stand-in as lists show it: without the rights of its author, with the number of its votes. */
export const StandInStanding = z
  .object({
    ...StandIn.unwrap().omit({ auth: true }).shape,
    /** The number of votes and decisions that were given by it. */
    votes: z.int().nonnegative(),
  })
  .readonly();
export type StandInStanding = z.infer<typeof StandInStanding>;

/** Somebody who would have a seat at a gate and is away at present, and who stands in for them. */
export const AwayAtGate = z
  .object({
    /** The order. */
    stand_in_id: StandInId,
    /** The principal who is away. */
    who: PrincipalRefShape.readonly(),
    /** The principal who stands in for them. */
    to: PrincipalRefShape.readonly(),
    /** The ISO instant until which. */
    until: z.string(),
    /** The reason that was given. */
    reason: z.string(),
  })
  .readonly();
export type AwayAtGate = z.infer<typeof AwayAtGate>;

/** Returns whether an order holds at an instant. @param now epoch ms. */
export const holdsAt = ({ from, until }: Pick<StandIn, "from" | "until">, now: number): boolean =>
  Date.parse(from) <= now && now < Date.parse(until);

/** Returns the text by which indexes know a person: ids as number and as text are one. */
export const personKey = ({ type, id }: PrincipalRef): string => JSON.stringify([type, String(id)]);

/** The votes that an order takes at most. */
const mostVotes = 1_000_000;

/** Returns the name of the counter of an order. */
export const standInCounter = (standInId: string): string => `stand-in:${standInId}`;

/** Returns what one vote adds to the counter of an order, and the limit that an order has which was not ended. */
export const chargeOfVote = (standInId: string) => ({
  counter: standInCounter(standInId),
  amounts: { tokens: 0, money: 0, invocations: 1, wall_ms: 0 } satisfies Charge,
  within: { invocations: mostVotes },
});

/** Returns what ends an order: its counter is filled. */
export const chargeOfEnd = (standInId: string) => ({
  counter: standInCounter(standInId),
  amounts: { tokens: 0, money: 0, invocations: mostVotes, wall_ms: 0 } satisfies Charge,
});
