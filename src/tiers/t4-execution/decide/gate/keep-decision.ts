/**
 * A decision that comes before its gate opens.
 *
 * 1.  It is kept, from the acceptance of the workflow on, if it names the gate and the digest of the payload that the
 *     gate will show. It holds if that payload is shown, whether the plan, policy or the operator asks for the gate.
 * 2.  A decision that depends on more than the payload (an edit, a signature, an outcome, a basis) is not kept: it must
 *     wait for the gate.
 */
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { ErrorCode } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { type GateResponse, gateIdOf, type ParsedGateRequest } from "../../../../contract/gate.ts";
import { refOf } from "../../../../contract/gate-vote.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isStepDone, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { refuseAt, requireRoom } from "../run/refuse-at-gate.ts";
import type { Run } from "../run/run.ts";

export interface GivenDecision {
  readonly request: ParsedGateRequest;
  readonly auth: AuthContext;
}

const refuse = (code: ErrorCode, gateId: string, why: string): never =>
  refuseAt(gateId, `${gateId} ${why}`, { code, fn: "keep_decision" });

/**
 * Keeps one decision of each person. Who may decide is known only when the gate opens: then the first valid one counts.
 */
export function keepDecision(run: Run, gateId: string, { request, auth }: GivenDecision): GateResponse {
  const { record } = run.log;
  const { decision, principal, payload, idempotency_key } = request;
  const payload_digest = digestAhead(run, gateId, payload);
  const kept = record.kept.get(gateId) ?? [];
  const standing = kept.find(({ decided: by }) => by.principal !== null && run.settings.same(by.principal, principal));
  if (standing !== undefined && (standing.decision !== decision || standing.payload_digest !== payload_digest))
    refuse("T5_GATE_CONFLICT", gateId, "has another decision of theirs, which is kept");
  if (standing === undefined) {
    // Without a plan the gates are not known, so all kept decisions share the limit of one gate.
    requireRoom(run, gateId, record.plan === null ? [...record.kept.values()].flat() : kept);
    const { apply_targets, comment } = payload;
    const reported = {
      ...(comment === undefined ? {} : { comment }),
      ...(idempotency_key === undefined ? {} : { idempotency_key }),
    };
    const noted = { gate_id: gateId, decision, principal, auth, payload_digest, apply_targets, ...reported };
    run.log.noteBy(refOf(principal), draft("GATE_DECISION_KEPT", noted));
  }
  return { workflow_id: record.workflow_id, status: "kept", correlation_id: record.correlation_id };
}

/**
 * Returns the digest that a decision ahead of its gate names. @throws KernelErrorException for a decision that cannot
 * be kept.
 */
function digestAhead(run: Run, gateId: string, payload: ParsedGateRequest["payload"]): string {
  const { record } = run.log;
  const step = stepAhead(record, gateId);
  const { payload_digest } = payload;
  if (step?.kind === "ask" || payload.answer !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "is not open yet; a question is answered once it is asked");
  if (payload_digest === undefined)
    return refuse("T5_GATE_CONFLICT", gateId, "is not open yet; name the payload digest to decide ahead");
  if (payload.edit !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "is not open yet; what it shows can be edited when it asks");
  if (payload.target !== undefined || payload.basis_digest !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "is not open yet; its outcome and its basis are not known");
  requireNoSettlement(gateId, payload);
  const unknown = "is not open yet; what is to be signed is not known";
  if (step?.gate?.signed === true) refuse("T5_SIGNATURE_REQUIRED", gateId, unknown);
  if (payload.signature !== undefined) refuse("T5_SIGNATURE_INVALID", gateId, unknown);
  return payload_digest;
}

/**
 * Returns the step of a gate that is not open; null while the workflow has no plan. Any step that has made no call may
 * still get a gate, by policy, an effect or a tag of its operator. @throws KernelErrorException T5_GATE_NOT_FOUND,
 * T5_GATE_CONFLICT.
 */
function stepAhead(
  { plan, steps, state: standing, finished_at, cancelling }: WorkflowRecord,
  gateId: string,
): PlanStep | null {
  const step = plan?.steps.find(({ step_id }) => gateIdOf(step_id) === gateId);
  if (plan !== null && step === undefined) return refuse("T5_GATE_NOT_FOUND", gateId, "is not a gate of this workflow");
  if (finished_at !== null || cancelling !== null)
    refuse("T5_GATE_CONFLICT", gateId, `does not open: the workflow is ${standing}`);
  if (step === undefined) return null;
  const { state, attempt } = steps.get(step.step_id) ?? { state: "queued", attempt: 0 };
  if (isStepDone(state) || attempt > 0)
    refuse("T5_GATE_NOT_FOUND", gateId, `does not open: step ${step.step_id} was called, or has ended, without it`);
  return step;
}

/** Refuses a settlement of a call in doubt at another kind of gate. @throws KernelErrorException T5_GATE_CONFLICT. */
export function requireNoSettlement(gateId: string, { resolution, result }: ParsedGateRequest["payload"]): void {
  if (resolution !== undefined || result !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "is about no call in doubt; only such a gate takes a resolution or a result");
}
