/** Queues: where a workflow stands in its own, and how many run and wait in each. */
import { commandScopes } from "../contract/auth-context.ts";
import { canonicalJson } from "../contract/digest.ts";
import { draft } from "../contract/event.ts";
import { instantText } from "../contract/instant.ts";
import type { Json } from "../contract/json.ts";
import { readRequest, readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { QueueLimitsRequest, type QueueLimitsResponse, type StoredQueueLimits } from "../contract/queue-limits.ts";
import { type ListedQueue, QueueFilter } from "../contract/queue-page.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import { queueEntryOf } from "../engine/log/queue-entry.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { LineCount, QueueMember, QueuePlace } from "../ports/queue-index.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { TenantCalls } from "./tenant-calls.ts";
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

/** Returns the other workflows in the queue of this one that came before it, without those that it lets go on. */
export async function queuedBefore(
  store: Pick<LedgerStore, "queueMembers">,
  record: WorkflowRecord,
): Promise<readonly string[]> {
  const entry = queueEntryOf(record);
  if (entry === null) return [];
  const { debounced, workflow_id: own } = record;
  const isBefore = ({ since, workflow_id, place }: QueueMember): boolean =>
    (debounced === null || place !== "taken") && (since < entry.since || (since === entry.since && workflow_id < own));
  const members = await store.queueMembers(record.tenant_id, entry.line);
  return members.filter(isBefore).map(({ workflow_id }) => workflow_id);
}

const listRef = moduleRef(0, "gateway", "list");

export interface QueueReadParts {
  readonly store: Pick<LedgerStore, "queueLines" | "queueLimits">;
  readonly gateway: Pick<Gateway, "authorize">;
}

export function createQueueReads({ store, gateway }: QueueReadParts): Pick<TenantCalls, "queues"> {
  return {
    async queues(raw = {}, caller) {
      const { tenant_id, name, after, limit } = readStrictly(QueueFilter, raw, { what: "filter", source: listRef });
      await gateway.authorize(caller, commandScopes.read);
      const page = { limit, ...(name !== undefined && { name }), ...(after !== undefined && { after }) };
      const tenant = tenantFor(tenant_id, caller, listRef);
      const orders = new Map((await store.queueLimits(tenant, name)).map((order) => [order.name, order]));
      return (await store.queueLines(tenant, page)).map((line) => listQueue(line, orders));
    },
  };
}

const limitRef = moduleRef(5, "ego", "limit_queue");
const about = { what: "request", source: limitRef } as const;

export interface QueueLimitParts {
  readonly store: Pick<LedgerStore, "queueLimits">;
  readonly gateway: Pick<Gateway, "authorize">;
  readonly clock: Clock;
  readonly tenantLog: TenantAppend;
  /** Has the queues served: a workflow that waits may begin under the new limits. */
  readonly serve: () => void;
}

/** Sets or lifts the limits of a queue; the order is an event of the tenant's log. The same order changes nothing. */
export async function limitQueue(parts: QueueLimitParts, raw: QueueLimitsRequest): Promise<QueueLimitsResponse> {
  const { store, gateway, clock, tenantLog, serve } = parts;
  const request = readRequest(QueueLimitsRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, name, limits, reason } = request;
  await gateway.authorize({ tenant_id, principal: by }, commandScopes.halt);
  const decide = async () => {
    const [known] = await store.queueLimits(tenant_id, name);
    const isSame = canonicalJson((known?.limits ?? null) as Json) === canonicalJson(limits as Json);
    const order = { name, limits, reason, by, at: instantText(clock.now()) };
    return { drafts: isSame ? [] : [draft("QUEUE_LIMITS_SET", order)], answer: null };
  };
  await tenantLog(tenant_id, decide, by);
  serve();
  return { name, status: limits === null ? "lifted" : "set" };
}

function listQueue(
  { line, running, waiting, oldest, ...own }: LineCount,
  orders: ReadonlyMap<string, StoredQueueLimits>,
): ListedQueue {
  const [name, key] = JSON.parse(line) as [string, string];
  const { limits = null, reason = "", by, at = "" } = orders.get(name) ?? {};
  const concurrency = limits?.concurrency ?? own.concurrency;
  const oldest_waiting = oldest === null ? null : instantText(oldest);
  const set = limits === null || by === undefined ? null : { ...limits, reason, by, at };
  return { name, key, concurrency, running, waiting, oldest_waiting, set };
}
