/**
 * Orders of people, held against what happened.
 *
 * 1.  A paused workflow begins nothing, calls nothing again and notes nothing that fell due. A plan that was being made, the
 *     end of a call that was under way, and what people say are recorded.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

const begins: ReadonlySet<string> = new Set([
  "WORKFLOW_STARTED",
  "WORKFLOW_COMPLETED",
  "STEP_STARTED",
  "STEP_PARKED",
  "STEP_RESUMED",
  "STEP_SUCCEEDED",
  "ACTION_STARTED",
  "ACTION_RETRY_SCHEDULED",
  "GATE_OPENED",
  "GATE_EXPIRED",
  "GATE_ESCALATED",
  "GATE_REMINDED",
]);

export function judgeOrders({ durable }: OutsideWorld): readonly string[] {
  const records = new Map<string, WorkflowRecord | null>();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const record = records.get(id) ?? null;
    if (record !== null && record.paused !== null && begins.has(event.event_type))
      failures.push(`paused: ${event.event_type} of ${event.step_id} in ${id} at ${event.sequence}`);
    records.set(id, foldWorkflow(record, event));
  }
  return failures;
}
