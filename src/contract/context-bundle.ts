/**
 * The context bundle: references and compact summaries, never contents, and the records
 * of the two ledgers it reads: typed memory and documents.
 */
import { z } from "zod";
import { PrincipalId, TenantId, ThreadId } from "./ids.ts";
import { JsonObject, JsonValue } from "./json.ts";

/** One memory entry: typed, with source and confidence (LED-07). */
export const MemoryRecord = z.strictObject({
  tenant_id: TenantId,
  thread_id: ThreadId.nullable().default(null),
  workflow_id: z.string().nullable().default(null),
  key: z.string().min(1).max(512),
  type: z.string().min(1).max(128),
  value: JsonValue,
  source: z.string().min(1).max(256),
  confidence: z.number().min(0).max(1),
  /**
   * The capability that a replica needs to merge the record. A record that belongs to no thread and names one is
   * replicated.
   */
  capability: z.string().min(1).max(256).optional(),
  /** The replica that wrote this version, and its Lamport version; the kernel's to give. */
  origin: z.string().min(1).max(256).optional(),
  version: z.int().nonnegative().optional(),
});
export type MemoryRecord = z.input<typeof MemoryRecord>;
export type ParsedMemoryRecord = z.output<typeof MemoryRecord>;

/** One entry of the document ledger: the hash of the processed content, and the parts that are missing (LED-08). */
export const DocumentRecord = z.strictObject({
  tenant_id: TenantId,
  document_id: z.union([z.string().min(1).max(256), z.int()]),
  workflow_id: z.string().nullable().default(null),
  title: z.string().default(""),
  media_type: z.string().default("text/plain"),
  processed_content: z.strictObject({
    hash: z.string().min(1),
    bytes: z.int().nonnegative(),
    summary: z.string().max(2000).default(""),
  }),
  missing_fields: z.array(z.string()).default([]),
  /** The whole of it, where the ledger itself keeps it: an evaluation report. */
  content: JsonValue.optional(),
});
export type DocumentRecord = z.input<typeof DocumentRecord>;
export type ParsedDocumentRecord = z.output<typeof DocumentRecord>;

/** The context of one request: profile, memory, documents, recent events. */
export const ContextBundle = z.object({
  profile: z.object({
    tenant_id: TenantId,
    principal_id: PrincipalId,
    role: z.string(),
    fields: JsonObject.default({}),
  }),
  thread_id: ThreadId.nullable(),
  memory: z.array(
    z.object({ key: z.string(), type: z.string(), value: JsonValue, source: z.string(), confidence: z.number() }),
  ),
  semantic: z.array(z.object({ key: z.string(), type: z.string(), value: JsonValue, score: z.number() })),
  scope: z
    .object({ scope_type: z.string(), scope_id: z.union([z.string(), z.number()]), facts: JsonObject })
    .nullable(),
  entities: z.array(z.object({ ref: z.string(), id: JsonValue, summary_outcome_id: z.string().nullable() })),
  documents: z.array(
    z.object({
      document_id: z.union([z.string(), z.number()]),
      title: z.string(),
      hash: z.string(),
      bytes: z.number(),
      summary: z.string(),
      missing_fields: z.array(z.string()),
    }),
  ),
  thread_summary: z.string().nullable(),
  recent_events: z.array(z.object({ event_type: z.string(), workflow_id: z.string(), timestamp: z.string() })),
  context_hash: z.string(),
});
export type ContextBundle = z.infer<typeof ContextBundle>;
