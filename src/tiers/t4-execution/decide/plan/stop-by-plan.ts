/**
 * Stops the other steps of a plan once a step has failed by the plan's choice: nothing more begins.
 *
 * 1.  A call that is under way is waited for, and an end that nobody knows is asked of a person first. Neither is
 *     called again. The children of steps are cancelled, and waited for. All other steps are skipped at once, with
 *     the gates that they held.
 */
import { draft } from "../../../../contract/event.ts";
import type { Plan } from "../../../../contract/plan.ts";
import { isStepDone, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { StepPhase } from "../../../../contract/workflow-state.ts";
import type { Run } from "../run/run.ts";
import { kindOf } from "../step/kinds.ts";
import { stopChildren } from "../step/run-step.ts";

/** The steps of a plan by which it may end its workflow, found once for each plan. */
const failingSteps = new WeakMap<Plan, readonly string[]>();

function failingStepsOf(plan: Plan): readonly string[] {
  const known = failingSteps.get(plan);
  if (known !== undefined) return known;
  const found = plan.steps.filter(({ kind }) => kind === "fail").map(({ step_id }) => step_id);
  failingSteps.set(plan, found);
  return found;
}

/** Returns the step of the newest plan that has ended the workflow by the plan's choice. */
export function endedBy({ plan, steps }: WorkflowRecord): StepRecord | undefined {
  const failing = plan === null ? [] : failingStepsOf(plan);
  const id = failing.find((one) => steps.get(one)?.error?.code === "T4_PLAN_FAILED");
  return id === undefined ? undefined : steps.get(id);
}

/** Skips what may not go on after a step has failed by the plan's choice. */
export function stopOthers(run: Run): void {
  const { record } = run.log;
  if (record.compensating !== null || endedBy(record) === undefined) return;
  stopChildren(run);
  for (const step of record.steps.values()) {
    if (!record.standing.places.has(step.step.step_id) || isStepDone(step.state) || isUnderWay(run, step)) continue;
    run.log.note(draft("STEP_SKIPPED", { reason: "plan_failed", because: null }, step.step.step_id));
  }
}

const ending: ReadonlySet<StepPhase | null> = new Set<StepPhase>(["finishing", "settling"]);

const isUnderWay = (run: Run, step: StepRecord): boolean =>
  run.calls.has(step.step.step_id) || ending.has(step.phase) || kindOf(step.step).cancel.isOpen(run, step);
