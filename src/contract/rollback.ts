/** The order to roll back a workflow that has ended. */
import { z } from "zod";
import { Compensated } from "./compensation.ts";
import { CorrelationId, WorkflowId } from "./ids.ts";
import { OrderRequest } from "./pause.ts";

/** Undoes what a workflow that has ended had done, as its plan states. */
export const RollbackRequest = OrderRequest.extend({
  /** Kept with the rollback. */
  reason: z.string().max(1024).default("rolled back by request"),
});
export type RollbackRequest = z.input<typeof RollbackRequest>;

/** The workflow undoes what it had done; or it has done so, before this order or since an earlier one. */
export const RollbackResponse = z.object({
  workflow_id: WorkflowId,
  status: z.enum(["compensating", "failed", "cancelled"]),
  /** The part that is undone; null while the workflow is at it. */
  compensated: Compensated.nullable(),
  correlation_id: CorrelationId,
});
export type RollbackResponse = z.infer<typeof RollbackResponse>;
