/**
 * How a step ends without success, and how it comes to wait: the words that preparing, attempting and judging share.
 */
import { type KernelError, toExecutorError } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import { oodaRef, type Run } from "./run.ts";

/** Whether an error is a no (by policy, a person, authority or the budget) and not a failure. */
export const isBlocking = (error: KernelError): boolean =>
  error.category === "policy" || error.code === "T5_BUDGET_EXHAUSTED";

/** Ends a step as BLOCKED where something said no, as FAILED otherwise. */
export function failStep(run: Run, stepId: string, error: KernelError): void {
  const blocked = isBlocking(error);
  const { category } = toExecutorError(error);
  run.log.note(draft("STEP_FAILED", { error, category, blocked }, stepId));
}

export const humanDenied = (gateId: string, how: string): KernelError =>
  kernelError("T5_HUMAN_DENIED", `${gateId} was ${how}`, oodaRef("approval"), { detail: { gate_id: gateId } });
