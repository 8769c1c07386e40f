/**
 * Events of records that outlive a workflow: memory, documents, halts, grants, stand-ins and limits; erased bodies of
 * rows.
 */
import type { ParsedDocumentRecord, ParsedMemoryRecord } from "../context-bundle.ts";
import type { FederatedSyncReport } from "../federation.ts";
import type { Grant } from "../grant.ts";
import type { Halt } from "../halt.ts";
import type { Principal } from "../intent.ts";
import type { JsonObject } from "../json.ts";
import type { StoredQueueLimits } from "../queue-limits.ts";
import type { ReceivedEvent } from "../received-event.ts";
import type { StandIn } from "../stand-in.ts";
import { event } from "./event-row.ts";

/** The end of a halt. */
export interface HaltLifted {
  readonly halt_id: string;
  readonly reason: string;
  readonly by: Principal;
}

/** The end of a grant. */
export interface GrantRevoked {
  readonly grant_id: string;
  readonly reason: string;
  readonly by: Principal;
}

/** The end of an order that named a stand-in. */
export interface StandInEnded {
  readonly stand_in_id: string;
  readonly reason: string;
  readonly by: Principal;
}

export const recordEvents = {
  MEMORY_WRITTEN: event<{ readonly record: ParsedMemoryRecord }>({ from: "t2", to: "workflow" }),
  /** The result of changes from other replicas; each merged one is a MEMORY_WRITTEN before it in the same row. */
  MEMORY_SYNCED: event<{ readonly report: FederatedSyncReport }>({ from: "t2", to: "workflow" }),
  DOCUMENT_RECORDED: event<{ readonly record: ParsedDocumentRecord }>({ from: "t2", to: "workflow" }),
  /** An event from outside, in the log of its tenant. */
  EVENT_RECEIVED: event<ReceivedEvent>({ from: "t0", to: "workflow" }),
  /** A person stops work of the tenant. */
  HALT_SET: event<{ readonly halt: Halt }>({ from: "person", to: "workflow" }),
  /** A person sets the limits of a queue, or lifts those that were set. */
  QUEUE_LIMITS_SET: event<StoredQueueLimits>({ from: "person", to: "workflow" }),
  /** A person lets it go on. */
  HALT_LIFTED: event<HaltLifted>({ from: "person", to: "workflow" }),
  /** An approver approves ahead what a rule asks about. */
  GRANT_GIVEN: event<{ readonly grant: Grant }>({ from: "person", to: "workflow" }),
  /** A person ends a grant. */
  GRANT_REVOKED: event<GrantRevoked>({ from: "person", to: "workflow" }),
  /** A person names who takes their seats at gates while they are away. */
  STAND_IN_NAMED: event<{ readonly stand_in: StandIn }>({ from: "person", to: "workflow" }),
  /** A person ends such an order before its time. */
  STAND_IN_ENDED: event<StandInEnded>({ from: "person", to: "workflow" }),
  BODY_ERASED: event<JsonObject>({ from: "t4", to: "workflow" }),
} as const;
