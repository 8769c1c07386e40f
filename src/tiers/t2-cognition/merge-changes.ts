/**
 * The merge of federated memory: the effect of a batch of changes on the present records (FED-02 to FED-05).
 *
 * 1.  Pure. A record is the greatest admitted change of its key by `compareChanges`: the order, the batches and the
 *     repetition of changes do not affect the final records.
 * 2.  A rejected change is compared with nothing and moves no clock.
 */
import type { ParsedMemoryRecord } from "../../contract/context-bundle.ts";
import {
  compareChanges,
  type FederatedChange,
  type FederatedSyncReport,
  type JudgedChange,
  nextVersion,
} from "../../contract/federation.ts";

export interface Merge {
  /** The merged changes in the order of the batch; a key may appear more than once, each time newer. */
  readonly merged: readonly FederatedChange[];
  readonly report: FederatedSyncReport;
}

export function mergeChanges(standing: ReadonlyMap<string, FederatedChange>, changes: readonly JudgedChange[]): Merge {
  const records = new Map(standing);
  const merged: FederatedChange[] = [];
  const stale: string[] = [];
  const rejected: { readonly key: string; readonly reason: string }[] = [];
  for (const { change, refusal } of changes) {
    const { key } = change;
    const stands = records.get(key);
    if (refusal !== null) rejected.push({ key, reason: refusal });
    else if (stands !== undefined && compareChanges(change, stands) <= 0) stale.push(key);
    else {
      records.set(key, change);
      merged.push(change);
    }
  }
  return { merged, report: { applied: merged.length, stale, rejected } };
}

/** Returns the change that a stored record came from; null for one that was never replicated. */
export function changeOf({ key, value, origin, version, capability }: ParsedMemoryRecord): FederatedChange | null {
  return origin === undefined || version === undefined
    ? null
    : { origin, key, value, version, capability: capability ?? "" };
}

/** Returns a merged change as the ledger keeps it: of the tenant, of no thread, with its origin as source. */
export function recordOf(tenantId: string | number, change: FederatedChange): ParsedMemoryRecord {
  const { origin, key, value, version, capability } = change;
  const place = { tenant_id: tenantId, thread_id: null, workflow_id: null };
  return { ...place, key, type: "federated", value, source: origin, confidence: 1, origin, version, capability };
}

/**
 * Stamps a host's own write of a record without a thread: the next version of its key, if the record is to be
 * replicated or replaces one that was.
 */
export function stampRecord(
  record: ParsedMemoryRecord,
  standing: ParsedMemoryRecord | undefined,
  replica: string,
): ParsedMemoryRecord {
  const capability = record.capability ?? standing?.capability;
  if (capability === undefined) return record;
  return { ...record, capability, origin: replica, version: nextVersion(standing?.version ?? 0) };
}
