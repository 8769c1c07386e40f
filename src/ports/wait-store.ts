/**
 * The part of the ledger port about waits: what parked steps wait for, and the events from outside that end waits. Both
 * are indexes, written in the same transaction as the turn that changes them.
 */
import type { ReceivedEvent } from "../contract/received-event.ts";

type Id = string | number;

/** The source of a wait that another append can end: an event from outside, or the end of another workflow. */
export type WaitSource = "event" | "workflow";

/**
 * The wait of a parked step, indexed while it lasts: for the event of a name and a key, or for the workflow whose id is
 * the key. `since` is the epoch ms at which it began.
 */
export interface IndexedWait {
  readonly source: WaitSource;
  readonly name: string;
  readonly key: string;
  readonly since: number;
}

/** A wait with its place. */
export interface StoredWait extends IndexedWait {
  readonly workflow_id: string;
  readonly step_id: string;
  readonly tenant_id: Id;
}

/** A selection of waits, in the order in which they began; of one tenant or workflow, or of all. */
export interface WaitQuery {
  readonly tenant_id?: Id;
  readonly workflow_id?: string;
  readonly source?: WaitSource;
  readonly name?: string;
  readonly key?: string;
  readonly limit: number;
}

/** An event from outside, and the workflow whose step has taken it; null while none has. */
export interface StoredEvent extends ReceivedEvent {
  readonly tenant_id: Id;
  readonly taken_by: string | null;
}

/** A selection of events that a wait could take at `now`: those of a name and a key, the oldest first. */
export interface EventQuery {
  readonly tenant_id: Id;
  readonly name: string;
  readonly key: string;
  readonly now: number;
  readonly limit: number;
}

/** A wait whose end is in the ledger already: the event that it could take, or (null) the end of the other workflow. */
export interface OverdueWait {
  readonly workflow_id: string;
  readonly tenant_id: Id;
  readonly step_id: string;
  readonly source: WaitSource;
  readonly event_id: string | null;
}

/** The reads of waits and of events from outside. Each that takes a tenant returns that tenant's records only. */
export interface WaitStore {
  /** Returns waits of a selection; those that began first come first. */
  waits(query: WaitQuery): Promise<readonly StoredWait[]>;
  /** Returns the event that a tenant received under an id; null if there is none. */
  findEvent(tenantId: Id, eventId: string): Promise<StoredEvent | null>;
  /** Returns events that no step has taken and that have not expired at `now`. */
  events(query: EventQuery): Promise<readonly StoredEvent[]>;
  /**
   * Returns waits whose end is in the ledger: an event that expires after `after` and has not been taken, or the end of
   * the other workflow; and those of a workflow that is cancelling, whose child may not know of that. A process died
   * between the commit of that end and its delivery, or it is under way.
   */
  overdueWaits(after: number, limit: number): Promise<readonly OverdueWait[]>;
}
