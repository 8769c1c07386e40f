/**
 * Running again and ending early: the requests of retry and cancel.
 */
import { z } from "zod";
import { CapabilityVersion } from "./capability.ts";
import { CorrelationId, StepId, TenantId, WorkflowId } from "./ids.ts";
import { IdempotencyKey, Principal } from "./intent.ts";

/** Has a workflow's work done again: what failed, what is named, or all of it. */
export const RetryRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who has it done again. */
  principal: Principal,
  /**
   * `replay`: what has ended is done again under the same keys; what had succeeded is answered from the record. `migrate`:
   * so under another version of the package; what has not ended is cancelled first.
   */
  mode: z.enum(["resume_failed_steps", "regenerate", "replay", "migrate"]).default("resume_failed_steps"),
  /** Of the package, to migrate to; the newest that is registered where none is named. */
  version: CapabilityVersion.optional(),
  /** Of `regenerate`: these steps and all that depends on them. */
  step_ids: z.array(StepId).optional(),
  /** For the operators of the work that is done again: their `context.feedback`. */
  feedback: z.string().max(4096).optional(),
  /** The key of the workflow that doing it again may begin, as with a submit. */
  idempotency_key: IdempotencyKey.optional(),
});
export type RetryRequest = z.input<typeof RetryRequest>;
export type ParsedRetryRequest = z.output<typeof RetryRequest>;

/** The workflow that goes on, which may be a new one that is linked. */
export const RetryResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("restarted"),
  correlation_id: CorrelationId,
});
export type RetryResponse = z.infer<typeof RetryResponse>;

/** Ends a workflow early. */
export const CancelRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who ends it. */
  principal: Principal,
  /** Kept with the cancellation. */
  reason: z.string().max(1024).default("cancelled by request"),
});
export type CancelRequest = z.input<typeof CancelRequest>;
export type ParsedCancelRequest = z.output<typeof CancelRequest>;

/** The workflow was cancelled, or is `cancelling` until the end of each call is known that may not be repeated. */
export const CancelResponse = z.object({
  workflow_id: WorkflowId,
  status: z.enum(["cancelled", "cancelling"]),
  correlation_id: CorrelationId,
});
export type CancelResponse = z.infer<typeof CancelResponse>;
