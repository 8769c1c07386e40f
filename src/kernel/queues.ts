/** Queues: where a workflow stands in its own, and how many run and wait in each. */
import { commandScopes } from "../contract/auth-context.ts";
import { instantText } from "../contract/instant.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { type ListedQueue, QueueFilter } from "../contract/queue.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { queueEntryOf } from "../engine/log/queue-entry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { LineCount, QueueMember, QueuePlace } from "../ports/queue-index.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { Kernel } from "./kernel-interface.ts";
import { tenantFor } from "./tenant-of-read.ts";

const free: QueuePlace = Object.freeze({ isFree: true, ahead: 0 });

/** Returns whether a workflow may take a place in its queue now, and how many wait before it. */
export async function queuePlace(
  { store, now }: { readonly store: Pick<LedgerStore, "queuePlace">; readonly now: () => number },
  record: WorkflowRecord,
): Promise<QueuePlace> {
  const entry = queueEntryOf(record);
  return entry === null ? free : store.queuePlace(record.tenant_id, record.workflow_id, entry, now());
}

/** Returns the other workflows in the queue of this one that came before it. */
export async function queuedBefore(
  store: Pick<LedgerStore, "queueMembers">,
  record: WorkflowRecord,
): Promise<readonly string[]> {
  const entry = queueEntryOf(record);
  if (entry === null) return [];
  const isBefore = ({ since, workflow_id }: QueueMember): boolean =>
    since < entry.since || (since === entry.since && workflow_id < record.workflow_id);
  const members = await store.queueMembers(record.tenant_id, entry.line);
  return members.filter(isBefore).map(({ workflow_id }) => workflow_id);
}

const listRef = moduleRef(0, "gateway", "list");

export interface QueueReadParts {
  readonly store: Pick<LedgerStore, "queueLines">;
  readonly gateway: Pick<Gateway, "authorize">;
}

export function createQueueReads({ store, gateway }: QueueReadParts): Pick<Kernel, "queues"> {
  return {
    async queues(raw = {}, caller) {
      const { tenant_id, name, after, limit } = readStrictly(QueueFilter, raw, { what: "filter", source: listRef });
      await gateway.authorize(caller, commandScopes.read);
      const page = { limit, ...(name !== undefined && { name }), ...(after !== undefined && { after }) };
      return (await store.queueLines(tenantFor(tenant_id, caller, listRef), page)).map(listQueue);
    },
  };
}

function listQueue({ line, concurrency, running, waiting, oldest }: LineCount): ListedQueue {
  const [name, key] = JSON.parse(line) as [string, string];
  return { name, key, concurrency, running, waiting, oldest_waiting: oldest === null ? null : instantText(oldest) };
}
