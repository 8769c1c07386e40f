/**
 * Child workflows: the link to the workflow that began one, the key under which it is begun, and the end that its
 * parent receives.
 *
 * Owns: these shapes. Never: begins or ends a workflow.
 */
import { z } from "zod";
import type { Compensated } from "./compensation.ts";
import type { KernelError } from "./error.ts";
import { RecordedStepId, WorkflowId } from "./ids.ts";
import type { Json } from "./json.ts";

/** A step of a workflow that runs a child, also one that another step has added. */
export const RunningStep = z.object({
  /** The workflow that the step belongs to. */
  workflow_id: WorkflowId,
  /** The step that runs the child. */
  step_id: RecordedStepId,
});
export type RunningStep = z.infer<typeof RunningStep>;

/** The step that began a workflow as its child. */
export const ParentLink = RunningStep.extend({
  /** The steps above the parent that lead to it, the root's first; empty if the parent is the root. */
  above: z.array(RunningStep).readonly(),
  /** The child outlives its parent, which does not wait for it; absent if the parent waits. */
  detached: z.literal(true).optional(),
  /** The part of the request's `maxCost` that was spent when the child began, which counts for the child as well. */
  spent: z.number(),
  /** The reason for which policy demands an approval of the parent's plan before its first steps; absent if none. */
  approval: z.string().optional(),
  /** The lines of queues (`lineOf`) in which the parent, or one above it, has a place; absent if there are none. */
  lines: z.array(z.string()).readonly().optional(),
}).readonly();
export type ParentLink = z.infer<typeof ParentLink>;

/** Returns whether a workflow is a child for which its parent waits. */
export const isAwaited = (parent: ParentLink | null): parent is ParentLink =>
  parent !== null && parent.detached !== true;

/** Returns the steps that lead to a workflow, the root's first; none if it is a root itself. */
export const pathTo = (parent: ParentLink | null): readonly RunningStep[] =>
  parent === null ? [] : [...parent.above, { workflow_id: parent.workflow_id, step_id: parent.step_id }];

/** Returns the number of workflows above one. */
export const depthOf = (parent: ParentLink | null): number => (parent === null ? 0 : parent.above.length + 1);

/** Returns the workflow at the top of the tree that a workflow belongs to: itself if nothing has begun it. */
export const rootOf = (workflowId: string, parent: ParentLink | null): string =>
  parent === null ? workflowId : (parent.above[0]?.workflow_id ?? parent.workflow_id);

/** Returns the idempotency key under which a run of a step begins its child: asked again, it finds the same child. */
export const childKey = ({ workflow_id, step_id }: RunningStep, run: number): string =>
  `run:${workflow_id}:${step_id}:${run}`;

/** The result of a child, which is the output of the step that ran it. */
export interface ChildResult {
  readonly workflow_id: string;
  /** The text for the requester. */
  readonly text: string;
  /** The output of the last step; null if the plan does not end in one step. */
  readonly result: Json;
  /** The newest content of the outcome that it drafted last; null if it drafted none. */
  readonly outcome: Json;
}

/** The end of a child as its parent receives it. */
export interface ChildEnd {
  readonly workflow_id: string;
  readonly state: "completed" | "failed" | "cancelled";
  /** The sequence of the child's last event. */
  readonly sequence: number;
  /** The part of the request's `maxCost` that the child itself has spent, in all its runs. */
  readonly spent: number;
  /** The error of a child that failed, or that a rejection ended; null for any other. */
  readonly error: KernelError | null;
  /** Whether a rollback would undo something of a child that has completed; absent if not, and in older ledgers. */
  readonly undoable?: true;
  /** The part of what it had done that is undone; absent if nothing was to be undone. */
  readonly compensated?: Compensated;
}
