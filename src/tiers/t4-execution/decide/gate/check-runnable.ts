/**
 * Checks whether this process could run the call that a person is asked about: the package, the operators of the step
 * and of the steps to come, the payload, the operator's own check.
 *
 * 1.  Nobody is asked about a call that cannot run, and no approval of it is taken: the gate stays open for a process
 *     that can run it, and for a rejection.
 */
import { KernelErrorException, toExecutorError } from "../../../../contract/error.ts";
import type { Gate, ParsedGateRequest } from "../../../../contract/gate.ts";
import { isStepDone } from "../../../../contract/workflow.ts";
import { findOperator, type Prepared, prepareShown, requireOperators } from "../payload/prepare-step.ts";
import { checkCall } from "../payload/show-call.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { capabilityOf, type Run, stepOf } from "../run/run.ts";

/**
 * Checks that the call could be made, and that the steps after it have operators. @throws KernelErrorException with the
 * reason.
 */
export function checkRunnable(run: Run, prepared: Prepared): void {
  requireRegistered(run);
  checkCall(run, prepared);
}

/** Returns whether this process has the operators of the rest of the plan. */
export function isRegistered(run: Run): boolean {
  try {
    requireRegistered(run);
    return true;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return false;
    throw thrown;
  }
}

/**
 * Requires that this process has the package and the operators of the rest of the plan.
 * @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT, T4_OPERATOR_UNKNOWN.
 */
export function requireRegistered(run: Run): void {
  capabilityOf(run);
  const { plan, steps } = run.log.record;
  for (const { step_id } of plan?.steps ?? []) {
    const { state = "queued", step } = steps.get(step_id) ?? {};
    if (step !== undefined && !isStepDone(state)) requireOperators(run, [step]);
  }
}

/** Returns whether a decision rejects the gate as it is shown. A rejection with an edit is checked like the edit. */
export const isPlainRejection = ({ decision, payload }: Pick<ParsedGateRequest, "decision" | "payload">): boolean =>
  decision === "reject" && payload.edit === undefined;

/**
 * Returns the call that an approval would run as the gate shows it. Returns null if it runs nothing that is shown: for
 * a rejection, an edit (which is checked separately, also in a rejection), or a lost call.
 * @throws KernelErrorException T5_GATE_NOT_RUNNABLE, with the reason as its cause.
 */
export function requireRunnable(run: Run, gate: Gate, request: ParsedGateRequest): Prepared | null {
  if (isPlainRejection(request)) return null;
  try {
    return readyFor(run, gate, request);
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException) || run.log.lost !== null) throw thrown;
    const { gate_id, operator } = gate;
    const message = `this process cannot run what ${gate_id} asks for: ${thrown.error.message}`;
    const detail = { operator, reason: toExecutorError(thrown.error).code };
    return refuseAt(gate_id, message, { code: "T5_GATE_NOT_RUNNABLE", detail, cause: thrown.error });
  }
}

function readyFor(run: Run, gate: Gate, { payload }: ParsedGateRequest): Prepared | null {
  if (gate.kind === "in_doubt") {
    if (payload.resolution === "retry") findOperator(run, stepOf(run, gate.step_id).step);
    return null;
  }
  requireRegistered(run);
  if (payload.edit !== undefined || gate.kind === "ask") return null;
  const prepared = prepareShown(run, gate);
  checkCall(run, prepared);
  return prepared;
}
