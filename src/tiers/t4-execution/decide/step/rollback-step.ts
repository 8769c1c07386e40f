/**
 * The step kind `rollback`: a step that the kernel adds to undo what a child of its workflow has done.
 *
 * 1.  The child is ordered to roll back before the step waits for it: an end that the step finds is that of the
 *     rollback.
 * 2.  The order may be repeated. A child that was rolled back before answers it alike.
 */
import { RollbackParams } from "../../../../contract/step-kinds.ts";
import { toHost } from "../run/intention.ts";
import { ask, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams } from "./quiet-step.ts";
import { look, park } from "./run-step.ts";

/** The row of the kind `rollback`. */
export const rollbackStep: StepKindRow = {
  ...quietStep,
  resume: (run, stepId) => (stepOf(run, stepId).phase === "parked" ? look(run, stepId) : order(run, stepId)),
};

function order(run: Run, stepId: string): void {
  const { child } = readQuietParams(run, stepId, RollbackParams);
  const { rolled_back, workflow_id, intent } = run.log.record;
  const principal = rolled_back?.principal ?? intent.actor;
  const reason = rolled_back?.reason ?? `its parent ${workflow_id} undoes what it has done`;
  ask(run, "roll_back_child", toHost("roll_back_child", { child, reason, principal }));
  park(run, stepId, child);
}
