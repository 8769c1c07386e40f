/** The calls of a kernel on queues. */
import type { Caller } from "../contract/auth-context.ts";
import type { QueueLimitsRequest, QueueLimitsResponse } from "../contract/queue-limits.ts";
import type { ListedQueue, QueueFilter } from "../contract/queue-page.ts";

/** The part of a kernel on queues: their limits, and who runs and waits in them. */
export interface QueueCalls {
  /**
   * Sets the limits of a queue in place of those that its capabilities and requests state, or (null) lifts those that
   * were set. Workflows that run go on. Takes the scope halt:write. The same order again changes nothing.
   */
  limitQueue(request: QueueLimitsRequest): Promise<QueueLimitsResponse>;
  /**
   * Lists the queues of a tenant in which workflows run or wait, by name and key; the embedding host names the tenant
   * in the filter.
   */
  queues(filter?: QueueFilter, caller?: Caller): Promise<readonly ListedQueue[]>;
}
