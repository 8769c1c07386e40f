/**
 * Taking over: the record of another workflow with which a fork begins.
 *
 * 1.  The fork runs the plan of that workflow, which policy judges anew; a demand for approval concerns the steps that
 *     are not taken over. With other inputs another plan is made, which must say the same of each step that is taken
 *     over.
 * 2.  A step that is taken over calls nothing, asks nobody and costs nothing. What it did is undone by the workflow
 *     that did it.
 * 3.  The other workflow knows of the fork before anything of the fork begins.
 */
import { digest } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft, type EventDraft } from "../../../../contract/event.ts";
import type { Plan, PlanStep } from "../../../../contract/plan.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";
import { toHost } from "../run/intention.ts";
import { ask, oodaRef, type Run } from "../run/run.ts";

/** Returns the digest of what a plan says of the work of a step. */
export const digestOfWork = ({ kind, operator, params, each, repeat }: PlanStep): string =>
  digest({
    kind,
    operator,
    params,
    ...(each !== undefined && { each }),
    ...(repeat !== undefined && { repeat }),
  } as never);

/** Returns the plan that a fork takes over; null if it is no fork, or makes a plan of its own. */
export function planTakenOver(run: Run): Plan | null {
  const { fork, plan, plan_id, workflow_id, intent } = run.log.record;
  if (fork === null || plan !== null) return null;
  ask(run, "note_fork", toHost("note_fork", {}));
  return fork.plan === null
    ? null
    : { ...fork.plan, plan_id, workflow_id, intent_id: intent.intent_id, round: 0, parent_plan_id: null };
}

/** Returns whether a step of the first plan of a fork is taken over. */
export const isTaken = ({ fork, plan }: WorkflowRecord, stepId: string): boolean =>
  plan === null && fork?.steps.some(({ step_id }) => step_id === stepId) === true;

/** Requires that a plan says of each step that is taken over what the other workflow did. @throws T4_FORK_INVALID. */
export function requireSameWork({ fork, plan: before }: WorkflowRecord, { steps }: Plan): void {
  if (fork === null || before !== null) return;
  for (const { step_id, work } of fork.steps) {
    const step = steps.find((one) => one.step_id === step_id);
    if (step !== undefined && digestOfWork(step) === work) continue;
    const what = step === undefined ? "has no such step" : "does other work there";
    const message = `the plan for the other inputs ${what}: ${step_id} cannot be taken over; fork at it`;
    raise(kernelError("T4_FORK_INVALID", message, oodaRef("plan"), { detail: { step_id } }));
  }
}

/** Returns the ends of the steps that are taken over, with their outcomes; nothing once the plan has begun. */
export function takeOver(run: Run): readonly EventDraft[] {
  const { fork, steps, plans, workflow_id, intent } = run.log.record;
  if (fork === null || plans.length > 1) return [];
  const taken = fork.steps.filter(({ step_id }) => steps.get(step_id)?.state === "queued");
  if (taken.length === 0) return [];
  const ends = taken.map(({ step_id, state, skip_reason, output }) =>
    state === "succeeded"
      ? draft("STEP_TAKEN_OVER", { from: fork.workflow_id }, step_id)
      : draft(
          "STEP_SKIPPED",
          { reason: skip_reason ?? "condition", because: null, ...(output !== null && { output: output as never }) },
          step_id,
        ),
  );
  const made = fork.outcomes.map((outcome) => {
    const own = { ...outcome, outcome_id: run.drawId("outcome"), workflow_id, intent_id: intent.intent_id };
    const type = outcome.status === "final" ? "OUTCOME_FINALIZED" : "OUTCOME_DRAFTED";
    return draft(type, { outcome: own, action_id: null }, outcome.step_id);
  });
  return [...ends, ...made];
}
