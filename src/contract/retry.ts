/**
 * Orders on a workflow: running again and ending early.
 */
import { z } from "zod";
import type { InputRequest } from "./added-input.ts";
import { CapabilityVersion } from "./capability.ts";
import type { RollbackRequest } from "./compensation.ts";
import { CorrelationId, StepId, TenantId, WorkflowId } from "./ids.ts";
import { IdempotencyKey, Principal } from "./intent.ts";
import { OrderRequest, type PauseRequest, type ResumeRequest } from "./pause.ts";

/** Repeats work of a workflow: the failed steps, the named steps, or all of it. */
export const RetryRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who has the work repeated. */
  principal: Principal,
  /**
   * `replay`: repeats ended work under the same keys; calls that had succeeded are answered from the record. `migrate`:
   * the same under another version of the package; work that has not ended is cancelled first.
   */
  mode: z.enum(["resume_failed_steps", "regenerate", "replay", "migrate"]).default("resume_failed_steps"),
  /** The version of the package to migrate to; the newest registered one by default. */
  version: CapabilityVersion.optional(),
  /** The steps that `regenerate` repeats, with all that depend on them. */
  step_ids: z.array(StepId).optional(),
  /** Feedback for the operators of the repeated work, in `context.feedback`. */
  feedback: z.string().max(4096).optional(),
  /** The key of the workflow that doing it again may begin, as with a submit. */
  idempotency_key: IdempotencyKey.optional(),
});
export type RetryRequest = z.input<typeof RetryRequest>;
export type ParsedRetryRequest = z.output<typeof RetryRequest>;

/** The workflow that continues, which may be a new, linked one. */
export const RetryResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("restarted"),
  correlation_id: CorrelationId,
});
export type RetryResponse = z.infer<typeof RetryResponse>;

/** Ends a workflow early. */
export const CancelRequest = OrderRequest.extend({
  /** Kept with the cancellation. */
  reason: z.string().max(1024).default("cancelled by request"),
  /** Whether what its steps have done is undone, as their plan states, before it ends. */
  undo: z.boolean().optional(),
});
export type CancelRequest = z.input<typeof CancelRequest>;

/**
 * The workflow was cancelled, is `cancelling` until the end of each call is known that may not be repeated, or is
 * `compensating` until what it has done is undone.
 */
export const CancelResponse = z.object({
  workflow_id: WorkflowId,
  status: z.enum(["cancelled", "cancelling", "compensating"]),
  correlation_id: CorrelationId,
});
export type CancelResponse = z.infer<typeof CancelResponse>;

/** An order on a workflow as it was read: cancel, roll back, pause, resume, or a message. */
export type ParsedOrderRequest = z.output<
  typeof CancelRequest | typeof RollbackRequest | typeof PauseRequest | typeof ResumeRequest | typeof InputRequest
>;
