/** Orders on a workflow: pausing and resuming. */
import { z } from "zod";
import { CorrelationId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** An order on a workflow, by whom it is given. */
export const OrderRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who gives the order. */
  principal: Principal,
});

/** Pauses a workflow: calls under way end, and nothing new begins until it is resumed. */
export const PauseRequest = OrderRequest.extend({
  /** Kept with the pause. */
  reason: z.string().max(1024).default("paused by request"),
});
export type PauseRequest = z.input<typeof PauseRequest>;

/** The workflow is paused. */
export const PauseResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("paused"),
  correlation_id: CorrelationId,
});
export type PauseResponse = z.infer<typeof PauseResponse>;

/** Resumes a paused workflow. */
export const ResumeRequest = OrderRequest.extend({
  /** Kept with the end of the pause. */
  reason: z.string().max(1024).default("resumed by request"),
});
export type ResumeRequest = z.input<typeof ResumeRequest>;

/** The workflow is not paused, and goes on. */
export const ResumeResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("resumed"),
  correlation_id: CorrelationId,
});
export type ResumeResponse = z.infer<typeof ResumeResponse>;
