/**
 * Changes of other replicas, merged into the tenant's memory ledger: one row with a MEMORY_WRITTEN for each merged change
 * and one MEMORY_SYNCED with the report (FED-02, FED-06; C-39).
 *
 * S1  Decided on what stands when it is appended: a writer who was faster makes it decide again.
 * S2  What was stale or rejected is told to T6 in one Signal, after the commit.
 */
import type { Caller } from "../../contract/auth-context.ts";
import { draft } from "../../contract/event.ts";
import type { FederatedSyncReport, JudgedChange } from "../../contract/federation.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
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

interface Judged {
  readonly tenant_id: string | number;
  readonly changes: readonly JudgedChange[];
  readonly caller: Caller | null;
}

export async function syncMemory(signal: Signal, runtime: Runtime, { memory, append }: MemoryLedger): Promise<Result> {
  const { tenant_id, changes, caller } = signal.body["data"] as Judged;
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
  return answerData(runtime, signal, { data: report, schema: "FederatedSyncReport", ref: federationRef });
}

interface Synced {
  readonly tenant_id: string | number;
  readonly report: FederatedSyncReport;
  readonly event_ids: readonly string[];
}

function alert(signal: Signal, runtime: Runtime, { tenant_id, report, event_ids }: Synced): void {
  const { stale, rejected } = report;
  const data = { type: "federated_sync", tenant_id, event_id: event_ids.at(-1), stale, rejected };
  const tags = { source_type: "system" };
  const about = { parentId: signal.id };
  runtime.send(
    6,
    runtime.signals.createDataSignal(data, "FederatedSyncAlert", federationRef, signal.trace_id, tags, about),
  );
}
