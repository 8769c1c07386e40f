/**
 * Why: the causal chain of a workflow, told from its ledger events and nothing else.
 */
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import type { Explanation, StepExplanation } from "../../contract/explanation.ts";
import { gateIdOf, tellCarriers } from "../../contract/gate.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import { explainEffects } from "./explain-effects.ts";

export function explainWorkflow(record: WorkflowRecord, events: readonly LedgerEvent[]): Explanation {
  return {
    workflow_id: record.workflow_id,
    state: record.state,
    why: events.flatMap(lineOf),
    steps: [...record.steps.keys()].map((id) => explainStep(record, id, events)),
    chain: explainEffects(events),
  };
}

function explainStep(record: WorkflowRecord, stepId: string, events: readonly LedgerEvent[]): StepExplanation {
  const step = record.steps.get(stepId) as NonNullable<ReturnType<typeof record.steps.get>>;
  const own = events.filter((e) => e.step_id === stepId);
  // What became of a lost call is settled at a gate of its own, which approves nothing.
  const isApproval = (e: LedgerEvent): boolean =>
    (e.event_type === "USER_APPROVED" || e.event_type === "USER_REJECTED") &&
    payloadOf(e, "USER_APPROVED").gate_id === gateIdOf(stepId);
  const approval = own.findLast(isApproval);
  const isKnown = approval !== undefined && payloadOf(approval, "USER_APPROVED").principal !== null;
  return {
    step_id: stepId,
    name: step.step.name,
    operator: step.step.operator,
    state: step.state,
    allowed_by:
      step.decision === null
        ? "not decided"
        : `${step.decision.decision}: ${step.decision.reason}${step.decision.policies.length > 0 ? ` (${step.decision.policies.join(", ")})` : ""}`,
    approved_by: isKnown ? who(approval) : null,
    attempts: step.attempts.length,
    effect: step.action_id === null ? "none" : `action ${step.action_id}`,
    because: own.flatMap(lineOf),
  };
}

type Line = (event: LedgerEvent) => string | null;

const who = (event: LedgerEvent): string => {
  const { principal, carried_by = [] } = payloadOf(event, "USER_APPROVED");
  if (principal === null) return "the configured expiry";
  return `${principal.type} ${principal.id} (${principal.role})${tellCarriers(carried_by)}`;
};

const lines: { readonly [type: string]: Line } = {
  INTENT_RECEIVED: (e) => {
    const { intent, complexity, pipeline } = payloadOf(e, "INTENT_RECEIVED");
    return `${intent.actor.type} ${intent.actor.id} asked for ${intent.type}@${intent.version}; it was judged ${complexity} and takes the ${pipeline} pipeline`;
  },
  PLAN_CREATED: (e) => {
    const { plan, cause } = payloadOf(e, "PLAN_CREATED");
    return `plan ${plan.plan_id} (${cause}, ${plan.steps.length} steps): ${plan.reasoning}`;
  },
  PLAN_TRUNCATED: (e) => `the plan was cut: ${payloadOf(e, "PLAN_TRUNCATED").dropped.join(", ")} dropped`,
  PLAN_REJECTED: (e) => `there is no plan: ${payloadOf(e, "PLAN_REJECTED").error.message}`,
  POLICY_DECIDED: (e) => {
    const { stage, decision, reason, policies = [], subject } = payloadOf(e, "POLICY_DECIDED");
    return `${e.step_id ?? "plan"}: policy at stage ${stage} said ${decision} on "${subject}" because ${reason}${policies.length > 0 ? ` [${policies.join(", ")}]` : ""}`;
  },
  GATE_OPENED: (e) => {
    const { gate } = payloadOf(e, "GATE_OPENED");
    return `${e.step_id}: ${gate.gate_id} asked a person because ${gate.reasons.map((r) => r.reason).join("; ")}`;
  },
  GATE_REVISED: (e) =>
    `${e.step_id}: ${payloadOf(e, "GATE_REVISED").gate.gate_id} was opened again on a new version (${payloadOf(e, "GATE_REVISED").cause})`,
  USER_APPROVED: (e) =>
    `${e.step_id}: ${who(e)} approved ${payloadOf(e, "USER_APPROVED").gate_id}, payload ${payloadOf(e, "USER_APPROVED").payload_digest.slice(0, 12)}`,
  USER_REJECTED: (e) => `${e.step_id}: ${who(e)} rejected ${payloadOf(e, "USER_REJECTED").gate_id}`,
  GATE_VOTED: (e) => {
    const { gate_id, decision, advisory, on_behalf_of, signature } = payloadOf(e, "GATE_VOTED");
    const how = `${on_behalf_of === null ? "" : `, in the place of ${on_behalf_of.type} ${on_behalf_of.id}`}${signature === null ? "" : ", signed"}${advisory ? ", as advice" : ""}`;
    return `${e.step_id}: ${who(e)} voted to ${decision} ${gate_id}${how}`;
  },
  GATE_VOTE_WITHDRAWN: (e) => {
    const { gate_id, principal } = payloadOf(e, "GATE_VOTE_WITHDRAWN");
    return `${e.step_id}: the vote of ${principal.type} ${principal.id} on ${gate_id} was withdrawn`;
  },
  GATE_DELEGATED: (e) => {
    const { gate_id, from, to, expires_at } = payloadOf(e, "GATE_DELEGATED");
    return `${e.step_id}: ${from.type} ${from.id} lent their seat at ${gate_id} to ${to.type} ${to.id} until ${expires_at}`;
  },
  GATE_ESCALATED: (e) => `${e.step_id}: nobody decided in time; now it is for ${payloadOf(e, "GATE_ESCALATED").role}`,
  GATE_EXPIRED: (e) => `${e.step_id}: nobody decided in time, which means ${payloadOf(e, "GATE_EXPIRED").action}`,
  ACTION_STARTED: (e) =>
    `${e.step_id}: ${payloadOf(e, "ACTION_STARTED").operator_name} was called, attempt ${payloadOf(e, "ACTION_STARTED").attempt}, key ${payloadOf(e, "ACTION_STARTED").key}`,
  ACTION_SUCCEEDED: (e) =>
    `${e.step_id}: ${payloadOf(e, "ACTION_SUCCEEDED").operator_name} succeeded${payloadOf(e, "ACTION_SUCCEEDED").cached ? " (answered from the record)" : ""}`,
  ACTION_FAILED: (e) =>
    `${e.step_id}: attempt ${payloadOf(e, "ACTION_FAILED").attempt} failed: ${payloadOf(e, "ACTION_FAILED").error.message}`,
  ACTION_IN_DOUBT: (e) =>
    `${e.step_id}: nobody knows whether the call took effect: ${payloadOf(e, "ACTION_IN_DOUBT").reason}`,
  ACTION_SETTLED: (e) => `${e.step_id}: a person settled the lost call: ${payloadOf(e, "ACTION_SETTLED").resolution}`,
  OUTCOME_DRAFTED: (e) =>
    `${e.step_id}: drafted ${payloadOf(e, "OUTCOME_DRAFTED").outcome.outcome_type} version ${payloadOf(e, "OUTCOME_DRAFTED").outcome.version}`,
  OUTCOME_FINALIZED: (e) =>
    `${e.step_id}: made ${payloadOf(e, "OUTCOME_FINALIZED").outcome.outcome_type} final as version ${payloadOf(e, "OUTCOME_FINALIZED").outcome.version}`,
  STEP_FAILED: (e) =>
    `${e.step_id}: ${payloadOf(e, "STEP_FAILED").blocked ? "blocked" : "failed"}: ${payloadOf(e, "STEP_FAILED").error.message}`,
  STEP_SKIPPED: (e) => `${e.step_id}: skipped (${payloadOf(e, "STEP_SKIPPED").reason})`,
  ROUTE_DECIDED: (e) => {
    const { decision, refusal, request } = payloadOf(e, "ROUTE_DECIDED");
    if (decision === null) return `${e.step_id}: no model: ${refusal.message}`;
    const { endpoint, reason } = decision;
    const why = reason.kind === "Primary" ? "Primary" : `BudgetFallback, no budget left: ${reason.skipped.join(", ")}`;
    const failed = request.avoid.length === 0 ? "" : `; failed before: ${request.avoid.join(", ")}`;
    return `${e.step_id}: model ${endpoint.name} chosen (${why}${failed})`;
  },
  BUDGET_REFUSED: (e) => `budget refused: ${payloadOf(e, "BUDGET_REFUSED").error.message}`,
  WORKFLOW_COMPLETED: () => "the workflow completed",
  WORKFLOW_FAILED: (e) =>
    `the workflow failed (${payloadOf(e, "WORKFLOW_FAILED").status}): ${payloadOf(e, "WORKFLOW_FAILED").error.message}`,
  WORKFLOW_CANCELLED: (e) => `the workflow was cancelled: ${payloadOf(e, "WORKFLOW_CANCELLED").reason}`,
  WORKFLOW_RESTARTED: (e) =>
    `run ${payloadOf(e, "WORKFLOW_RESTARTED").run} began (${payloadOf(e, "WORKFLOW_RESTARTED").mode})`,
};

function lineOf(event: LedgerEvent): string[] {
  const line = lines[event.event_type]?.(event) ?? null;
  return line === null ? [] : [line];
}
