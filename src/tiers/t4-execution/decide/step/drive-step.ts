/**
 * Drives one step as far as possible; the next action is read from the record alone.
 *
 * 1.  One function serves every beginning: a step that begins, or that returns from a gate, a pause, a crash or another
 *     process.
 * 2.  An error of a step's own deciding ends the step, not the workflow; it does not settle a call that the step had
 *     made before.
 */

import type { KernelError } from "../../../../contract/error.ts";
import type { StepRecord } from "../../../../contract/workflow.ts";
import { errorOf } from "../../../../engine/actors/within.ts";
import { hasUnsettledCall } from "../call/answer-key.ts";
import { findKnownOperator, isRepeatable } from "../payload/prepare-step.ts";
import { failStep } from "../run/end-step.ts";
import { oodaRef, parked, type Run, scopeOf, stepOf } from "../run/run.ts";
import { kindOf } from "./kinds.ts";
import { isStepHalted } from "./meet-halts.ts";
import { type Phase, phaseOf } from "./read-phase.ts";
import { openDoubtGate } from "./settle-failure.ts";

const phaseNow = (run: Run, stepId: string): Phase => phaseOf(run, stepOf(run, stepId));

const moving: ReadonlySet<Phase> = new Set([
  "judging",
  "revising",
  "lost",
  "finishing",
  "settling",
  "looking",
  "reminding",
  "waking",
]);

/** The phases in which a pass may begin a call. */
const begins: ReadonlySet<Phase> = new Set(["judging", "lost"]);

/** Drives a running step as far as possible. */
export function driveStep(run: Run, stepId: string): void {
  const scope = scopeOf(stepId);
  if (run.scopes.waits(scope)) return;
  for (let from = -1; moving.has(phaseNow(run, stepId)); ) {
    if (from === run.log.position) {
      stuck(run, stepId);
      break;
    }
    from = run.log.position;
    if (begins.has(phaseNow(run, stepId)) && isStepHalted(run, stepOf(run, stepId))) return;
    if (!takePass(run, stepId, scope)) return;
  }
  if (phaseNow(run, stepId) === "over") run.contexts.delete(stepId);
}

/** Takes one pass; returns false if it waits for an answer. */
function takePass(run: Run, stepId: string, scope: string): boolean {
  try {
    return run.scopes.pass(scope, () => kindOf(stepOf(run, stepId).step).resume(run, stepId));
  } catch (thrown) {
    if (thrown === parked) return true;
    if (run.log.lost !== null) throw thrown;
    endThrown(run, stepId, errorOf(thrown, "T4_OPERATOR_BUG", oodaRef("run_step")));
    return true;
  }
}

function endThrown(run: Run, stepId: string, error: KernelError): void {
  const step = stepOf(run, stepId);
  const doubtful = hasUnsettledCall(run, step) && !isRepeatable(findKnownOperator(run, step.step));
  if (doubtful && openDoubtGate(run, stepId, `the step cannot go on: ${error.message}`)) return;
  failStep(run, stepId, error);
}

/** Ends a step with a code if a pass changes nothing, since repeating it would never end. */
function stuck(run: Run, stepId: string): void {
  const { phase, attempt } = stepOf(run, stepId);
  const thrown = new Error(`step ${stepId} does not go on from ${phase ?? "where it is"}, attempt ${attempt}`);
  endThrown(run, stepId, errorOf(thrown, "T4_OPERATOR_BUG", oodaRef("run_step")));
}

/** Begins a step whose turn it is. */
export function beginStep(run: Run, step: StepRecord): void {
  run.mark?.("step.execute", { step_id: step.step.step_id });
  kindOf(step.step).begin(run, step);
  driveStep(run, step.step.step_id);
}
