/** The instant at which the work of a workflow may begin. */
import type { WorkflowRecord } from "./workflow.ts";

/**
 * Returns when the work of an accepted workflow may begin, epoch ms; null if it has begun or may begin at once. One
 * that has joined its queue has reached its start, whatever the clock of another process says.
 */
export function startOf(record: Pick<WorkflowRecord, "state" | "start_at" | "debounced" | "place">): number | null {
  const start = record.start_at ?? record.debounced?.until ?? null;
  return record.state === "accepted" && record.place === null && start !== null ? Date.parse(start) : null;
}
