/**
 * The items of the lists of a workflow, and the rounds of its steps, as a page of them shows them.
 *
 * 1.  A page is bounded, whatever its items have given: a long output is left out, except on a page of one item.
 */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { RecordedStepId, WorkflowId } from "./ids.ts";
import { JsonValue } from "./json.ts";
import { stepStates } from "./step.ts";
import { SkipReason, StepPhase } from "./workflow-state.ts";

/** The filter of a list of items. The cursor of an item is its `step_id`. */
export const ItemFilter = z.strictObject({
  /** The step that goes through the list or the rounds; those of all steps by default. */
  of: RecordedStepId.optional(),
  /** The cursor: items after this one. The cursor of the next page is the last item of this one. */
  after: RecordedStepId.optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type ItemFilter = z.input<typeof ItemFilter>;

/** One item of a list, or one round. */
export const ListedItem = z.object({
  /** The id of its step, such as `pay:0`. */
  step_id: RecordedStepId,
  /** The step that added it. */
  of: RecordedStepId,
  /** The key of the item; of a round its number. */
  key: z.string(),
  /** The state of its step. */
  state: z.enum(stepStates),
  /** The phase of a running step. */
  phase: StepPhase.nullable(),
  /** The child workflow of its last run; null if there is none. */
  child: WorkflowId.nullable(),
  /** The number of times that it was started again. */
  run: z.int().nonnegative(),
  /** The output of a step that succeeded; null for any other. */
  output: JsonValue,
  /** The output is too long for a page: read the item by itself, with a limit of 1. */
  truncated: z.literal(true).optional(),
  /** The error of a step that failed. */
  error: KernelError.nullable(),
  /** The reason why it was left out. */
  skip_reason: SkipReason.nullable(),
});
export type ListedItem = z.infer<typeof ListedItem>;

/** A page of items in the order of their list; `next` is the cursor of the page after it, null on the last one. */
export const ItemPage = z.object({
  workflow_id: WorkflowId,
  items: z.array(ListedItem),
  next: RecordedStepId.nullable(),
});
export type ItemPage = z.infer<typeof ItemPage>;
