/**
 * A decision that comes before its gate opens.
 *
 * K1  It is kept if it names the digest of what the gate will show, and holds if that is what opens.
 * K2  What is made of what a gate shows, an edit or a signature, is not kept: it waits for the gate.
 */
import type { AuthContext } from "../../../contract/auth-context.ts";
import type { ErrorCode } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import { type GateResponse, gateIdOf, type ParsedGateRequest } from "../../../contract/gate.ts";
import { refOf } from "../../../contract/gate-vote.ts";
import { refuseAt, requireRoom } from "./refuse-at-gate.ts";
import type { Run } from "./run.ts";

export interface Asked {
  readonly request: ParsedGateRequest;
  readonly auth: AuthContext;
}

const refuse = (code: ErrorCode, gateId: string, why: string): never =>
  refuseAt(gateId, `${gateId} ${why}`, { code, fn: "keep_decision" });

/** One of each person is kept, for who may decide is known when the gate opens: then the first that holds counts. */
export function keepDecision(run: Run, gateId: string, { request, auth }: Asked): GateResponse {
  const { record } = run.log;
  const { decision, principal, payload, idempotency_key } = request;
  const payload_digest = digestAhead(run, gateId, payload);
  const kept = record.kept.get(gateId) ?? [];
  const standing = kept.find(({ decided: by }) => by.principal !== null && run.settings.same(by.principal, principal));
  if (standing !== undefined && (standing.decision !== decision || standing.payload_digest !== payload_digest))
    refuse("T5_GATE_CONFLICT", gateId, "has another decision of theirs, which is kept");
  if (standing === undefined) {
    requireRoom(run, gateId, kept);
    const { apply_targets, comment } = payload;
    const told = {
      ...(comment === undefined ? {} : { comment }),
      ...(idempotency_key === undefined ? {} : { idempotency_key }),
    };
    const noted = { gate_id: gateId, decision, principal, auth, payload_digest, apply_targets, ...told };
    run.log.noteBy(refOf(principal), draft("GATE_DECISION_KEPT", noted));
  }
  return { workflow_id: record.workflow_id, status: "kept", correlation_id: record.correlation_id };
}

function digestAhead({ log: { record } }: Run, gateId: string, payload: ParsedGateRequest["payload"]): string {
  if (record.plan?.gates.includes(gateId) !== true)
    return refuse("T5_GATE_NOT_FOUND", gateId, "is not a gate of this workflow");
  if (payload.payload_digest === undefined || record.finished_at !== null)
    return refuse("T5_GATE_CONFLICT", gateId, "is not open yet; name the payload digest to decide ahead");
  if (payload.edit !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "is not open yet; what it shows can be edited when it asks");
  requireNoSettlement(gateId, payload);
  const spec = record.plan.steps.find((step) => gateIdOf(step.step_id) === gateId)?.gate;
  const unknown = "is not open yet; what is to be signed is not known";
  if (spec?.signed === true) refuse("T5_SIGNATURE_REQUIRED", gateId, unknown);
  if (payload.signature !== undefined) refuse("T5_SIGNATURE_INVALID", gateId, unknown);
  return payload.payload_digest;
}

/** What became of a call is said where that is asked. @throws KernelErrorException T5_GATE_CONFLICT. */
export function requireNoSettlement(gateId: string, { resolution, result }: ParsedGateRequest["payload"]): void {
  if (resolution !== undefined || result !== undefined)
    refuse("T5_GATE_CONFLICT", gateId, "asks whether to call; only a call in doubt has a resolution or a result");
}
