/**
 * Forks: a new workflow that takes over the record of another one up to a step or an event.
 *
 * Owns: the order and its answer, and the part of a record that is taken over. Never: decides what that part is.
 */
import { z } from "zod";
import { CorrelationId, StepId, WorkflowId } from "./ids.ts";
import { IdempotencyKey } from "./intent.ts";
import { type Json, JsonObject, JsonValue } from "./json.ts";
import type { Outcome } from "./outcome.ts";
import { OrderRequest } from "./pause.ts";
import type { Plan } from "./plan.ts";
import type { StepStatus } from "./step.ts";
import type { SkipReason } from "./workflow-state.ts";

/** Begins a workflow that takes over what another one has done, up to a step or an event, and goes on from there. */
export const ForkRequest = OrderRequest.extend({
  /**
   * The step that is done anew, with all that depends on it; or the sequence of the last event that is taken over.
   */
  at: z.union([StepId, z.int().positive()], { error: "must be the id of a step, or the sequence of an event" }),
  /** Other inputs, in place of those of the workflow: its plan is made anew. */
  inputs: JsonObject.optional(),
  /** Other outputs of steps that are taken over, by the ids of the steps. */
  outputs: z.record(StepId, JsonValue).optional(),
  /** Kept with the fork. */
  reason: z.string().max(1024).default("forked by request"),
  /** The key of the new workflow, as with a submit. */
  idempotency_key: IdempotencyKey.optional(),
});
export type ForkRequest = z.input<typeof ForkRequest>;
export type ParsedForkRequest = z.output<typeof ForkRequest>;

/** The workflow that goes on from the fork. */
export const ForkResponse = z.object({
  workflow_id: WorkflowId,
  status: z.literal("accepted"),
  /** The workflow whose record it takes over. */
  forked_from: WorkflowId,
  correlation_id: CorrelationId,
});
export type ForkResponse = z.infer<typeof ForkResponse>;

/** The origin of a workflow that is a fork. */
export const ForkOrigin = z.object({
  /** The workflow whose record it takes over. */
  workflow_id: WorkflowId,
  /** The sequence of the last event of that workflow that counts. */
  sequence: z.int().positive(),
  /** The step that is done anew; null if the order named a sequence. */
  step_id: z.string().nullable(),
  /** Kept with the fork. */
  reason: z.string(),
});
export type ForkOrigin = z.infer<typeof ForkOrigin>;

/** A step that a fork does not do again: it succeeded before, or was left out. */
export interface TakenStep {
  readonly step_id: string;
  readonly state: "succeeded" | "skipped";
  /** The digest of what the plan says of its work. */
  readonly work: string;
  readonly output: Json;
  readonly output_text: string;
  readonly status: StepStatus | null;
  readonly skip_reason: SkipReason | null;
  /** Whether the person who forked the workflow gave its output; absent if the step did. */
  readonly given?: true;
}

/** The part of a record that a fork takes over. */
export interface TakenRecord extends ForkOrigin {
  /** The plan; null if another one is made, because the inputs are others. */
  readonly plan: Plan | null;
  readonly steps: readonly TakenStep[];
  /** The newest version of each outcome that these steps have made. */
  readonly outcomes: readonly Outcome[];
}
