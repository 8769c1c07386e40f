/**
 * Judges the effects of people's orders against the ledger.
 *
 * 1.  A paused workflow begins nothing, calls nothing again and appends nothing that fell due. A plan that was being
 *     made, the end of a running call, and people's commands are recorded.
 * 2.  No call begins that a halt in the ledger concerns. Work that halts held ends once they are lifted, as all work
 *     does.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { concerns, type Halt } from "../../src/contract/halt.ts";
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
  "WAIT_REMINDED",
]);

export function judgeOrders({ durable }: OutsideWorld): readonly string[] {
  const halts = new Map<string, Halt>();
  const records = new Map<string, WorkflowRecord | null>();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id } = event;
    if (event.event_type === "HALT_SET") {
      const { halt } = payloadOf(event, "HALT_SET");
      halts.set(halt.halt_id, halt);
    }
    if (event.event_type === "HALT_LIFTED") halts.delete(payloadOf(event, "HALT_LIFTED").halt_id);
    if (id === null) continue;
    const record = records.get(id) ?? null;
    if (record !== null && record.paused !== null && begins.has(event.event_type))
      failures.push(`paused: ${event.event_type} of ${event.step_id} in ${id} at ${event.sequence}`);
    const stopped = record === null ? undefined : [...halts.values()].find((halt) => isStopped(event, record, halt));
    if (stopped !== undefined)
      failures.push(`halted: ${event.step_id} in ${id} at ${event.sequence} is called past ${stopped.halt_id}`);
    records.set(id, foldWorkflow(record, event));
  }
  return failures;
}

/** Returns whether the event begins a call that the halt concerns. */
function isStopped(event: LedgerEvent, { intent }: WorkflowRecord, halt: Halt): boolean {
  if (event.event_type !== "ACTION_STARTED") return false;
  const { token, operator_name } = payloadOf(event, "ACTION_STARTED");
  return token !== undefined && concerns(halt, intent) && (halt.of.operator ?? operator_name) === operator_name;
}
