/**
 * Budgets. The request budget: abstract cost units, monotonic, checked before and charged after. Scoped budgets: the
 * total that a tenant, principal, workflow or operator may use, reserved before a call and settled after it.
 *
 * 1.  Spent never decreases; a negative, non-finite or unbounded cost is refused. Sums are exact (`money.ts`).
 * 2.  The check is `spent < limit`: a breach found after a step blocks the next node, not the step that was running.
 * 3.  A scoped budget is never passed: the call that would exceed it is refused, the one that exactly reaches it is
 *     not.
 */
import { z } from "zod";
import { kernelError } from "./error-codes.ts";
import { type KernelError, raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import { addMoney, Money, maxMoney, maxSum } from "./money.ts";
import { CapabilityLimits, GovernorLimits } from "./token.ts";

/** Tokens, calls or milliseconds: more than this is refused where it comes in, and sums of it stay exact. */
const maxCount = 1_000_000_000_000_000;
const amount = z.number().nonnegative().max(maxCount);

/** The usage of a call: model tokens, money in the host's currency, calls, milliseconds of wall time. */
export const Charge = z.object({
  tokens: amount.default(0),
  money: Money.default(0),
  invocations: amount.default(0),
  wall_ms: amount.default(0),
});
export type Charge = z.output<typeof Charge>;
export const chargeFields = ["tokens", "money", "invocations", "wall_ms"] as const;
export const noCharge: Charge = Object.freeze({ tokens: 0, money: 0, invocations: 0, wall_ms: 0 });

/** Returns the sum of two charges; with `sign` -1 the difference. */
export const addCharge = (a: Charge, b: Charge, sign: 1 | -1 = 1): Charge => ({
  tokens: a.tokens + sign * b.tokens,
  money: addMoney(a.money, b.money, sign),
  invocations: a.invocations + sign * b.invocations,
  wall_ms: a.wall_ms + sign * b.wall_ms,
});

/**
 * Models have budgets of their own in their endpoints (`ModelEndpoint.budget`): an endpoint without budget left is
 * skipped.
 */
export const budgetScopes = ["tenant", "principal", "workflow", "operator"] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/**
 * One ceiling for everything of a scope, or for the entity that `id` names. Usage is counted per tenant, and per
 * `window` of UTC time (`total` never starts again). Fields that are left out have no ceiling.
 */
export const BudgetLimit = z.strictObject({
  /** The scope that is counted. */
  scope: z.enum(budgetScopes),
  /** The entity that the ceiling applies to; without it, each entity of the scope has a counter of its own. */
  id: z.union([z.string(), z.int()]).optional(),
  /** The tenant that it is for; without it each by itself. */
  tenant_id: z.union([z.string(), z.int()]).optional(),
  /** The period after which counting begins anew, in UTC. */
  window: z.enum(["total", "month", "day", "hour"]).default("total"),
  /** Model tokens, in and out. */
  tokens: amount.optional(),
  /** An amount of money in the host's unit, to a millionth of it. */
  money: Money.optional(),
  /** Calls. */
  invocations: amount.optional(),
  /** Milliseconds from a call's start to its end. */
  wall_ms: amount.optional(),
});
export type BudgetLimit = z.input<typeof BudgetLimit>;
export type ParsedBudgetLimit = z.output<typeof BudgetLimit>;

/** The amounts that are set aside for a call under these counters, and the amounts that it used. */
export interface Reservation {
  readonly counters: readonly string[];
  readonly amounts: Charge;
}

/** The ceiling of a counter. Fields that are left out have none. */
export type Ceiling = Readonly<Partial<Charge>>;

/**
 * A reservation with the ceiling of each of its counters, which the store enforces when it writes it. A recorded
 * reservation, which was checked when it was written, has none.
 */
export interface BoundReservation extends Reservation {
  readonly ceilings?: readonly Ceiling[];
}

/** The bound of every counter, whatever its ceiling, because larger sums would not be exact. */
export const maxSums: Charge = { tokens: maxCount, money: maxSum, invocations: maxCount, wall_ms: maxCount };

/** Returns the first field in which the amounts exceed what is left, or null. */
export function fieldBeyond(
  ceiling: Ceiling,
  { charged, amounts }: { readonly charged: Charge; readonly amounts: Charge },
): (typeof chargeFields)[number] | null {
  const sum = addCharge(charged, amounts);
  return chargeFields.find((field) => sum[field] > Math.min(ceiling[field] ?? maxSums[field], maxSums[field])) ?? null;
}

/** Returns the lower of two ceilings, field by field. */
export function lowerCeiling(a: Ceiling, b: Ceiling): Ceiling {
  const lower = chargeFields.flatMap((field) => {
    const most = Math.min(a[field] ?? Number.POSITIVE_INFINITY, b[field] ?? Number.POSITIVE_INFINITY);
    return most === Number.POSITIVE_INFINITY ? [] : [[field, most] as const];
  });
  return Object.fromEntries(lower);
}

/** The ceilings of a kernel, as a host writes them. */
export const Budgets = z.strictObject({
  /** Abstract cost units of one request; null for no ceiling. */
  maxCost: Money.nullable().default(null),
  /** The ceiling of the cost of one step's tokens, over all attempts of a run. */
  perToken: z.int().nonnegative().nullable().default(null),
  /** Ceilings on the total that the calls of one workflow may request. */
  governor: GovernorLimits.prefault({}),
  /** Ceilings by registered name (operator or intent type), in place of those of the definition; per workflow. */
  capabilities: z.record(z.string(), CapabilityLimits).default({}),
  /** Ceilings over workflows. */
  limits: z.array(BudgetLimit).readonly().default([]),
});
export type ParsedBudgets = z.output<typeof Budgets>;
export type Budgets = z.input<typeof Budgets>;

const budgetRef = moduleRef(5, "budget", "check_budget");

/** Returns null if some of the budget is left, else the refusal. A null limit means no limit. */
export function checkBudget(spent: number, limit: number | null): KernelError | null {
  if (limit === null || spent < limit) return null;
  return kernelError("T5_BUDGET_EXHAUSTED", `the request budget of ${limit} is spent (${spent})`, budgetRef, {
    detail: { limit, spent },
  });
}

/** The account of one request: `policy.recordStepCost` and `policy.recordCost`. */
export interface BudgetAccount {
  readonly spent: () => number;
  readonly checkBudget: () => KernelError | null;
  readonly recordStepCost: (stepId: string, skill: string, estimatedCost: number) => number;
  readonly recordCost: (totalCost: number) => number;
}

/**
 * Creates an account of one request's cost. A null limit means no ceiling.
 * @throws KernelErrorException (input) from the record functions for a negative or non-finite cost.
 */
export function createBudgetAccount(limit: number | null, alreadySpent = 0): BudgetAccount {
  let spent = alreadySpent;
  const add = (cost: number): number => {
    spent = addMoney(spent, requireCost(cost));
    return spent;
  };
  return {
    spent: () => spent,
    checkBudget: () => checkBudget(spent, limit),
    recordStepCost: (_stepId, _skill, estimatedCost) => add(estimatedCost),
    recordCost: add,
  };
}

/** Returns a cost that may be charged in whole units, rounded up. @throws KernelErrorException of category input. */
export function requireCost(cost: number): number {
  const { data, success } = Money.safeParse(cost);
  if (success) return data;
  const message = `a cost is a number of at least 0 and at most ${maxMoney}, not ${cost}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, budgetRef));
}
