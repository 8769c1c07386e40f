/** The RequestTrace and the views of a workflow, computed from the folded record (seed 002 section 14). */

import type { KernelProgress } from "../../contract/progress.ts";
import { tracePreview } from "../../contract/step.ts";
import type { RequestTrace, StepTrace } from "../../contract/trace.ts";
import type { StepRecord, WorkflowRecord } from "../../contract/workflow.ts";
import type { StepView, WorkflowState } from "../../contract/workflow-state.ts";

/** @param isModelCall whether an operator is a model call, for `llm_calls`. */
export function traceOf(record: WorkflowRecord, isModelCall: (operator: string) => boolean): RequestTrace {
  const { workflow_id, plan, status, error, accepted_at, finished_at } = record;
  return {
    request_id: workflow_id,
    plan,
    steps: stepTraces(record),
    llm_calls: [...record.actions.values()]
      .filter((a) => isModelCall(a.record.operator_name))
      .map(({ record: { action_id, operator_name, trace, tokens, cost } }) => ({
        action_id,
        operator_name,
        trace,
        tokens,
        cost,
      })),
    status,
    duration: finished_at === null ? null : Date.parse(finished_at) - Date.parse(accepted_at),
    ...(error === null ? {} : { error }),
  };
}

const stepTraces = (record: WorkflowRecord): StepTrace[] =>
  [...record.steps.values()].map((s) => ({
    step_id: s.step.step_id,
    skill_name: s.step.operator,
    input_params: s.input,
    status: s.status ?? s.state,
    output_data: s.state === "succeeded" ? tracePreview(s.output) : null,
    attempts: s.attempts,
    policy_events: s.policy_events,
    approval_events: s.approval_events,
  }));

/** Fields that callers see as the fold keeps them. */
const shown = [
  "workflow_id",
  "tenant_id",
  "thread_id",
  "correlation_id",
  "intent",
  "plan",
  "state",
  "status",
  "error",
  "parent_workflow_id",
  "sequence",
  "spent",
  "accepted_at",
  "updated_at",
  "finished_at",
] as const;

export function viewWorkflow(record: WorkflowRecord, progress: KernelProgress): WorkflowState {
  const { plan, status, warnings } = record;
  const same = Object.fromEntries(shown.map((name) => [name, record[name]])) as Pick<
    WorkflowRecord,
    (typeof shown)[number]
  >;
  return {
    ...same,
    steps: [...record.steps.values()].map(viewStep),
    gates: [...record.gates.values()],
    outcomes: [...record.outcomes.values()].flat(),
    progress,
    response: { status, text: record.text || (plan?.direct_response ?? "") },
    warnings: [...warnings],
  };
}

const viewStep = ({ step, attempts, ...s }: StepRecord): StepView => ({
  step_id: step.step_id,
  name: step.name,
  operator: step.operator,
  state: s.state,
  phase: s.phase,
  attempts: attempts.length,
  run: s.run,
  depends_on: step.depends_on,
  output_text: s.output_text,
  error: s.error,
  skip_reason: s.skip_reason,
});
