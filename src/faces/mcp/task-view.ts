/**
 * A workflow as a task: in the form of 2025-11-25, in which failed work is a failed task, and in that of the Tasks
 * extension of 2026-07-28, in which it is a completed one whose result is an error.
 *
 * 1.  A task's id is its workflow's: any process on the ledger can show it, and only to its tenant.
 * 2.  A task is read from the ledger each time; nothing of it is kept here, so it never expires (ttl null).
 */
import type { Task } from "@modelcontextprotocol/server";
import type { WorkflowStateName } from "../../contract/progress.ts";
import type { WorkflowState, WorkflowSummary } from "../../index.ts";
import { questionKey } from "../../protocol/name-question.ts";
import { openGates } from "../../protocol/tell-gate.ts";
import { askableGates, toQuestion } from "./ask-person.ts";
import { resultOf } from "./run-workflow.ts";

const statuses: { readonly [S in WorkflowStateName]: Task["status"] } = {
  accepted: "working",
  planned: "working",
  running: "working",
  waiting_for_user: "input_required",
  waiting: "working",
  cancelling: "working",
  compensating: "working",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

function baseOf(state: WorkflowState) {
  const { workflow_id, accepted_at, updated_at } = state;
  return {
    taskId: workflow_id,
    status: statuses[state.state],
    statusMessage: messageOf(state),
    createdAt: accepted_at,
    lastUpdatedAt: updated_at,
  };
}

function messageOf(of: WorkflowState): string {
  const { state, error, progress } = of;
  const gates = openGates(of);
  if (error !== null) return `${error.code}: ${error.message}`;
  if (gates.length > 0) return gates.map(({ gate_id, title }) => `${gate_id}: ${title}`).join("; ");
  return progress.current_step === null ? state : `${state}: ${progress.current_step.name}`;
}

/** Returns a task in the form of 2025-11-25. */
export const toTask = (state: WorkflowState, pollInterval: number): Task => ({
  ...baseOf(state),
  ttl: null,
  pollInterval,
});

/** Returns a task of a list, in the form of 2025-11-25: the facts that are known without reading its workflow. */
export function toListedTask(of: WorkflowSummary, pollInterval: number): Task {
  const { workflow_id, state, title, open_gates, created_at, updated_at } = of;
  return {
    taskId: workflow_id,
    status: statuses[state],
    statusMessage: open_gates === 0 ? `${state}: ${title}` : `${state} at ${open_gates} open gates: ${title}`,
    createdAt: created_at,
    lastUpdatedAt: updated_at,
    ttl: null,
    pollInterval,
  };
}

/**
 * Returns a task in the extension's form, without the members of its status. A failed tool has completed, with an error
 * as its result.
 */
export function toExtensionTask(state: WorkflowState, pollIntervalMs: number) {
  const base = baseOf(state);
  return { ...base, status: base.status === "failed" ? "completed" : base.status, ttlMs: null, pollIntervalMs };
}

/**
 * Returns a task in the extension's form, with questions or result. Questions are included only for a caller who may
 * answer them, and can put them.
 */
export function toDetailedTask(state: WorkflowState, pollIntervalMs: number, mayAsk: boolean) {
  const task = toExtensionTask(state, pollIntervalMs);
  if (task.status === "input_required") return { ...task, inputRequests: mayAsk ? questionsOf(state) : {} };
  if (task.status === "completed") return { ...task, result: resultOf(state) };
  return task;
}

const questionsOf = (state: WorkflowState) =>
  Object.fromEntries(askableGates(state).map((gate) => [questionKey(gate), toQuestion(gate)]));
