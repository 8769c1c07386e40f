/** The records that a host writes into a tenant's own log: documents, memory, changes of other replicas. */
import { z } from "zod";
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { DocumentRecord, MemoryRecord, type ParsedMemoryRecord } from "../contract/context-bundle.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import { type FederatedChange, type FederationOptions, requireFewChanges } from "../contract/federation.ts";
import { TenantId } from "../contract/ids.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import { changeOf, stampRecord } from "../tiers/t2-cognition/merge-changes.ts";
import type { Kernel } from "./kernel-interface.ts";
import { attachReport } from "./reports.ts";

export interface RecordParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
  readonly federation: FederationOptions;
  readonly gateway: Gateway;
  /** Refuses once the kernel has stopped. */
  readonly serve: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The schema of a memory record of a host; the kernel adds origin and version. */
const HostMemory = MemoryRecord.omit({ origin: true, version: true });
const ChangeQuery = z.strictObject({ tenant_id: TenantId, limit: z.int().positive().optional() });

export function createRecords(parts: RecordParts): Pick<Kernel, "documents" | "memory" | "attachReport"> {
  const { gateway, serve } = parts;
  return {
    documents: { record: (raw) => serve(() => recordDocument(parts, raw)) },
    memory: {
      write: (raw) => serve(() => writeMemory(parts, parse(HostMemory, raw))),
      sync: (request, caller) => serve(() => gateway.sync(request, caller)),
      changes: (query, caller) => serve(() => readChanges(parts, query, caller)),
    },
    attachReport: (workflowId, report, caller) => serve(() => attachReport(parts, workflowId, { report, caller })),
  };
}

async function recordDocument({ tenantLog }: RecordParts, raw: unknown): Promise<string> {
  const record = parse(DocumentRecord, raw);
  const turn = { drafts: [draft("DOCUMENT_RECORDED", { record })], answer: null };
  return firstOf(await tenantLog(record.tenant_id, () => turn));
}

async function writeMemory(
  { store, tenantLog, federation, runtime }: RecordParts,
  given: ParsedMemoryRecord,
): Promise<string> {
  const { tenant_id, thread_id, key } = given;
  const decide = async () => {
    const standing = thread_id === null ? await store.memory({ tenant_id, thread_id, keys: [key], limit: 1 }) : [];
    const record = thread_id === null ? stampRecord(given, standing[0], federation.replica) : given;
    requireSendable(changeOf(record), runtime);
    return { drafts: [draft("MEMORY_WRITTEN", { record })], answer: null };
  };
  return firstOf(await tenantLog(tenant_id, decide));
}

async function readChanges(
  { store, gateway, runtime }: RecordParts,
  raw: unknown,
  caller: Caller | undefined,
): Promise<readonly FederatedChange[]> {
  const { tenant_id, limit = runtime.limits.maxSyncChanges } = parse(ChangeQuery, raw);
  await gateway.authorize(caller, "memory:sync");
  if ((tenantOf(caller) ?? tenant_id) !== tenant_id)
    raise(kernelError("T5_IDENTITY_VIOLATION", "the caller does not belong to this tenant", recordRef));
  // Records that are not replicated are among them, so the read grows until there are enough, or no more.
  for (let read = limit; ; read *= 2) {
    const stored = await store.memory({ tenant_id, thread_id: null, limit: read });
    const changes = stored.map(changeOf).filter((change) => change !== null);
    if (changes.length >= limit || stored.length < read) return changes.slice(0, limit);
  }
}

/** Refuses a record to replicate that other replicas would refuse. */
function requireSendable(change: FederatedChange | null, { limits }: Runtime): void {
  if (change === null) return;
  takeJson(change.value, { what: "record", source: recordRef });
  requireFewChanges({ changes: [change] }, limits);
}

const firstOf = ({ event_ids: [id] }: { readonly event_ids: readonly string[] }): string => id as string;
const recordRef = moduleRef(0, "kernel", "record");

const parse = <S extends z.ZodType>(schema: S, raw: unknown): z.output<S> =>
  readStrictly(schema, raw, { what: "record", source: recordRef });
