/**
 * The limits of a queue as a person has set them: they hold in place of those that capabilities and requests state,
 * for each key of the queue, until they are set anew or lifted.
 */
import { z } from "zod";
import { TenantId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { Concurrency, QueueName, QueueRate } from "./queue.ts";

/** The limits that are set; one that is absent stays as capabilities and requests state it. */
export const QueueLimits = z.strictObject({
  /** The number of workflows of a key that have begun and not ended, at most. */
  concurrency: Concurrency.optional(),
  /** The bound on how many workflows of a key begin within a time; null for none. */
  rate: QueueRate.nullable().optional(),
});
export type QueueLimits = z.infer<typeof QueueLimits>;

/** Limits that are set, with the person who set them. */
export const QueueLimitsSet = z
  .object({
    ...QueueLimits.shape,
    /** The reason that was given. */
    reason: z.string(),
    /** The principal who set them. */
    by: Principal.readonly(),
    /** The ISO instant of the order. */
    at: z.string(),
  })
  .readonly();
export type QueueLimitsSet = z.infer<typeof QueueLimitsSet>;

/** Sets the limits of a queue, or lifts those that were set. */
export const QueueLimitsRequest = z.strictObject({
  /** The tenant of the queue. */
  tenant_id: TenantId,
  /** The principal who orders it. */
  principal: Principal,
  /** The name of the queue. */
  name: QueueName,
  /** The limits; null if those that capabilities and requests state are to hold again. */
  limits: QueueLimits.nullable(),
  /** Kept with the limits. */
  reason: z.string().min(1).max(1024),
});
export type QueueLimitsRequest = z.input<typeof QueueLimitsRequest>;

/** The limits hold, or are lifted; the same order again changes nothing. */
export const QueueLimitsResponse = z.object({ name: QueueName, status: z.enum(["set", "lifted"]) });
export type QueueLimitsResponse = z.infer<typeof QueueLimitsResponse>;

/** The newest order on a queue, as the ledger keeps it; `limits` is null if they were lifted. */
export interface StoredQueueLimits {
  /** The name of the queue. */
  readonly name: string;
  /** The limits; null if they were lifted. */
  readonly limits: QueueLimits | null;
  /** The reason that was given. */
  readonly reason: string;
  /** The principal who ordered it. */
  readonly by: Principal;
  /** The ISO instant of the order. */
  readonly at: string;
}
