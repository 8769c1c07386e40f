/** The ends of a step without success, which preparing, attempting and judging share. */
import { type KernelError, toExecutorError } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { type Gate, gateIdOf } from "../../../../contract/gate.ts";
import { oodaRef, type Run, stepOf } from "./run.ts";

/** Returns whether an error is a refusal (by policy, a person, authority or the budget) and not a failure. */
export const isBlocking = (error: KernelError): boolean =>
  error.category === "policy" || error.code === "T5_BUDGET_EXHAUSTED";

/**
 * Ends a step as blocked after a refusal, and as failed otherwise. A step that was rejected at its gate is skipped if
 * its plan goes on then.
 */
export function failStep(run: Run, stepId: string, error: KernelError): void {
  if (isGateDenial(error) && stepOf(run, stepId).step.on_reject === "continue") return declineStep(run, stepId, error);
  const blocked = isBlocking(error);
  const { category } = toExecutorError(error);
  run.log.note(draft("STEP_FAILED", { error, category, blocked }, stepId));
}

/** Skips a step that was rejected; the code of the refusal and the comment become its output. */
function declineStep(run: Run, stepId: string, { code }: KernelError): void {
  const { comment = null } = run.log.record.gates.get(gateIdOf(stepId))?.decision ?? {};
  run.log.note(
    draft("STEP_SKIPPED", { reason: "declined", because: null, output: { rejected: { code, comment } } }, stepId),
  );
}

const approvalRef = oodaRef("approval");

/**
 * Returns the error of a step whose gate ended without an approval: a person rejected it, or nobody decided in time.
 */
export function gateDenied({ gate_id, status }: Pick<Gate, "gate_id" | "status">): KernelError {
  const detail = { gate_id };
  return status === "expired"
    ? kernelError("T5_GATE_EXPIRED", `${gate_id} was not decided in time`, approvalRef, { detail })
    : kernelError("T5_HUMAN_DENIED", `${gate_id} was ${status}`, approvalRef, { detail });
}

/** Returns whether an error means that a gate ended without an approval; the workflow then ends as cancelled. */
export const isGateDenial = ({ code }: KernelError): boolean =>
  code === "T5_HUMAN_DENIED" || code === "T5_GATE_EXPIRED";
