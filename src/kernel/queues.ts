/** Queues: where a workflow stands in its own. */
import type { WorkflowRecord } from "../contract/workflow.ts";
import { queueEntryOf } from "../engine/log/queue-entry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { QueuePlace } from "../ports/queue-index.ts";

const free: QueuePlace = Object.freeze({ isFree: true, ahead: 0 });

/** Returns whether a workflow may take a place in its queue now, and how many wait before it. */
export async function queuePlace(store: Pick<LedgerStore, "queuePlace">, record: WorkflowRecord): Promise<QueuePlace> {
  const entry = queueEntryOf(record);
  return entry === null ? free : store.queuePlace(record.tenant_id, record.workflow_id, entry);
}
