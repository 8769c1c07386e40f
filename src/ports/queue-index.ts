/**
 * The part of the ledger port that keeps queues: who waits in each line, and who has a place. It is an index, written
 * in the transaction of the row that changes it.
 *
 * 1.  A place is taken only while one is free for the workflow: the entry that would take another one is refused.
 * 2.  A line whose length is bounded holds a workflow from its first row on, so that requests see one another.
 * 3.  One that waits for newer requests is `upcoming`: those find it in the line, and it waits for no place yet.
 * 4.  Where a rate bounds a line, the instants at which places were taken are kept for as long as they count.
 */
import type { QueueRate } from "../contract/queue.ts";
import type { StoredQueueLimits } from "../contract/queue-limits.ts";

type Id = string | number;

/** The entry of a workflow in its line. Those of a higher priority come first, then those of an earlier `since`. */
export interface QueueEntry {
  /** The line among those of the tenant (`lineOf`). */
  readonly line: string;
  readonly place: "waiting" | "taken" | "upcoming";
  readonly priority: number;
  /** Epoch ms. */
  readonly since: number;
  readonly concurrency: number;
  /** The bound on how many places are taken within a time; absent if any number may be. */
  readonly rate?: QueueRate;
  /** The number that may wait: the append that creates the workflow is refused (`full`) if it were one more. */
  readonly maxWaiting?: number;
  /** The place is taken by this append, which is refused (`full`) if its writer holds a lease and none is free. */
  readonly begins?: true;
}

/** Whether a workflow may take a place now, and how many wait before it: at most `mostCounted`. */
export interface QueuePlace {
  readonly isFree: boolean;
  readonly ahead: number;
}

/** A line with how many workflows have a place in it and wait for one; `oldest` is the least `since` of those. */
export interface LineCount {
  readonly line: string;
  readonly running: number;
  readonly waiting: number;
  readonly oldest: number | null;
  readonly concurrency: number;
}

/** A page of the lines of a tenant, in the order of their texts: those of one queue, after a line. */
export interface LinePage {
  readonly name?: string;
  readonly after?: string;
  readonly limit: number;
}

/** A workflow in a line. */
export type QueueMember = Pick<QueueEntry, "since" | "place"> & { readonly workflow_id: string };

export const mostCounted = 1000;

/** The index of queues, as a store keeps it. */
export interface QueueIndex {
  /** Returns how a workflow stands now that would wait in this line. */
  queuePlace(tenantId: Id, workflowId: string, entry: QueueEntry, now: number): Promise<QueuePlace>;
  /** Returns the next instant at which a rate lets one begin who waits now; epoch ms, null if there is none. */
  nextAdmission(now: number): Promise<number | null>;
  /** Returns those who have a place in a line, then the others, in their order: `mostCounted` at most. */
  queueMembers(tenantId: Id, line: string): Promise<readonly QueueMember[]>;
  /** Returns the lines in which workflows of the tenant run or wait, with their numbers. */
  queueLines(tenantId: Id, page: LinePage): Promise<readonly LineCount[]>;
  /** Returns the newest order on the limits of each queue of the tenant, or of the one named. */
  queueLimits(tenantId: Id, name?: string): Promise<readonly StoredQueueLimits[]>;
  /** Returns the number of workflows that wait for a place, over all tenants. */
  countQueued(): Promise<number>;
}
