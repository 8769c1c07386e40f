/**
 * A notice without any text of people, models or programs: for channels that may carry the existence of a gate but not
 * its content.
 *
 * 1.  A member is included because it is listed here; a new one is not.
 */

import { plainGate } from "../../contract/events.ts";
import type { Gate } from "../../contract/gate.ts";
import type { GateNotice } from "../../contract/gate-notice.ts";

export const withholdTexts = ({ gate, gate_now, cancelled, ...notice }: GateNotice): GateNotice => ({
  ...notice,
  gate: withoutTexts(gate),
  gate_now: withoutTexts(gate_now),
  cancelled: cancelled && { ...cancelled, reason: "" },
});

function withoutTexts(gate: Gate): Gate {
  const { gate_id, tenant_id, workflow_id, step_id, kind, status, operator, effect, risk_level, estimated_cost } = gate;
  const { target, payload_digest, basis_digest, policy_version, consequences, requester, edited } = gate;
  const { roles, approvers, advisors, quorum, separation, delegation, signed } = gate;
  const { opened_at, due_at, expiry_action, escalate_to, added_roles, principal_types } = gate;
  return {
    ...plainGate,
    ...{ gate_id, tenant_id, workflow_id, step_id, kind, status, operator, effect, risk_level, estimated_cost },
    ...{ target, payload_digest, policy_version, consequences, requester, edited },
    ...{ roles, approvers, advisors, quorum, separation, delegation, signed },
    ...{ opened_at, due_at, expiry_action, escalate_to },
    ...(gate.missing !== undefined && { missing: gate.missing }),
    ...(gate.stages !== undefined && { stages: gate.stages, stage: gate.stage }),
    ...(gate.path !== undefined && { path: gate.path }),
    ...(basis_digest !== undefined && { basis_digest }),
    ...(added_roles !== undefined && { added_roles }),
    ...(principal_types !== undefined && { principal_types }),
    ...(gate.edits !== undefined && { edits: gate.edits.map(({ by, at }) => ({ by, at, changes: [] })) }),
    ...{ title: operator, payload: null, preview: "", diff: null, ui_actions: [] },
    reasons: gate.reasons.map(({ source, rule }) => ({ source, rule, reason: "" })),
    decision: gate.decision && withoutWords(gate.decision),
  };
}

function withoutWords({ result_digest: _, ...decision }: NonNullable<Gate["decision"]>): Gate["decision"] {
  return { ...decision, comment: null, apply_targets: [], signature: null };
}
