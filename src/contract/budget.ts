/**
 * The request budget: abstract cost units, monotonic, checked before and charged after (seed 002 section 13; ).
 *
 * INV-1  Spent never decreases; a negative or non-finite cost is refused.
 * INV-2  The check is `spent < limit`: a breach found after a step blocks the next node, not the step that was running.
 */
import { z } from "zod";
import { kernelError } from "./error-codes.ts";
import { type KernelError, raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";

export const Budgets = z.object({ maxCost: z.number().nonnegative().nullable().default(null) });
export type Budgets = z.input<typeof Budgets>;

const budgetRef = moduleRef(5, "budget", "check_budget");

/** Null when something is left, else the refusal. A null limit is no limit. */
export function checkBudget(spent: number, limit: number | null): KernelError | null {
  if (limit === null || spent < limit) return null;
  return kernelError("T5_BUDGET_EXHAUSTED", `the request budget of ${limit} is spent (${spent})`, budgetRef, {
    detail: { limit, spent },
  });
}

/** The account of one request: `policy.recordStepCost` and `policy.recordCost` of seed 002. */
export interface BudgetAccount {
  readonly spent: () => number;
  readonly checkBudget: () => KernelError | null;
  readonly recordStepCost: (stepId: string, skill: string, estimatedCost: number) => number;
  readonly recordCost: (totalCost: number) => number;
}

/** @throws KernelErrorException (input) from the record functions for a negative or non-finite cost. */
export function createBudgetAccount(limit: number | null, alreadySpent = 0): BudgetAccount {
  let spent = alreadySpent;
  const add = (cost: number): number => {
    spent += requireCost(cost);
    return spent;
  };
  return {
    spent: () => spent,
    checkBudget: () => checkBudget(spent, limit),
    recordStepCost: (_stepId, _skill, estimatedCost) => add(estimatedCost),
    recordCost: add,
  };
}

/** The cost itself, when it may be charged. @throws KernelErrorException of category input. */
export function requireCost(cost: number): number {
  if (Number.isFinite(cost) && cost >= 0) return cost;
  return raise(
    kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `a cost is a number of at least 0, not ${cost}`, budgetRef),
  );
}
