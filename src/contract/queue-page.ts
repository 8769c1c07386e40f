/** Lists of queues: each key in which workflows run or wait, and its limits. */
import { z } from "zod";
import { TenantId } from "./ids.ts";
import { QueueName } from "./queue.ts";
import { QueueLimitsSet } from "./queue-limits.ts";

/** The filter of a list of queues, which is in the order of their names and keys. */
export const QueueFilter = z.strictObject({
  /** The tenant of the queues; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** The name of the queue, to list its keys. */
  name: QueueName.optional(),
  /** The cursor: queues after this one. */
  after: z.string().max(4096).optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type QueueFilter = z.input<typeof QueueFilter>;

/** One key of a queue in which workflows run or wait. */
export const ListedQueue = z.object({
  /** The name of the queue. */
  name: z.string(),
  /** The key within the queue; empty if it has none. */
  key: z.string(),
  /** The limit that holds: the one that was set, or else the lowest, if versions of a capability state several. */
  concurrency: z.int(),
  /** The limits that a person has set for the queue; null if none hold. */
  set: QueueLimitsSet.nullable(),
  /** The number of workflows that have begun and not ended. */
  running: z.int().nonnegative(),
  /** The number of workflows that wait for a place; one that is paused or held is not counted. */
  waiting: z.int().nonnegative(),
  /** The ISO instant of the oldest request that waits; null if none does. */
  oldest_waiting: z.string().nullable(),
});
export type ListedQueue = z.infer<typeof ListedQueue>;

/** A page of queues; `next` is the cursor of the following page, null on the last one. */
export const QueuePage = z.object({ queues: z.array(ListedQueue), next: z.string().nullable() });
export type QueuePage = z.infer<typeof QueuePage>;
