/**
 * A failed attempt, and the number of attempts that a step may make.
 *
 * Never: decides what follows from a failure (settle-failure.ts).
 */
import type { KernelError } from "../../../../contract/error.ts";
import { retryPolicies } from "../../../../contract/operator.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { findKnownOperator } from "../payload/prepare-step.ts";
import type { Run } from "../run/run.ts";

/** The end of an attempt without success. */
export interface Failed {
  readonly action_id: string;
  /** Null where nobody knows more than that it may have taken effect. */
  readonly error: KernelError | null;
  readonly pending: boolean;
  readonly cached: boolean;
}

/** Returns the number of attempts that the retry policy of the step's operator allows. */
export const maxAttemptsOf = (run: Run, step: PlanStep): number =>
  run.settings.retryPolicies[findKnownOperator(run, step)?.metadata.retry ?? ""] ?? retryPolicies.STANDARD;
