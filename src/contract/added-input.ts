/** Messages to a workflow under way, such as an agent: their requests, and what its planner is given of them. */
import { z } from "zod";
import type { PrincipalRef } from "./gate-vote.ts";
import { CorrelationId, WorkflowId } from "./ids.ts";
import { IdempotencyKey } from "./intent.ts";
import { OrderRequest } from "./pause.ts";

/** A message to a workflow whose capability takes input, such as an agent. */
export const InputRequest = OrderRequest.extend({
  /** The text of the message. */
  text: z.string().min(1).max(100_000),
  /** A message with a key that the same principal has used for the workflow is added once. */
  idempotency_key: IdempotencyKey.optional(),
});
export type InputRequest = z.input<typeof InputRequest>;

/** The message is in the record of the workflow. */
export const InputResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("received"),
  correlation_id: CorrelationId,
});
export type InputResponse = z.infer<typeof InputResponse>;

/** A message as a plan function is given it. */
export interface AddedInput {
  readonly text: string;
  readonly author: PrincipalRef;
  /** The last step that was planned before the message; null if it came before the first plan. */
  readonly follows: string | null;
}

/** A message in the record of its workflow; `follows` is absent until the plan is there that was being made. */
export interface KeptInput extends Pick<AddedInput, "text" | "author"> {
  readonly follows?: string | null | undefined;
  /** The id of its request, or of its key; absent in older ledgers. */
  readonly input_id?: string | undefined;
}
