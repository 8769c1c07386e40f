/**
 * The step kind `repeat`: it makes one step of each round, until a condition about the last one holds.
 *
 * 1.  A round begins once the one before it has succeeded, the condition does not hold, and the pause is over. A round
 *     that fails, fails the step.
 * 2.  `max` bounds the rounds of one run: a restart makes as many again.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { RepeatSpec } from "../../../../contract/plan.ts";
import { addedBy, type StepRecord } from "../../../../contract/workflow.ts";
import { holdsNow } from "../payload/hold-condition.ts";
import { lastRoundOf, oodaRef, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, succeedQuietly } from "./quiet-step.ts";
import { phaseOf } from "./read-phase.ts";

/** The row of the kind `repeat`. */
export const repeatStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    const step = stepOf(run, stepId);
    switch (phaseOf(run, step)) {
      case "judging":
        return beginRounds(run, step);
      case "waking":
        return step.parked?.source === "time" ? addRound(run, stepId) : endRound(run, step);
      default:
        return finishRounds(run, stepId);
    }
  },
};

const specOf = ({ step }: StepRecord): RepeatSpec => step.repeat as RepeatSpec;

/** Adds the first round; of a step that was restarted, waits for the round that runs again. */
function beginRounds(run: Run, step: StepRecord): void {
  const { step_id } = step.step;
  const isAgain = [...addedBy(run.log.record, step_id)].some(({ state }) => state === "queued");
  if (isAgain) run.log.note(draft("STEP_PARKED", { source: "items", due_at: null }, step_id));
  else addRound(run, step_id);
}

function addRound(run: Run, stepId: string): void {
  const { size = 0 } = run.log.record.standing.groups.get(stepId)?.ids ?? {};
  const items = [{ key: String(size + 1), value: null }];
  run.log.note(draft("STEPS_ADDED", { of: stepId, as: "round", items }, stepId));
  run.log.note(draft("STEP_PARKED", { source: "items", due_at: null }, stepId));
}

/** Goes on after a round has ended: with a pause, with the next round, or with the end of the step. */
function endRound(run: Run, step: StepRecord): void {
  const { step_id } = step.step;
  const { every_ms, max } = specOf(step);
  if (hasEnded(run, step) || roundsOf(run, step_id) >= max)
    return run.log.note(draft("STEP_RESUMED", { by: "items" }, step_id));
  if (every_ms === 0) return addRound(run, step_id);
  const due_at = instantText(run.now + every_ms);
  run.log.note(draft("STEP_PARKED", { source: "time", due_at }, step_id));
}

/** Returns how many rounds this run of the step has made. */
function roundsOf(run: Run, stepId: string): number {
  const group = run.log.record.standing.groups.get(stepId);
  return group === undefined ? 0 : group.ids.size - group.before;
}

/** Returns the round that has ended last, if it did not succeed. */
function failedRound(run: Run, stepId: string): StepRecord | undefined {
  const last = [...addedBy(run.log.record, stepId)].at(-1);
  return last?.state === "succeeded" || last?.skip_reason === "condition" ? undefined : last;
}

/** Returns whether no further round is made: the last one did not succeed, or its output fulfils the condition. */
const hasEnded = (run: Run, step: StepRecord): boolean =>
  failedRound(run, step.step.step_id) !== undefined || isFulfilled(run, step);

const isFulfilled = (run: Run, step: StepRecord): boolean => {
  const { until, until_literals } = specOf(step);
  return holdsNow(run, step.step, { condition: until, literals: until_literals });
};

const repeatRef = oodaRef("repeat");

function finishRounds(run: Run, stepId: string): void {
  const step = stepOf(run, stepId);
  const { budget_refused } = run.log.record;
  const failed = failedRound(run, stepId);
  if (failed !== undefined)
    raise(
      failed.error ??
        budget_refused ??
        kernelError("T4_DEPENDENCY_FAILED", `${failed.step.step_id} did not run`, repeatRef),
    );
  if (isFulfilled(run, step)) return succeedQuietly(run, stepId, lastRoundOf(run.log.record, stepId)?.output ?? null);
  const { max } = specOf(step);
  const message = `step ${stepId} has made ${max} rounds, and its condition does not hold`;
  raise(kernelError("T4_REPEAT_EXHAUSTED", message, repeatRef, { detail: { max } }));
}
