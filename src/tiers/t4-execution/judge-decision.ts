/**
 * T5's judgement of a person's decision: role, and policy at stage gate, on the gate as it stands open. A decision that was
 * kept is judged when its gate opens: only then is there a payload to judge it by.
 */
import type { AuthContext } from "../../contract/auth-context.ts";
import type { Gate } from "../../contract/gate.ts";
import type { Principal } from "../../contract/intent.ts";
import type { PolicyDecision } from "../../contract/policy.ts";
import { instantOf, noteDecision } from "./note-decision.ts";
import { askFor, type Run } from "./run.ts";

export interface Deciding {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly auth: AuthContext;
}

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN for a role the gate is not for. */
export async function judgeDecision(run: Run, gate: Gate, by: Deciding): Promise<PolicyDecision> {
  const { intent, bundle } = run.log.record;
  const now = instantOf(run, "gate", gate.step_id);
  const judged = await askFor<PolicyDecision>(run, 5, {
    schema: "GateJudgement",
    fn: "decide_gate",
    data: { gate, ...by, intent, context: bundle, now },
  });
  const { gate_id, step_id, payload } = gate;
  noteDecision(run, judged, { stage: "gate", subject: gate_id, step_id, payload, now, by });
  return judged;
}
