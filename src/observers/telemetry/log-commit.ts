/**
 * Logs committed events that people should know: gates, refusals, failures, calls in doubt.
 *
 * 1.  A line has ids, codes and names; no payload, no message that an operator or a caller could have written into.
 */
import type { LedgerEvent } from "../../contract/event.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";
import type { Commit, Logger } from "../../index.ts";
import { traceIdOf } from "./workflow-ids.ts";

type Say = readonly ["info" | "warn" | "error", string, object];

type Coded = { readonly error: { readonly code: string } };

const warn =
  (what: string) =>
  ({ error }: Coded): Say => ["warn", what, { code: error.code }];
const describeGate =
  (what: string) =>
  ({ gate_id }: { readonly gate_id: string }): Say => ["info", what, { gate_id }];

const lines: EventReaders<Say | null> = {
  INTENT_REJECTED: warn("a request was refused"),
  PLAN_REJECTED: warn("a plan was refused"),
  WORKFLOW_COMPLETED: () => ["info", "a workflow was completed", {}],
  WORKFLOW_FAILED: warn("a workflow failed"),
  WORKFLOW_CANCELLING: () => ["info", "a workflow is being cancelled", {}],
  WORKFLOW_ROLLING_BACK: ({ steps }) => ["info", "a workflow is rolled back", { steps: steps.length }],
  WORKFLOW_COMPENSATING: ({ steps }) => ["info", "what a workflow has done is being undone", { steps: steps.length }],
  WORKFLOW_CANCELLED: () => ["info", "a workflow was cancelled", {}],
  STEP_FAILED: warn("a step failed"),
  POLICY_DECIDED: ({ stage, decision, decided_by: rule = null }) =>
    decision === "DENY" ? ["warn", "policy denied", { stage, rule }] : null,
  BUDGET_REFUSED: warn("a budget refused"),
  ACTION_IN_DOUBT: ({ action_id }) => ["warn", "what became of a call is not known", { action_id }],
  OPERATOR_ALERT: ({ operator_name: operator, error }) => [
    "error",
    "an operator is broken",
    { operator, code: error.code },
  ],
  GATE_OPENED: ({ gate }) => describeGate("a gate was opened")(gate),
  USER_APPROVED: describeGate("a gate was approved"),
  USER_REJECTED: describeGate("a gate was rejected"),
  GATE_EXPIRED: describeGate("a gate expired"),
};

/** Logs a commit; events of another process are in that process's log. */
export function logCommit({ events, own }: Commit, logger: Logger, guard: (work: () => unknown) => void): void {
  if (!own) return;
  for (const event of events) {
    const say = readEvent(lines, event) ?? null;
    if (say !== null) guard(() => logger[say[0]]({ ...whereOf(event), ...say[2] }, say[1]));
  }
}

/** Returns the members that identify a line's workflow, trace and requester. */
const whereOf = ({ workflow_id, correlation_id, tenant_id, step_id }: LedgerEvent) => ({
  workflow_id,
  trace_id: workflow_id === null ? null : traceIdOf(workflow_id),
  correlation_id,
  tenant_id,
  ...(step_id === null ? {} : { step_id }),
});
