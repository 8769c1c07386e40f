/** The RequestTrace and the views of a workflow, computed from the folded record (seed 002 section 14). */

import type { KernelProgress } from "../../contract/progress.ts";
import { tracePreview } from "../../contract/step.ts";
import type { RequestTrace, StepTrace } from "../../contract/trace.ts";
import type { WorkflowRecord, WorkflowState } from "../../contract/workflow.ts";

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

function stepTraces(record: WorkflowRecord): StepTrace[] {
  return [...record.steps.values()].map((s) => ({
    step_id: s.step.step_id,
    skill_name: s.step.operator,
    input_params: s.input,
    status: s.status ?? s.state,
    output_data: s.state === "succeeded" ? tracePreview(s.output) : null,
    attempts: s.attempts,
    policy_events: s.policy_events,
    approval_events: s.approval_events,
  }));
}

/** A trace that is being written elsewhere: appended once per step id, attempts per try (TRC-03). */
export function appendStepTrace(steps: readonly StepTrace[], trace: StepTrace): readonly StepTrace[] {
  return steps.some((s) => s.step_id === trace.step_id) ? steps : [...steps, trace];
}

export function viewWorkflow(record: WorkflowRecord, progress: KernelProgress): WorkflowState {
  const {
    workflow_id,
    tenant_id,
    thread_id,
    correlation_id,
    intent,
    plan,
    state,
    status,
    warnings,
    error,
    parent_workflow_id,
    sequence,
    spent,
    accepted_at,
    updated_at,
    finished_at,
  } = record;
  return {
    workflow_id,
    tenant_id,
    thread_id,
    correlation_id,
    intent,
    plan,
    state,
    status,
    steps: [...record.steps.values()].map((s) => ({
      step_id: s.step.step_id,
      name: s.step.name,
      operator: s.step.operator,
      state: s.state,
      phase: s.phase,
      attempts: s.attempts.length,
      run: s.run,
      depends_on: s.step.depends_on,
      output_text: s.output_text,
      error: s.error,
      skip_reason: s.skip_reason,
    })),
    gates: [...record.gates.values()],
    outcomes: [...record.outcomes.values()].flat(),
    progress,
    response: { status, text: record.text || (plan?.direct_response ?? "") },
    warnings: [...warnings],
    error,
    parent_workflow_id,
    sequence,
    spent,
    accepted_at,
    updated_at,
    finished_at,
  };
}
