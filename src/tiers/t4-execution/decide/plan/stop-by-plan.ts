/**
 * Stops the other steps of a plan once a step has failed by the plan's choice, or was rejected at its gate where that
 * ends all work: nothing more begins.
 *
 * 1.  A call that is under way is waited for, and an end that nobody knows is asked of a person first. Neither is
 *     called again. The children of steps are cancelled, and waited for. All other steps are skipped at once, with
 *     the gates that they held.
 */
import { draft } from "../../../../contract/event.ts";
import type { Plan, PlanStep } from "../../../../contract/plan.ts";
import { isStepDone, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { StepPhase } from "../../../../contract/workflow-state.ts";
import { isGateDenial } from "../run/end-step.ts";
import type { Run } from "../run/run.ts";
import { kindOf } from "../step/kinds.ts";
import { stopChildren } from "../step/run-step.ts";

/** The steps of a plan by which it may end all of its work, found once for each plan. */
const endingSteps = new WeakMap<Plan, readonly PlanStep[]>();

function endingStepsOf(plan: Plan): readonly PlanStep[] {
  const known = endingSteps.get(plan);
  if (known !== undefined) return known;
  const found = plan.steps.filter(({ kind, on_reject }) => kind === "fail" || on_reject === "end_all");
  endingSteps.set(plan, found);
  return found;
}

/** Returns the step of the newest plan that has ended all of its work, by the plan's choice or by a rejection. */
export function endedBy({ plan, steps }: WorkflowRecord): StepRecord | undefined {
  for (const { step_id, kind } of plan === null ? [] : endingStepsOf(plan)) {
    const step = steps.get(step_id);
    const error = step?.error ?? null;
    if (error !== null && (kind === "fail" ? error.code === "T4_PLAN_FAILED" : isGateDenial(error))) return step;
  }
  return undefined;
}

/** Skips what may not go on after a step has ended all work of its plan. */
export function stopOthers(run: Run): void {
  const { record } = run.log;
  const ended = record.compensating === null ? endedBy(record) : undefined;
  if (ended === undefined) return;
  stopChildren(run);
  const reason = ended.step.kind === "fail" ? "plan_failed" : "rejected";
  for (const step of record.steps.values()) {
    if (!record.standing.places.has(step.step.step_id) || isStepDone(step.state) || isUnderWay(run, step)) continue;
    run.log.note(draft("STEP_SKIPPED", { reason, because: null }, step.step.step_id));
  }
}

const ending: ReadonlySet<StepPhase | null> = new Set<StepPhase>(["finishing", "settling"]);

const isUnderWay = (run: Run, step: StepRecord): boolean =>
  run.calls.has(step.step.step_id) || ending.has(step.phase) || kindOf(step.step).cancel.isOpen(run, step);
