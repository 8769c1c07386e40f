/**
 * The origin of a workflow that does the work of another again under its keys: a repeated workflow, or a child that
 * begins in the place of an earlier one.
 *
 * 1.  With the intent and the draft versions of the earlier workflow, each step has the keys that it had there: what
 *     has succeeded answers from the record, and is not called again.
 */
import type { KeptDraft, KeptDrafts } from "../../../../contract/kept-draft.ts";
import type { RepeatedWork } from "../../../../contract/messages/t0.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isSpent } from "../../../../contract/spent-call.ts";
import { plannedSteps, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { baseIdOf } from "../run/run.ts";
import { findBegin } from "./find-work.ts";

export type Versions = Pick<RepeatedWork, "draft_version" | "regenerate" | "kept_drafts">;

/** Returns the origin of a workflow that repeats this one, with these draft versions or, if absent, its own. */
export const repeatOf = (record: WorkflowRecord, versions: Versions = sameVersions(record)): RepeatedWork => ({
  regenerated_from: record.workflow_id,
  intent_id: record.intent.intent_id,
  ...versions,
  spent_calls: spentIn(record),
});

/** Returns the draft versions that the workflow has by now, so that every key stays. */
export function sameVersions(record: WorkflowRecord): Versions {
  const { plans, regenerate, draft_version, kept_drafts } = record;
  const began = plans[0];
  if (began === undefined) return { draft_version, regenerate, kept_drafts: kept_drafts ?? {} };
  return {
    draft_version: Math.max(1, ...began.steps.map((step) => step.draft_version)),
    regenerate,
    kept_drafts: keepDrafts(record, []),
  };
}

/** Returns the versions that are not the first of all steps but those that are made anew, and where they began. */
export function keepDrafts(record: WorkflowRecord, anew: readonly string[]): KeptDrafts {
  const newest = new Map([...plannedSteps(record)].map(({ step }) => [baseIdOf(step.step_id), step] as const));
  const kept = [...newest].filter(([base, { draft_version }]) => draft_version > 1 && !anew.includes(base));
  return Object.fromEntries(kept.map(([, step]) => keepDraft(record, step)));
}

function keepDraft(record: WorkflowRecord, step: PlanStep): readonly [string, KeptDraft] {
  const base = baseIdOf(step.step_id);
  const { step_id, workflow_id } = findBegin(record, firstOfCall(record, step));
  const renamed = step_id === base ? {} : { step_id };
  return [
    base,
    { draft_version: step.draft_version, ...renamed, ...(workflow_id === undefined ? {} : { workflow_id }) },
  ];
}

/** Returns the step that made this step's call first: the step of a later plan that repeats a call has its key. */
function firstOfCall({ steps }: WorkflowRecord, step: PlanStep): PlanStep {
  const called = steps.get(step.step_id)?.action_id ?? null;
  const first = called === null ? undefined : [...steps.values()].find(({ action_id }) => action_id === called);
  return first?.step ?? step;
}

/** Returns the keys of calls with unusable results; the request for repetition knows of them. */
function spentIn({ spent_calls, actions }: WorkflowRecord): readonly string[] {
  const own = [...actions.values()].filter(
    ({ seen, record: { error } }) => seen.startsWith("failed") && isSpent(error),
  );
  return [...new Set([...spent_calls, ...own.map(({ record: { action_id } }) => action_id)])];
}
