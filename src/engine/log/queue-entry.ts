/** The entry of a workflow in its queue, derived from its record. */
import { inFlightQueue, lineOf, type QueueTicket } from "../../contract/queue.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { QueueEntry } from "../../ports/queue-index.ts";

/** Returns the queue of a workflow: that of its request, or the one for a place among `limits.maxInFlight`. */
export function queueOf({ intent, in_flight }: Pick<WorkflowRecord, "intent" | "in_flight">): QueueTicket | undefined {
  if (intent.queue !== undefined || in_flight === null) return intent.queue;
  return { name: inFlightQueue, key: "", concurrency: in_flight.limit, priority: 0 };
}

/** Returns the entry that a workflow has, or would have while it waits for a place; null if it needs none. */
export function queueEntryOf(record: WorkflowRecord): QueueEntry | null {
  const queue = queueOf(record);
  if (queue === undefined) return null;
  const { place, run_began_at, start_at, debounced } = record;
  const { priority, concurrency, rate, max_waiting: maxWaiting } = queue;
  // One that supersedes others has their turn.
  const joined = Math.max(Date.parse(run_began_at), start_at === null ? 0 : Date.parse(start_at));
  const since = debounced === null || record.run > 1 ? joined : Date.parse(debounced.from);
  const standing = place ?? (debounced === null ? "waiting" : "upcoming");
  const entry: QueueEntry = { line: lineOf(queue), place: standing, priority, since, concurrency };
  return { ...entry, ...(rate !== undefined && { rate }), ...(maxWaiting !== undefined && { maxWaiting }) };
}

/**
 * Returns the entry that the index holds of a workflow. One that waits and that a person or a halt holds back leaves
 * its line, so that it keeps nobody waiting; it comes back to where it was. Where the length of the line is bounded, or
 * a request replaces or supersedes those before it, a workflow is in the line from its first row on. The places among
 * `limits.maxInFlight` are those of a process, which counts them itself: the index holds who waits for one.
 */
export function indexedEntryOf(record: WorkflowRecord, begins: boolean): QueueEntry | null {
  const { place, paused, held } = record;
  const waits = place === "waiting" || (place === null && joinsAtOnce(record));
  const isIn = (place === "taken" && record.intent.queue !== undefined) || (waits && paused === null && held === null);
  const entry = isIn ? queueEntryOf(record) : null;
  return entry !== null && begins ? { ...entry, begins } : entry;
}

function joinsAtOnce({ intent: { queue }, state, start_at, debounced }: WorkflowRecord): boolean {
  const isSeen = queue?.max_waiting !== undefined || queue?.singleton === "replace" || debounced !== null;
  return isSeen && state === "accepted" && start_at === null;
}
