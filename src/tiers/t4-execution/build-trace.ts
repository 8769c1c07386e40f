/** The RequestTrace and the views of a workflow, computed from the folded record. */

import type { KernelProgress } from "../../contract/progress.ts";
import type { QueueStanding } from "../../contract/queue.ts";
import { tracePreview } from "../../contract/step.ts";
import type { RequestTrace, StepTrace } from "../../contract/trace.ts";
import {
  isHeld,
  itemsOf,
  plannedSteps,
  type StepRecord,
  undoingSteps,
  type WorkflowRecord,
} from "../../contract/workflow.ts";
import type { StepView, WorkflowState } from "../../contract/workflow-state.ts";
import { queueOf } from "../../engine/log/queue-entry.ts";

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
  [...plannedSteps(record)].map((s) => ({
    step_id: s.step.step_id,
    skill_name: s.step.operator,
    input_params: s.input,
    status: s.status ?? s.state,
    output_data: s.state === "succeeded" ? tracePreview(s.output) : null,
    attempts: s.attempts,
    policy_events: s.policy_events,
    approval_events: s.approval_events,
  }));

const originOf = ({ fork }: WorkflowRecord): WorkflowState["forked_from"] => {
  if (fork === null) return null;
  const { workflow_id, sequence, step_id, reason } = fork;
  return { workflow_id, sequence, step_id, reason };
};

export const viewWorkflow = (record: WorkflowRecord, progress: KernelProgress): WorkflowState => ({
  workflow_id: record.workflow_id,
  tenant_id: record.tenant_id,
  thread_id: record.thread_id,
  correlation_id: record.correlation_id,
  intent: record.intent,
  plan: record.plan,
  state: record.state,
  compensated: record.compensated,
  rolled_back: record.rolled_back,
  status: record.status,
  paused: record.paused,
  held_by: record.held ?? [],
  queue: standingOf(record),
  error: record.error,
  regenerated_from: record.regenerated_from,
  forked_from: originOf(record),
  forks: record.forks,
  parent: record.parent,
  sequence: record.sequence,
  spent: record.spent,
  accepted_at: record.accepted_at,
  start_at: record.start_at,
  updated_at: record.updated_at,
  finished_at: record.finished_at,
  steps: [...plannedSteps(record), ...undoingSteps(record)].map((step) => viewStep(record, step)),
  gates: [...record.gates.values()],
  outcomes: [...record.outcomes.values()].flat(),
  progress,
  response: { status: record.status, text: record.text || (record.plan?.direct_response ?? "") },
  warnings: [...record.warnings],
});

function standingOf(record: WorkflowRecord): QueueStanding | null {
  const queue = queueOf(record);
  if (queue === undefined) return null;
  const { place, queued_at, debounced } = record;
  return { ...queue, place, queued_at, ...(debounced !== null && { debounced_until: debounced.until }) };
}

const viewStep = (of: WorkflowRecord, record: StepRecord): StepView => ({
  step_id: record.step.step_id,
  name: record.step.name,
  kind: record.step.kind,
  operator: record.step.operator,
  state: record.state,
  phase: record.phase,
  waits_for: record.phase === "parked" ? record.parked : null,
  child: record.child?.workflow_id ?? null,
  ...itemsIn(of, record),
  held_by: isHeld(record) ? (record.held ?? []) : [],
  attempts: record.attempts.length,
  run: record.run,
  depends_on: record.step.depends_on,
  output_text: record.output_text,
  error: record.error,
  skip_reason: record.skip_reason,
});

function itemsIn(of: WorkflowRecord, step: StepRecord): Pick<StepView, "items"> {
  const items = itemsOf(of, step);
  return items === null ? {} : { items };
}
