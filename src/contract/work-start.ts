/** The instant at which the work of a workflow may begin. */
import type { WorkflowRecord } from "./workflow.ts";

/** Returns when the work of an accepted workflow may begin, epoch ms; null if it has begun or may begin at once. */
export function startOf(record: Pick<WorkflowRecord, "state" | "start_at" | "debounced">): number | null {
  const start = record.start_at ?? record.debounced?.until ?? null;
  return record.state === "accepted" && start !== null ? Date.parse(start) : null;
}
