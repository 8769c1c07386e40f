/** Events of records that outlive a workflow: memory, documents, and erased bodies of rows. */
import type { ParsedDocumentRecord, ParsedMemoryRecord } from "../context-bundle.ts";
import type { FederatedSyncReport } from "../federation.ts";
import type { JsonObject } from "../json.ts";
import type { ReceivedEvent } from "../received-event.ts";
import { event } from "./event-row.ts";

export const recordEvents = {
  MEMORY_WRITTEN: event<{ readonly record: ParsedMemoryRecord }>({ from: "t2", to: "workflow" }),
  /** The result of changes from other replicas; each merged one is a MEMORY_WRITTEN before it in the same row. */
  MEMORY_SYNCED: event<{ readonly report: FederatedSyncReport }>({ from: "t2", to: "workflow" }),
  DOCUMENT_RECORDED: event<{ readonly record: ParsedDocumentRecord }>({ from: "t2", to: "workflow" }),
  /** An event from outside, in the log of its tenant. */
  EVENT_RECEIVED: event<ReceivedEvent>({ from: "t0", to: "workflow" }),
  BODY_ERASED: event<JsonObject>({ from: "t4", to: "workflow" }),
} as const;
