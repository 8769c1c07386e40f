/**
 * The context builder: references and compact summaries from the ledgers.
 *
 * 1.  Deterministic: the same ledger state gives the same bundle and the same hash.
 * 2.  Cached under the intent, the principal, the objective and the version of the ledgers it read; a hit reads nothing
 *     but that version.
 * 3.  Personal fields are masked where the caller may not see them.
 * 4.  The bundle stays under `limits.maxBundleChars`; contents never enter it.
 */

import type { AuthContext } from "../../contract/auth-context.ts";
import type { ContextBundle, ParsedDocumentRecord } from "../../contract/context-bundle.ts";
import { digest } from "../../contract/digest.ts";
import type { KernelError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { instantText } from "../../contract/instant.ts";
import type { Intent } from "../../contract/intent.ts";
import { deepFreeze, type Json, type JsonObject } from "../../contract/json.ts";
import type { ContextQuestion } from "../../contract/messages/t2.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { StoredMemory, WorkflowHead } from "../../ports/ledger-store.ts";

/** The ledgers that the builder may read; it reads nothing else. */
export interface LedgerReader {
  readonly version: (tenantId: string | number, threadId: string | number | null) => Promise<number>;
  readonly memory: (query: {
    readonly tenant_id: string | number;
    readonly thread_id?: string | number | null;
    readonly keys?: readonly string[];
    readonly limit: number;
  }) => Promise<readonly StoredMemory[]>;
  readonly documents: (
    tenantId: string | number,
    ids: readonly (string | number)[],
  ) => Promise<readonly ParsedDocumentRecord[]>;
  readonly threadWorkflows: (
    tenantId: string | number,
    threadId: string | number,
    limit: number,
  ) => Promise<readonly WorkflowHead[]>;
  readonly matchMemory: (
    text: string,
    records: readonly StoredMemory[],
  ) => readonly { readonly record: StoredMemory; readonly score: number }[];
}

export interface BuiltContext {
  readonly bundle: ContextBundle;
  readonly cache_hit: boolean;
  /** Set when the cache had to let something go. */
  readonly pressure: KernelError | null;
}

export interface ContextBuilder {
  /** Builds the context; synchronously if no ledger is read. */
  readonly build: (question: ContextQuestion, runtime: Runtime) => BuiltContext | Promise<BuiltContext>;
  readonly clear: () => void;
}

export function createContextBuilder(reader: LedgerReader): ContextBuilder {
  const cache = new Map<string, ContextBundle>();
  return {
    clear: () => cache.clear(),
    build(question, runtime) {
      runtime.telemetry.mark?.("memory.load", { workflow_id: question.workflow_id });
      if (readsLedgers(question)) return readContext({ reader, cache, question, runtime });
      runtime.telemetry.mark?.("memory.augment", { workflow_id: question.workflow_id });
      return { bundle: seal(emptyBundle(question), question.auth, runtime), cache_hit: false, pressure: null };
    },
  };
}

interface Reading {
  readonly reader: LedgerReader;
  readonly cache: Map<string, ContextBundle>;
  readonly question: ContextQuestion;
  readonly runtime: Runtime;
}

async function readContext({ reader, cache, question, runtime }: Reading): Promise<BuiltContext> {
  const key = await cacheKey(reader, question);
  const known = cache.get(key);
  if (known !== undefined) return { bundle: known, cache_hit: true, pressure: null };
  const bundle = seal(await readBundle(reader, question, runtime), question.auth, runtime);
  return { bundle, cache_hit: false, pressure: keep(cache, { key, bundle, limit: runtime.limits.maxCachedBundles }) };
}

/** Returns whether ledgers are read: without a thread, a scope, documents or references there is nothing to look up. */
function readsLedgers({ intent, thread_id }: ContextQuestion): boolean {
  return thread_id !== null || intent.scope !== null || Object.keys(intent.context_refs).length > 0;
}

/**
 * Returns the cache key. It names principal and objective, because another principal may repeat an intent, and a run
 * may have another objective.
 */
async function cacheKey(
  reader: LedgerReader,
  { intent, auth, thread_id, objective }: ContextQuestion,
): Promise<string> {
  const { tenant_id, principal_id, role, data_policy } = auth;
  const version = await reader.version(tenant_id, thread_id);
  return JSON.stringify([intent.intent_id, objective, thread_id, version, principal_id, role, data_policy.allow_pii]);
}

function keep(
  cache: Map<string, ContextBundle>,
  { key, bundle, limit }: { readonly key: string; readonly bundle: ContextBundle; readonly limit: number },
): KernelError | null {
  cache.set(key, bundle);
  const [oldest] = cache.keys();
  if (cache.size <= limit || oldest === undefined) return null;
  cache.delete(oldest);
  return kernelError(
    "T0_CACHE_PRESSURE_EVICTION",
    `the context cache holds limits.maxCachedBundles = ${limit} bundles; the oldest was let go`,
    moduleRef(0, "cache", "evict"),
    { detail: { limit } },
  );
}

type Unsealed = Omit<ContextBundle, "context_hash">;

function emptyBundle({ intent, auth, thread_id }: ContextQuestion): Unsealed {
  return {
    profile: { tenant_id: auth.tenant_id, principal_id: auth.principal_id, role: auth.role, fields: {} },
    thread_id,
    memory: [],
    semantic: [],
    scope: intent.scope === null ? null : { ...intent.scope, facts: {} },
    entities: [],
    documents: [],
    thread_summary: null,
    recent_events: [],
  };
}

async function readBundle(reader: LedgerReader, question: ContextQuestion, runtime: Runtime): Promise<Unsealed> {
  const { intent, auth, thread_id, workflow_id, objective } = question;
  const { maxMemoryRecords, maxRecentEvents } = runtime.limits;
  const tenant = auth.tenant_id;
  const scopeKey = intent.scope === null ? null : `scope:${intent.scope.scope_type}:${intent.scope.scope_id}`;
  const profileKey = `profile:${auth.principal_id}`;
  const [threadMemory, keyed, documents, workflows] = await Promise.all([
    thread_id === null ? [] : reader.memory({ tenant_id: tenant, thread_id, limit: maxMemoryRecords }),
    reader.memory({
      tenant_id: tenant,
      keys: [profileKey, ...(scopeKey === null ? [] : [scopeKey]), ...entityKeys(intent)],
      limit: maxMemoryRecords,
    }),
    reader.documents(tenant, documentIds(intent)),
    thread_id === null ? [] : reader.threadWorkflows(tenant, thread_id, maxRecentEvents + 1),
  ]);
  runtime.telemetry.mark?.("memory.augment", { workflow_id });
  const text = objective ?? intent.text;
  const shared = text === "" ? [] : await reader.memory({ tenant_id: tenant, limit: maxMemoryRecords * 5 });
  const base = emptyBundle(question);
  return {
    ...base,
    profile: { ...base.profile, fields: asObject(keyed.find((m) => m.key === profileKey)?.value) },
    memory: threadMemory.map(({ key, type, value, source, confidence }) => ({ key, type, value, source, confidence })),
    semantic: reader
      .matchMemory(text, shared)
      .map(({ record, score }) => ({ key: record.key, type: record.type, value: record.value, score })),
    scope:
      intent.scope === null ? null : { ...intent.scope, facts: asObject(keyed.find((m) => m.key === scopeKey)?.value) },
    entities: entitiesOf(intent, keyed),
    documents: documents.map((d) => ({
      document_id: d.document_id,
      title: d.title,
      hash: d.processed_content.hash,
      bytes: d.processed_content.bytes,
      summary: d.processed_content.summary,
      missing_fields: d.missing_fields,
    })),
    thread_summary: summaryOf(threadMemory),
    recent_events: recentOf(workflows, workflow_id, maxRecentEvents),
  };
}

const asObject = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

function documentIds(intent: Intent): (string | number)[] {
  const ids = intent.context_refs["document_ids"];
  return Array.isArray(ids) ? (ids as (string | number)[]) : [];
}

const references = (intent: Intent): [string, Json][] =>
  Object.entries(intent.context_refs).filter(([ref]) => ref !== "document_ids") as [string, Json][];
const entityKeys = (intent: Intent): string[] => references(intent).map(([ref, id]) => `entity:${ref}:${String(id)}`);

/** Returns the referenced entities, each with the outcome that summarises it if memory has one. */
function entitiesOf(intent: Intent, keyed: readonly StoredMemory[]): ContextBundle["entities"] {
  return references(intent).map(([ref, id]) => {
    const known = asObject(keyed.find((m) => m.key === `entity:${ref}:${String(id)}`)?.value);
    return {
      ref,
      id,
      summary_outcome_id: typeof known["summary_outcome_id"] === "string" ? known["summary_outcome_id"] : null,
    };
  });
}

function summaryOf(memory: readonly StoredMemory[]): string | null {
  const last = memory.find((m) => m.type === "run_summary");
  const text = asObject(last?.value)["text"];
  return typeof text === "string" ? text.slice(0, 500) : null;
}

function recentOf(
  heads: readonly WorkflowHead[],
  exceptWorkflow: string,
  limit: number,
): ContextBundle["recent_events"] {
  return heads
    .filter((h) => h.workflow_id !== exceptWorkflow)
    .slice(0, limit)
    .map((h) => ({
      event_type: `WORKFLOW_${h.state.toUpperCase()}`,
      workflow_id: h.workflow_id,
      timestamp: instantText(h.updated_at),
    }));
}

/** Bounds, redacts and hashes a bundle. */
function seal(unsealed: Unsealed, auth: AuthContext, runtime: Runtime): ContextBundle {
  const bounded = bound(auth.data_policy.allow_pii ? unsealed : maskPersonal(unsealed), runtime.limits.maxBundleChars);
  return deepFreeze({ ...bounded, context_hash: digest(bounded) });
}

/** Drops the least recent records until the bundle fits. */
function bound(bundle: Unsealed, maxChars: number): Unsealed {
  let at = bundle;
  while (JSON.stringify(at).length > maxChars) {
    if (at.semantic.length > 0) at = { ...at, semantic: at.semantic.slice(0, -1) };
    else if (at.memory.length > 0) at = { ...at, memory: at.memory.slice(0, -1) };
    else if (at.recent_events.length > 0) at = { ...at, recent_events: at.recent_events.slice(0, -1) };
    else
      return {
        ...at,
        profile: { ...at.profile, fields: {} },
        scope: at.scope === null ? null : { ...at.scope, facts: {} },
        thread_summary: null,
      };
  }
  return at;
}

const personal =
  /^(name|first_name|last_name|full_name|phone|mobile|address|birth.*|date_of_birth|ssn|passport.*|iban|e?-?mail.*)$/i;
const maskedField = "[masked]";

/**
 * Masks the values of personal fields, at any depth and in any shape, for policy and for logs (CTX-06). Null stays,
 * because it reveals nothing.
 */
function maskPersonal<T>(value: T, isPersonal = false): T {
  if (Array.isArray(value)) return value.map((item) => maskPersonal(item, isPersonal)) as T;
  if (typeof value !== "object" || value === null) return (isPersonal && value !== null ? maskedField : value) as T;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, maskPersonal(member, isPersonal || personal.test(key))]),
  ) as T;
}
