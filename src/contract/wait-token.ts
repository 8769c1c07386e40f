/**
 * One-time addresses of waits: a wait with `token: true` can be answered at an address of its own, by a sender who
 * knows nothing else of the kernel.
 *
 * Owns: the requests and answers. Never: makes an address (`adapters/wait-tokens.ts`).
 */
import { z } from "zod";
import { StepId, WorkflowId } from "./ids.ts";
import { JsonValue } from "./json.ts";
import { OrderRequest } from "./pause.ts";

/** A request for the one-time address of a wait. */
export const TokenUrlRequest = OrderRequest.extend({
  /** The step that waits, or will wait. */
  step_id: StepId,
});
export type TokenUrlRequest = z.input<typeof TokenUrlRequest>;

/** The one-time address of a wait. Whoever has it can answer the wait, so it is a secret until then. */
export const TokenUrlResponse = z.object({ workflow_id: WorkflowId, step_id: StepId, url: z.string() });
export type TokenUrlResponse = z.infer<typeof TokenUrlResponse>;

/** An answer to a wait, by the last part of its one-time address. */
export const WaitAnswer = z.strictObject({
  /** The last part of the address. */
  token: z.string().min(1).max(512),
  /** The data, which become the output of the step. */
  payload: JsonValue.default(null),
});
export type WaitAnswer = z.input<typeof WaitAnswer>;

/** The receipt of an answer to a wait. */
export const WaitAnswered = z.object({
  /** The answer is in the ledger. */
  status: z.literal("received"),
  /** Whether the same answer had been received before; nothing was added then. */
  duplicate: z.boolean(),
});
export type WaitAnswered = z.infer<typeof WaitAnswered>;
