/**
 * Compensation: undoing what the steps of a workflow have done, in reverse order, before the workflow ends.
 *
 * Owns: the shapes, the order to roll back a workflow that has ended, and the form that asks people about an undo that
 * did not succeed. Never: begins a step.
 */
import { z } from "zod";
import type { AnswerForm } from "./answer-form.ts";
import type { KernelError } from "./error.ts";
import { CorrelationId, WorkflowId } from "./ids.ts";
import type { Principal } from "./intent.ts";
import { OrderRequest } from "./pause.ts";

/** The part of what a workflow had done that is undone: all of it, some, or none. */
export const Compensated = z.enum(["all", "partly", "none"]);
export type Compensated = z.infer<typeof Compensated>;

/** The end to which a workflow comes: it fails with an error, or is cancelled. */
export type Ending =
  | { readonly how: "fail"; readonly error: KernelError }
  | {
      readonly how: "cancel";
      readonly reason: string;
      readonly error: KernelError | null;
      readonly principal: Principal | null;
    };

/** The answers to the question about an undo that did not succeed. */
export const undoAnswers = ["done", "retry", "leave"] as const;

/** The form of the answer to the question about an undo that did not succeed. */
export const undoForm: AnswerForm = {
  type: "object",
  properties: {
    resolution: {
      type: "string",
      enum: [...undoAnswers],
      description: "done: it is undone by other means; retry: call the undo once more; leave: it stays as it is.",
    },
  },
  required: ["resolution"],
};

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
