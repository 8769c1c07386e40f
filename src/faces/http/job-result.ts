/**
 * The result of a workflow as a Result: its outcomes as DATA Signals, its text as a TEXT Signal.
 *
 * 1.  A workflow that ended with an error is that error; one that was cancelled without an error is skipped.
 */
import { moduleRef } from "../../contract/module-ref.ts";
import { fail, type Metrics, metricsOf, ok, type Result, skip } from "../../contract/result.ts";
import { ambientSignals, type Signal } from "../../contract/signal.ts";
import type { Outcome, WorkflowState } from "../../index.ts";

const jobRef = moduleRef(0, "http", "job_result");

export function resultOfJob(workflow: WorkflowState): Result {
  const { state, error } = workflow;
  if (error !== null && state !== "completed") return fail(error, measure(workflow));
  if (state === "cancelled") return skip("the workflow was cancelled", measure(workflow));
  return ok(signalsOf(workflow), measure(workflow));
}

function measure({ accepted_at, finished_at, updated_at }: WorkflowState): Metrics {
  const duration_ms = Math.max(0, Date.parse(finished_at ?? updated_at) - Date.parse(accepted_at));
  return metricsOf(jobRef, { duration_ms });
}

function signalsOf({ outcomes, response, correlation_id: trace }: WorkflowState): readonly Signal[] {
  const data = outcomes.map((outcome) => toData(outcome, trace));
  return response.text === "" ? data : [...data, ambientSignals.createTextSignal(response.text, jobRef, trace)];
}

function toData({ outcome_type, content, outcome_id, status, version }: Outcome, trace: string): Signal {
  const tags = { outcome_id, status, version: String(version) };
  return ambientSignals.createDataSignal(content, outcome_type, jobRef, trace, tags);
}
