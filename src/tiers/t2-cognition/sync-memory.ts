/**
 * Merges changes of other replicas into the tenant's memory ledger: one row with a MEMORY_WRITTEN for each merged
 * change and one MEMORY_SYNCED with the report (FED-02, FED-06).
 *
 * 1.  The merge is decided on the state at its append: after a conflicting append it is decided again.
 * 2.  T6 receives the stale and rejected changes in one Signal, after the commit.
 */
import { draft } from "../../contract/event.ts";
import type { FederatedSyncReport } from "../../contract/federation.ts";
import type { JudgedChanges } from "../../contract/messages/t2.ts";
import { t6 } from "../../contract/messages/t6.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Visit } from "../../engine/actors/answer-messages.ts";
import { signalFor } from "../../engine/actors/ask-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { TenantAppend, TenantTurn } from "../../engine/log/tenant-log.ts";
import type { LedgerReader } from "./build-context.ts";
import { changeOf, mergeChanges, recordOf } from "./merge-changes.ts";

export interface MemoryLedger {
  readonly memory: LedgerReader["memory"];
  /** Appends to the tenant's own log. */
  readonly append: TenantAppend;
}

const federationRef = moduleRef(2, "federation", "merge");

export async function syncMemory(
  { tenant_id, changes, caller }: JudgedChanges,
  { signal, runtime }: Visit,
  { memory, append }: MemoryLedger,
): Promise<FederatedSyncReport> {
  const keys = [...new Set(changes.filter((c) => c.refusal === null).map((c) => c.change.key))];
  const decide = async (): Promise<TenantTurn<FederatedSyncReport>> => {
    const stored = keys.length === 0 ? [] : await memory({ tenant_id, thread_id: null, keys, limit: keys.length });
    const standing = stored.map(changeOf).filter((change) => change !== null);
    const { merged, report } = mergeChanges(new Map(standing.map((change) => [change.key, change])), changes);
    const records = merged.map((change) => recordOf(tenant_id, change));
    const written = records.map((record) => draft("MEMORY_WRITTEN", { record }));
    const drafts = changes.length === 0 ? [] : [...written, draft("MEMORY_SYNCED", { report })];
    return { drafts, answer: report };
  };
  const { event_ids, answer: report } = await append(tenant_id, decide, caller?.principal);
  if (report.stale.length > 0 || report.rejected.length > 0) alert(signal, runtime, { tenant_id, report, event_ids });
  return report;
}

interface Synced {
  readonly tenant_id: string | number;
  readonly report: FederatedSyncReport;
  readonly event_ids: readonly string[];
}

function alert(signal: Signal, runtime: Runtime, { tenant_id, report, event_ids }: Synced): void {
  const { stale, rejected } = report;
  const data = { type: "federated_sync", tenant_id, event_id: event_ids.at(-1), stale, rejected };
  const by = { source: federationRef, traceId: signal.trace_id, parentId: signal.id, tags: { source_type: "system" } };
  runtime.send(t6.alertSync.to, signalFor(runtime, t6.alertSync, data, by));
}
