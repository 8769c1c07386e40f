/**
 * Whether this process could run what a person is asked about: the package, the operators of the step and of those that are
 * still to come, the payload, the operator's own check.
 *
 * Q1  Nobody is asked about what cannot run, and nobody's approval of it is taken: the gate stays open for a process that can,
 *     and for a rejection.
 */
import { type KernelError, KernelErrorException, raise, toExecutorError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Gate, ParsedGateRequest } from "../../contract/gate.ts";
import { isStepDone } from "../../contract/workflow.ts";
import { isPromise } from "../../runtime/within.ts";
import { findOperator, type Prepared, prepareShown } from "./prepare-step.ts";
import { capabilityOf, oodaRef, type Run, stepOf } from "./run.ts";
import { checkCall } from "./show-call.ts";

/** The call could be made, and what follows it has operators. @throws KernelErrorException why not. */
export async function checkRunnable(run: Run, prepared: Prepared): Promise<void> {
  requireRegistered(run);
  await checkCall(run, prepared);
}

/** @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT, T4_OPERATOR_UNKNOWN. */
function requireRegistered(run: Run): void {
  capabilityOf(run);
  const { plan, steps } = run.log.record;
  for (const step of plan?.steps ?? [])
    if (!isStepDone(steps.get(step.step_id)?.state ?? "queued")) findOperator(run, step);
}

/**
 * What an approval would run, as the gate shows it; null where it runs nothing that is shown: a rejection, an edit (which is
 * checked as it is made), a lost call. @throws KernelErrorException T5_GATE_NOT_RUNNABLE, with the reason as its cause.
 */
export function requireRunnable(run: Run, gate: Gate, request: ParsedGateRequest): Ready | Promise<Ready> {
  const refused = (thrown: unknown): never => {
    if (!(thrown instanceof KernelErrorException) || run.log.lost !== null) throw thrown;
    return refuse(gate, thrown.error);
  };
  try {
    const ready = request.decision === "reject" ? null : readyFor(run, gate, request);
    return isPromise(ready) ? ready.catch(refused) : ready;
  } catch (thrown) {
    return refused(thrown);
  }
}

type Ready = Prepared | null;

function readyFor(run: Run, gate: Gate, { payload }: ParsedGateRequest): Ready | Promise<Ready> {
  if (gate.kind === "in_doubt") {
    if (payload.resolution === "retry") findOperator(run, stepOf(run, gate.step_id).step);
    return null;
  }
  requireRegistered(run);
  if (payload.edit !== undefined) return null;
  const checked = (prepared: Prepared): Ready | Promise<Ready> => {
    const answer = checkCall(run, prepared);
    return isPromise(answer) ? answer.then(() => prepared) : prepared;
  };
  const prepared = prepareShown(run, gate);
  return isPromise(prepared) ? prepared.then(checked) : checked(prepared);
}

function refuse({ gate_id, operator }: Gate, cause: KernelError): never {
  const message = `this process cannot run what ${gate_id} asks for: ${cause.message}`;
  const detail = { gate_id, operator, reason: toExecutorError(cause).code };
  return raise(kernelError("T5_GATE_NOT_RUNNABLE", message, oodaRef("decide_gate"), { detail, cause }));
}
