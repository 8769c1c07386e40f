/**
 * What people should know of what was committed, as lines of a log: gates, refusals, failures, calls in doubt.
 *
 * G1  A line has ids, codes and names; no payload, no message that an operator or a caller could have written into.
 */
import { type EventType, type LedgerEvent, payloadOf } from "../contract/event.ts";
import type { Commit, Logger } from "../index.ts";
import { traceIdOf } from "./workflow-ids.ts";

type Say = readonly ["info" | "warn" | "error", string, object];

const said: { readonly [T in EventType]?: (event: LedgerEvent) => Say | null } = {
  INTENT_REJECTED: (e) => ["warn", "a request was refused", codeOf(payloadOf(e, "INTENT_REJECTED"))],
  PLAN_REJECTED: (e) => ["warn", "a plan was refused", codeOf(payloadOf(e, "PLAN_REJECTED"))],
  WORKFLOW_COMPLETED: () => ["info", "a workflow was completed", {}],
  WORKFLOW_FAILED: (e) => ["warn", "a workflow failed", codeOf(payloadOf(e, "WORKFLOW_FAILED"))],
  WORKFLOW_CANCELLED: () => ["info", "a workflow was cancelled", {}],
  STEP_FAILED: (e) => ["warn", "a step failed", codeOf(payloadOf(e, "STEP_FAILED"))],
  POLICY_DECIDED(e) {
    const { stage, decision, decided_by: rule = null } = payloadOf(e, "POLICY_DECIDED");
    return decision === "DENY" ? ["warn", "policy denied", { stage, rule }] : null;
  },
  BUDGET_REFUSED: (e) => ["warn", "a budget refused", codeOf(payloadOf(e, "BUDGET_REFUSED"))],
  ACTION_IN_DOUBT: (e) => ["warn", "what became of a call is not known", pick(e, "action_id")],
  OPERATOR_ALERT(e) {
    const { operator_name: operator, error } = payloadOf(e, "OPERATOR_ALERT");
    return ["error", "an operator is broken", { operator, code: error.code }];
  },
  GATE_OPENED: (e) => ["info", "a gate was opened", { gate_id: payloadOf(e, "GATE_OPENED").gate.gate_id }],
  USER_APPROVED: (e) => ["info", "a gate was approved", pick(e, "gate_id")],
  USER_REJECTED: (e) => ["info", "a gate was rejected", pick(e, "gate_id")],
  GATE_EXPIRED: (e) => ["info", "a gate expired", pick(e, "gate_id")],
};

const codeOf = ({ error }: { readonly error: { readonly code: string } }) => ({ code: error.code });
const pick = ({ payload }: LedgerEvent, name: string) => ({ [name]: payload[name] });

/** What another process appended stands in that one's log. */
export function logCommit({ events, own }: Commit, logger: Logger, guard: (work: () => unknown) => void): void {
  if (!own) return;
  for (const event of events) {
    const say = said[event.event_type]?.(event) ?? null;
    if (say !== null) guard(() => logger[say[0]]({ ...whereOf(event), ...say[2] }, say[1]));
  }
}

/** What ties a line to its workflow, its trace and whoever asked. */
const whereOf = ({ workflow_id, correlation_id, tenant_id, step_id }: LedgerEvent) => ({
  workflow_id,
  trace_id: workflow_id === null ? null : traceIdOf(workflow_id),
  correlation_id,
  tenant_id,
  ...(step_id === null ? {} : { step_id }),
});
