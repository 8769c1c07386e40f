/** Progress: a view that is computed from plan weights and step states; no progress is stored. */
import { z } from "zod";
import { CorrelationId, TenantId, WorkflowId } from "./ids.ts";
import { ItemCounts } from "./step-group.ts";

export const workflowStates = [
  "accepted",
  "planned",
  "running",
  "waiting_for_user",
  "waiting",
  "cancelling",
  "compensating",
  "completed",
  "failed",
  "cancelled",
] as const;
export const WorkflowStateName = z.enum(workflowStates);
export type WorkflowStateName = z.infer<typeof WorkflowStateName>;

/** The progress of a workflow. */
export const KernelProgress = z.object({
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  correlation_id: CorrelationId,
  percent: z.int().min(0).max(100),
  stage: WorkflowStateName,
  /** Present while a person has paused the workflow. */
  paused: z.literal(true).optional(),
  current_step: z.object({ step_id: z.string(), name: z.string() }).nullable(),
  /** The counts of the items or rounds of the first step that is going through them; absent if there is none. */
  items: ItemCounts.extend({ step_id: z.string() }).optional(),
  sub: z.object({ step_id: z.string(), percent: z.number().min(0).max(100), final: z.literal(false) }).optional(),
});
export type KernelProgress = z.infer<typeof KernelProgress>;
