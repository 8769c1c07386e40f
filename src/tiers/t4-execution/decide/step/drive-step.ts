/**
 * One step, as far as it goes now: what it waits for is read from the record, and from nothing else.
 *
 * D1  One way in: a step that begins, comes back from a gate, a pause, a crash or another process is the same function.
 * D2  What a step's own deciding throws ends the step, not the workflow; what kept it from going on says nothing of a call
 *     that it had made before.
 */

import type { KernelError } from "../../../../contract/error.ts";
import { draft } from "../../../../contract/event.ts";
import { type Gate, gateIdOf } from "../../../../contract/gate.ts";
import type { Json } from "../../../../contract/json.ts";
import { toStepResult } from "../../../../contract/step.ts";
import { type ActionEntry, type StepRecord, unmetOf } from "../../../../contract/workflow.ts";
import { errorOf } from "../../../../engine/actors/within.ts";
import { admitPayload } from "../call/admit-payload.ts";
import { isUnsettled } from "../call/answer-key.ts";
import { noteScreening } from "../call/end-call.ts";
import { backOut } from "../call/hooks.ts";
import { describeGate, openGate } from "../gate/open-gate.ts";
import { findKnownOperator, isRepeatable, prepareStep } from "../payload/prepare-step.ts";
import { failStep } from "../run/end-step.ts";
import { toHost } from "../run/intention.ts";
import { ask, oodaRef, parked, type Run, scopeOf, showsNewest, stepOf } from "../run/run.ts";
import { attemptStep } from "./attempt-step.ts";
import { finishStep } from "./finish-step.ts";
import { openDoubtGate, settleFailure } from "./settle-failure.ts";

/** What a step is about to do. */
export type Phase =
  | "waiting"
  | "judging"
  | "revising"
  | "asking"
  | "calling"
  | "lost"
  | "finishing"
  | "settling"
  | "backing_off"
  | "over";

export function phaseOf(run: Run, step: StepRecord): Phase {
  if (step.state === "queued") return "waiting";
  if (step.state !== "running") return "over";
  if (step.phase === "in_doubt") return "asking";
  if (step.phase === "awaiting_approval") return phaseAtGate(run, step);
  if (step.phase === "calling") return run.calls.has(step.step.step_id) ? "calling" : "lost";
  if (step.phase === "backing_off") return isDue(run, step) ? "judging" : "backing_off";
  return step.phase ?? "judging";
}

const phaseNow = (run: Run, stepId: string): Phase => phaseOf(run, stepOf(run, stepId));

const isDue = (run: Run, { retry_due }: StepRecord): boolean => retry_due === null || Date.parse(retry_due) <= run.now;

/** A gate that was rejected as it opened ends its step once the way back is through. */
function phaseAtGate(run: Run, { step }: StepRecord): Phase {
  const gate = run.log.record.gates.get(gateIdOf(step.step_id));
  if (gate?.status === "rejected") return "judging";
  return gate !== undefined && mayShowNewer(run, step, gate) ? "revising" : "asking";
}

/** What its gate shows is made again, and all that it rests on is there. */
const mayShowNewer = (run: Run, step: StepRecord["step"], gate: Gate): boolean =>
  !showsNewest(run, gate) && unmetOf(run.log.record, step) === undefined;

const entryOf = ({ log }: Run, { action_id }: StepRecord): ActionEntry | null =>
  (action_id === null ? undefined : log.record.actions.get(action_id)) ?? null;

const moving: ReadonlySet<Phase> = new Set(["judging", "revising", "lost", "finishing", "settling"]);

/** Takes a running step on as far as it goes. */
export function driveStep(run: Run, stepId: string): void {
  const scope = scopeOf(stepId);
  if (run.scopes.waits(scope)) return;
  for (let from = -1; moving.has(phaseNow(run, stepId)); ) {
    if (from === run.log.position) {
      stuck(run, stepId);
      break;
    }
    from = run.log.position;
    if (!takePass(run, stepId, scope)) return;
  }
  if (phaseNow(run, stepId) === "over") run.contexts.delete(stepId);
}

/** False where the pass waits for an answer. */
function takePass(run: Run, stepId: string, scope: string): boolean {
  try {
    return run.scopes.pass(scope, () => go(run, stepId));
  } catch (thrown) {
    if (thrown === parked) return true;
    if (run.log.lost !== null) throw thrown;
    endThrown(run, stepId, errorOf(thrown, "T4_OPERATOR_BUG", oodaRef("run_step")));
    return true;
  }
}

function go(run: Run, stepId: string): void {
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

/** A gate whose draft was regenerated is opened again on the new version. */
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

/** What a person said the call gave passes the screening like what an operator gives (INV-04). */
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
  const pending = isUnsettled(entryOf(run, step));
  settleFailure(run, step_id, { action_id: step.action_id ?? "", error, cached, pending });
}

function endThrown(run: Run, stepId: string, error: KernelError): void {
  const step = stepOf(run, stepId);
  const doubtful = isUnsettled(entryOf(run, step)) && !isRepeatable(findKnownOperator(run, step.step));
  if (doubtful && openDoubtGate(run, stepId, `the step cannot go on: ${error.message}`)) return;
  failStep(run, stepId, error);
}

/** A round that moves nothing would be a loop: it ends the step, with a code. */
function stuck(run: Run, stepId: string): void {
  const { phase, attempt } = stepOf(run, stepId);
  const thrown = new Error(`step ${stepId} does not go on from ${phase ?? "where it is"}, attempt ${attempt}`);
  endThrown(run, stepId, errorOf(thrown, "T4_OPERATOR_BUG", oodaRef("run_step")));
}

/** A step whose turn it is begins. */
export function beginStep(run: Run, step: StepRecord): void {
  run.mark?.("step.execute", { step_id: step.step.step_id });
  run.log.note(draft("STEP_STARTED", { run: step.run }, step.step.step_id));
  driveStep(run, step.step.step_id);
}
