/**
 * The key of a call that derives from its inputs, over all plans of a workflow.
 *
 * Owns: the choice of the earlier plan's call that a step makes again. Never: the answer of that call's key
 * (answer-key.ts).
 * 1.  A step of a new plan with the operator and the inputs of a step that has called keeps the key of that call,
 *     whatever the step's name. Each call is kept by one step of the plan: two equal steps are two calls.
 * 2.  A call gets a new key if a person asked for the work anew (another draft version), if a plan continues after a
 *     success, or if the call has no effect and another answer is wanted.
 */

import { keptDraftOf } from "../../../../contract/kept-draft.ts";
import { isHarmless } from "../../../../contract/operator.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isSpent } from "../../../../contract/spent-call.ts";
import type { Added } from "../../../../contract/step-group.ts";
import type { ActionEntry, StepRecord, WorkflowRecord } from "../../../../contract/workflow.ts";
import type { Prepared } from "../payload/prepare-step.ts";
import { baseIdOf, hasGoneThrough, restsOn, stepBefore } from "../run/run.ts";
import { deriveKey } from "./derive-key.ts";

/** The parts of a prepared step that determine its key. */
type Named = Pick<Prepared, "step" | "inputs" | "operator">;

/** Returns the key of the call that the step makes: that of an earlier call that it makes again, or a new one. */
export function findKey(record: WorkflowRecord, named: Named): string {
  return findKeptKey(record, named) ?? keyAs(record, named, named.step);
}

function findKeptKey(record: WorkflowRecord, named: Named): string | null {
  if (record.plans.length < 2) return null;
  const { step } = named;
  const added = record.steps.get(step.step_id)?.added ?? null;
  const before =
    added !== null
      ? sameItemsOf(record, added)
      : [...lineageOf(record, step), ...othersOf(record, step).filter((one) => mayStandFor(record, step, one))];
  for (const one of before) {
    if (one.action_id === null || one.step.operator !== step.operator) continue;
    const key = keyAs(record, named, one.step);
    const entry = record.actions.get(record.keys.get(key) ?? "");
    if (entry !== undefined && !isTaken(record, step, entry) && !isAnswered(named, entry)) return key;
  }
  return null;
}

/** Returns the steps of earlier plans that were added for the same item, newest first. */
function sameItemsOf(record: WorkflowRecord, { of, key }: Added): readonly StepRecord[] {
  const owner = record.steps.get(of);
  const before = owner === undefined ? [] : lineageOf(record, owner.step);
  return before.flatMap(({ step }) => {
    const id = record.standing.groups.get(step.step_id)?.ids.get(key);
    return record.steps.get(id ?? "") ?? [];
  });
}

/** Returns the key that a step's call has with these inputs. */
function keyAs(record: WorkflowRecord, { inputs }: Named, step: PlanStep): string {
  const begun = findBegin(record, step);
  return deriveKey({
    operator: step.operator,
    version: step.operator_version,
    tenantId: record.tenant_id,
    intentId: record.intent.intent_id,
    stepId: begun.step_id,
    inputs,
    draftVersion: step.draft_version,
    draftOf: begun.workflow_id,
  });
}

/** The step and the workflow that a step's keys contain. */
interface Begin {
  readonly step_id: string;
  readonly workflow_id?: string;
}

/**
 * Returns the step and workflow in which a step's draft version began, as its keys contain them. Two workflows that
 * repeat the same work begin versions of the same number, and these are different calls. No workflow is named for the
 * original work, and for versions of older ledgers.
 */
export function findBegin(record: WorkflowRecord, { step_id, draft_version }: PlanStep): Begin {
  const { kept_drafts, workflow_id } = record;
  const own = { step_id: workIdOf(record, step_id) };
  if (kept_drafts === null) return own;
  const { of = step_id, key = null } = record.steps.get(step_id)?.added ?? {};
  const kept = keptDraftOf(kept_drafts, baseIdOf(of));
  if (draft_version !== kept.draft_version) return { ...own, workflow_id };
  // The version of an added step is that of the step that added it.
  const there = kept.step_id !== undefined && key !== null ? { step_id: `${kept.step_id}:${key}` } : {};
  return { ...own, ...kept, ...there };
}

/**
 * Returns the step whose work a step does. A step that replaces one without a call does that one's work, and shares its
 * call with its siblings.
 */
function workIdOf(record: WorkflowRecord, stepId: string): string {
  const added = record.steps.get(stepId)?.added ?? null;
  // An item's work is named by its key: its place in another list may be another one.
  if (added !== null) return `${workIdOf(record, added.of)}:${added.key}`;
  const before = stepBefore(record, stepId);
  if (before === null || before.action_id !== null) return stepId;
  return workIdOf(record, before.step.step_id);
}

/**
 * Returns the steps of earlier plans that this one replaces by its name, newest first, down to the last one that a
 * person asked for anew.
 */
function lineageOf(record: WorkflowRecord, step: PlanStep): StepRecord[] {
  const before = stepBefore(record, step.step_id);
  if (before === null || before.step.draft_version < step.draft_version) return [];
  return [before, ...lineageOf(record, before.step)];
}

/** Returns the steps of earlier plans whose name the newest plan no longer has. */
function othersOf(record: WorkflowRecord, { step_id }: PlanStep): StepRecord[] {
  const planned = new Set([step_id, ...(record.plan?.steps ?? []).map((one) => one.step_id)].map(baseIdOf));
  const newest = new Map<string, StepRecord>();
  for (const one of record.steps.values()) newest.set(baseIdOf(one.step.step_id), one);
  return [...newest].flatMap(([base, one]) => (planned.has(base) ? [] : [one, ...lineageOf(record, one.step)]));
}

/**
 * Returns whether a step may make the call of a step with another name: of a failed step, or, if the plan before
 * failed, of a succeeded step on which it does not depend.
 */
function mayStandFor(record: WorkflowRecord, step: PlanStep, other: StepRecord): boolean {
  if (other.state !== "succeeded") return true;
  return !hasGoneThrough(record, record.plans.at(-2) ?? null) && !restsOn(record, step, other.step.step_id);
}

/** Returns whether another step of the newest plan makes this call already. */
function isTaken({ steps, plan }: WorkflowRecord, { step_id }: PlanStep, { record }: ActionEntry): boolean {
  const others = plan?.steps.filter((one) => one.step_id !== step_id) ?? [];
  return others.some((one) => steps.get(one.step_id)?.action_id === record.action_id);
}

/** Returns whether the call has given its answer and had no effect, so that a new plan asks for another answer. */
const isAnswered = ({ operator }: Named, { seen, record }: ActionEntry): boolean =>
  isHarmless(operator.metadata.effect) && (seen === "succeeded" || isSpent(record.error));
