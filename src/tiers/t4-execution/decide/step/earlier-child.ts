/**
 * The child that a step's work has had before: in an earlier run or plan of the workflow, or in the workflow that this
 * one does again. A child that begins in its place has its keys.
 */
import { canonicalJson } from "../../../../contract/digest.ts";
import type { StepRecord, WorkflowRecord } from "../../../../contract/workflow.ts";
import { findBegin } from "../call/find-work.ts";

/** Returns the name of a step's work, of the parts that its calls' keys contain: a new draft version is other work. */
export const workOf = (record: WorkflowRecord, { step }: StepRecord): string =>
  canonicalJson({ ...findBegin(record, step), draft_version: step.draft_version });

/** Returns the child of an earlier run or plan that did the work of a step; null if there is none. */
export function childBefore(record: WorkflowRecord, step: StepRecord): string | null {
  if (step.child !== null) return step.child.workflow_id;
  if (record.plans.length < 2) return null;
  const work = workOf(record, step);
  const found = [...record.steps.values()].findLast(
    (one) => one.child !== null && one.added?.key === step.added?.key && workOf(record, one) === work,
  );
  return found?.child?.workflow_id ?? null;
}

/** Returns the children that the steps of a workflow have begun last, by the names of their work. */
export const childrenByWork = (record: WorkflowRecord): ReadonlyMap<string, string> =>
  new Map(
    [...record.steps.values()].flatMap((step) =>
      step.child === null ? [] : [[workOf(record, step), step.child.workflow_id] as const],
    ),
  );
