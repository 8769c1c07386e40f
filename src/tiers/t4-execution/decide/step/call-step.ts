/**
 * The step kind `call`: a step that calls an operator, under policy, budget, gates and an idempotency key.
 *
 * 1.  After a cancellation, a call that may have an effect and may not be repeated keeps its step open until its end is
 *     known.
 */
import { checkBudget } from "../../../../contract/budget.ts";
import { draft } from "../../../../contract/event.ts";
import { gateIdOf } from "../../../../contract/gate.ts";
import type { Json } from "../../../../contract/json.ts";
import { toStepResult } from "../../../../contract/step.ts";
import type { StepRecord } from "../../../../contract/workflow.ts";
import { admitPayload } from "../call/admit-payload.ts";
import { hasUnsettledCall } from "../call/answer-key.ts";
import { noteScreening } from "../call/end-call.ts";
import { backOut } from "../call/hooks.ts";
import { describeGate, openGate } from "../gate/open-gate.ts";
import { findKnownOperator, isRepeatable, prepareStep } from "../payload/prepare-step.ts";
import { toHost } from "../run/intention.ts";
import { ask, type Run, spentFor, stepOf } from "../run/run.ts";
import { attemptStep } from "./attempt-step.ts";
import { finishStep } from "./finish-step.ts";
import type { StepKindRow } from "./kinds.ts";
import { phaseOf } from "./read-phase.ts";
import { openDoubtGate, settleFailure } from "./settle-failure.ts";

/** The row of the kind `call`. */
export const callStep: StepKindRow = {
  ready: (run, { step_id }) => {
    run.mark?.("policy.budget_check", { step_id });
    return checkBudget(spentFor(run.log.record, step_id), run.settings.maxCost);
  },
  begin: (run, { run: round, step: { step_id } }) => run.log.note(draft("STEP_STARTED", { run: round }, step_id)),
  resume: resumeCall,
  cancel: { isOpen, findOut: (run, step) => isAwaited(run, step) || asks(run, step) },
};

/**
 * Takes one pass of a step that calls an operator. @throws pending, parked; KernelErrorException if the step is denied.
 */
function resumeCall(run: Run, stepId: string): void {
  const step = stepOf(run, stepId);
  switch (phaseOf(run, step)) {
    case "revising":
      return showNewest(run, stepId);
    case "lost":
      return isRepeatable(findKnownOperator(run, step.step))
        ? attemptStep(run, stepId, true)
        : void openDoubtGate(run, stepId, "the process ended while the call was under way");
    case "finishing":
      return finish(run, step);
    case "settling":
      return settle(run, step);
    default:
      return attemptStep(run, stepId, false);
  }
}

/** Opens the gate of a regenerated draft again, on the new version. */
function showNewest(run: Run, stepId: string): void {
  const gate = run.log.record.gates.get(gateIdOf(stepId));
  const prepared = admitPayload(run, prepareStep(run, stepId));
  openGate(run, describeGate(run, prepared, gate?.reasons ?? []));
}

function finish(run: Run, { step, action_id, settled }: StepRecord): void {
  backOut(run, step.step_id, "after");
  const result = run.log.record.actions.get(action_id ?? "")?.record.result_payload ?? null;
  const screened = settled === "done" ? screenStated(run, step.step_id, result) : result;
  finishStep(run, { step, actionId: action_id, result: toStepResult(screened) });
}

/** Screens a result that a person stated, like a result of the operator (INV-04). */
function screenStated(run: Run, step_id: string, result: Json): Json {
  run.mark?.("security.validate_output", { step_id });
  const screened = ask(run, "screen", toHost("screen", { result }));
  noteScreening(run, step_id, screened);
  return screened.result;
}

function settle(run: Run, step: StepRecord): void {
  const { step_id } = step.step;
  backOut(run, step_id, "onError");
  const { error = null, cached = false } = step.attempts.at(-1) ?? {};
  const pending = hasUnsettledCall(run, step);
  settleFailure(run, step_id, { action_id: step.action_id ?? "", error, cached, pending });
}

/** Returns whether the step's call may have an effect and may not be repeated. A person's settlement is its end. */
function isOpen(run: Run, step: StepRecord): boolean {
  if (step.state !== "running" || step.settled !== null) return false;
  return hasUnsettledCall(run, step) && !isRepeatable(findKnownOperator(run, step.step));
}

const isAwaited = ({ calls }: Run, { phase, step }: StepRecord): boolean =>
  phase === "in_doubt" || calls.has(step.step_id);

/** Asks a person how the call ended. Returns false if another step asks about the same call, or nobody can be asked. */
function asks(run: Run, { step, action_id }: StepRecord): boolean {
  const { steps, actions } = run.log.record;
  const isAsked = [...steps.values()].some(
    (other) => other.phase === "in_doubt" && other.action_id === action_id && isOpen(run, other),
  );
  if (isAsked && actions.get(action_id ?? "")?.seen === "in_doubt") return false;
  return openDoubtGate(run, step.step_id, "its end is not known, and its workflow was cancelled");
}
