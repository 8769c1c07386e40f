/**
 * Schedules the steps of a plan. When none can run: parks, replans or ends the workflow.
 *
 * 1.  The workflow is waiting_for_user exactly when a gate is open and no step is running or ready; it is waiting when
 *     steps are parked and no gate is open.
 * 2.  A failed step is replanned while rounds are left. Three kinds are never replanned: a blocked step, a step whose
 *     effect is unknown, and a step whose call was answered and had an effect, though its answer cannot be used or was
 *     refused.
 * 3.  The budget is checked before each start; a refusal starts nothing more and skips the steps that have not started.
 * 4.  Every step ends: one that can never start because of a dependency is skipped by name. One whose condition does
 *     not hold is skipped when its turn comes, and the steps after it continue.
 * 5.  A failure is handled if a step waited for any end of it and continued: it neither fails the workflow nor makes
 *     another plan. A refusal by policy, a person or the budget is never handled in this way.
 * 6.  A plan that continues is followed by another once all of it has succeeded, up to limits.maxRounds of them.
 */

import { checkBudget } from "../../../../contract/budget.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { WorkflowCompensating } from "../../../../contract/events/workflow-events.ts";
import { isOpenGate } from "../../../../contract/gate.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import type { WorkflowStateName } from "../../../../contract/progress.ts";
import { isSpent } from "../../../../contract/spent-call.ts";
import { toStepResult } from "../../../../contract/step.ts";
import {
  failedOf,
  isHandled,
  isLeftOut,
  isRunnable,
  isTerminal,
  isThrough,
  mayAnyBegin,
  plannedSteps,
  type StepRecord,
  stepsOf,
  unmetOf,
  type WorkflowRecord,
} from "../../../../contract/workflow.ts";
import { holdsNow } from "../payload/hold-condition.ts";
import { findKnownOperator, mayChange } from "../payload/prepare-step.ts";
import { failStep, isGateDenial } from "../run/end-step.ts";
import { capabilityOf, hasGoneThrough, oodaRef, type Run, scopeOf, stepOf } from "../run/run.ts";
import { beginStep, driveStep } from "../step/drive-step.ts";
import { kindOf } from "../step/kinds.ts";
import { type Phase, phaseOf } from "../step/read-phase.ts";
import { noteResumed } from "../step/resume-parked.ts";
import { stopChildren } from "../step/run-step.ts";
import { undoNext } from "./compensate.ts";
import { cancelWorkflow } from "./end-workflow.ts";
import { warnOfLoop } from "./plan-workflow.ts";
import { queueSteps } from "./queue-steps.ts";
import { endedBy, stopOthers } from "./stop-by-plan.ts";
import { takeOver } from "./take-over.ts";

/** Returns whether anything of the workflow may be begun by this run. */
export const mayGoOn = ({ log, interrupted }: Run): boolean =>
  log.exists && log.lost === null && !log.isOwnedElsewhere && !interrupted && !isTerminal(log.record.state);

/** Starts the workflow if this is its first plan, and queues the plan's steps. */
export function startPlan(run: Run): void {
  const { record } = run.log;
  if (record.state === "planned") run.log.note(draft("WORKFLOW_STARTED", { round: record.round }));
  const ids = (record.plan?.steps ?? []).map((s) => s.step_id);
  run.log.note(...takeOver(run));
  run.log.note(...queueSteps(record, ids));
}

/** Works on the plan as far as possible. Returns true if another round of planning follows. */
export function workPlan(run: Run): boolean {
  markRound(run);
  do workSteps(run);
  while (run.log.record.compensating !== null && isIdle(run) && undoNext(run));
  return isIdle(run) && settlePlan(run, stepsOf(run.log.record));
}

/** Returns whether nothing of the workflow is under way, and something may be begun. */
const isIdle = (run: Run): boolean => mayGoOn(run) && !run.asleep && !isBusy(run);

function workSteps(run: Run): void {
  for (let from = -1; from !== run.log.position && mayGoOn(run); ) {
    from = run.log.position;
    resumeIfRunnable(run);
    const movable = movableOf(run);
    skipDead(run, movable);
    stopOthers(run);
    for (const step of movable)
      if (step.state === "running" && mayGoOn(run) && hasPlace(run, step)) driveStep(run, step.step.step_id);
    stopOthers(run);
    if (!run.asleep) beginReady(run);
  }
}

/**
 * Marks the beginning of a plan for telemetry. A direct response is one step of the kernel's own and does not enter the
 * DAG.
 */
function markRound(run: Run): void {
  const { plan } = run.log.record;
  if (plan === null || run.workingOn === plan.plan_id) return;
  run.workingOn = plan.plan_id;
  if (plan.direct_response === null) run.mark?.("dag.run");
}

/** Returns the running steps of the plan for which `isSuch` holds. */
function runningOf(run: Run, isSuch: (run: Run, step: StepRecord) => boolean): StepRecord[] {
  const { steps, standing } = run.log.record;
  const running: StepRecord[] = [];
  for (const id of standing.running) {
    const step = standing.places.has(id) ? steps.get(id) : undefined;
    if (step !== undefined && isSuch(run, step)) running.push(step);
  }
  return running;
}

/** Returns the steps that do not wait for a call, in the plan's order. */
function movableOf(run: Run): StepRecord[] {
  const { places } = run.log.record.standing;
  const placeOf = ({ step }: StepRecord): number => places.get(step.step_id) ?? 0;
  const movable = runningOf(run, isMovable);
  return movable.length < 2 ? movable : movable.sort((a, b) => placeOf(a) - placeOf(b));
}

const isMovable = ({ calls }: Run, { phase, step }: StepRecord): boolean =>
  phase !== "calling" || !calls.has(step.step_id);

const resting: ReadonlySet<Phase> = new Set(["waiting", "asking", "parked", "over"]);

/** Returns whether a step runs, waits for an answer, or pauses. */
const isActive = (run: Run, step: StepRecord): boolean =>
  !resting.has(phaseOf(run, step)) || run.scopes.waits(scopeOf(step.step.step_id));

function isBusy(run: Run): boolean {
  if (runningOf(run, isActive).length > 0) return true;
  // A step that has ended may still have an unanswered question.
  return run.scopes.anyWaits() && stepsOf(run.log.record).some((step) => isActive(run, step));
}

const waitingStates: ReadonlySet<WorkflowStateName> = new Set(["waiting_for_user", "waiting"]);

/** Appends WORKFLOW_RESUMED once something has made a step ready. */
function resumeIfRunnable(run: Run): void {
  const { record } = run.log;
  if (!waitingStates.has(record.state) || run.asleep) return;
  const ready = findReady(run);
  if (ready !== undefined) noteResumed(run, ready);
}

/** Returns a step that can go on now: one of a plan first, then one that a step has added. */
function findReady(run: Run): string | undefined {
  const { record } = run.log;
  const canGoOn = (step: StepRecord): boolean => isRunnable(record, step) || phaseOf(run, step) === "waking";
  for (const step of plannedSteps(record)) if (canGoOn(step)) return step.step.step_id;
  const added = runningOf(run, (_, step) => step.added !== null && canGoOn(step))[0];
  return added?.step.step_id ?? [...record.standing.groups.values()].find((group) => mayAnyBegin(record, group))?.of;
}

/**
 * Skips the steps that depend, directly or through others, on a step without success. Steps at a gate are examined each
 * time.
 */
function skipDead(run: Run, movable: readonly StepRecord[]): void {
  const { steps } = run.log.record;
  for (let from = -1; from !== run.log.position; ) {
    from = run.log.position;
    for (const step of run.ready.hasDied(run.log.record) ? stepsOf(run.log.record) : movable) {
      if (step.state !== "queued" && step.phase !== "awaiting_approval") continue;
      const { depends_on, settled = [] } = step.step;
      const because = depends_on.find((id) => isDead(steps.get(id)) && !settled.includes(id));
      if (because !== undefined) skip(run, step, because);
    }
  }
}

const isDead = (step: StepRecord | undefined): boolean =>
  step?.state === "failed" || (step?.state === "skipped" && !isLeftOut(step));

function skip(run: Run, { step, state }: StepRecord, because: string): void {
  const cause = run.log.record.steps.get(because);
  if (state !== "queued") {
    const message = `${because}, on which ${step.step_id} rests, did not succeed`;
    return failStep(run, step.step_id, kernelError("T4_DEPENDENCY_FAILED", message, oodaRef("run_step")));
  }
  const blocked = cause?.blocked === true || cause?.skip_reason === "dependency_blocked";
  const reason = because === "budget" ? "budget" : blocked ? "dependency_blocked" : "dependency_failed";
  run.log.note(draft("STEP_SKIPPED", { reason, because }, step.step_id));
}

/**
 * Returns whether a step may run now. A step that returns from a gate or from another process needs one of the places
 * of its workflow.
 */
function hasPlace(run: Run, step: StepRecord): boolean {
  if (step.added !== null || !comesBack(run, step)) return true;
  return runningOf(run, isCounted).filter((one) => !comesBack(run, one)).length < limitOf(run);
}

function comesBack(run: Run, step: StepRecord): boolean {
  const phase = phaseOf(run, step);
  return (
    (phase === "lost" || (phase === "judging" && step.attempt === 0)) &&
    !run.scopes.hasBegun(scopeOf(step.step.step_id))
  );
}

/** Returns whether a step takes one of the places of its workflow: those that a step adds have places of their own. */
const isCounted = (run: Run, step: StepRecord): boolean => step.added === null && isActive(run, step);

const limitOf = ({ settings }: Run): number => Math.max(1, settings.limits.maxConcurrentSteps);

/** Begins the ready steps by priority, then in the plan's order, as many as may run at once. */
function beginReady(run: Run): void {
  const { record } = run.log;
  let active: number | null = null;
  for (let id = run.ready.next(record); id !== undefined && mayGoOn(run); id = run.ready.next(record)) {
    const next = stepOf(run, id);
    if (!isWanted(run, next)) continue;
    active ??= runningOf(run, isCounted).length;
    if ((next.added === null && active >= limitOf(run)) || !checkStart(run, next.step)) return;
    beginStep(run, next);
    stopOthers(run);
    if (isCounted(run, next)) active += 1;
  }
}

/** Returns whether the condition of a step holds, if it has one; where it does not, the step is skipped. */
function isWanted(run: Run, { step }: StepRecord): boolean {
  if (step.when === undefined || holdsNow(run, step, { condition: step.when, literals: step.when_literals }))
    return true;
  run.log.note(draft("STEP_SKIPPED", { reason: "condition", because: null }, step.step_id));
  return false;
}

function checkStart(run: Run, step: PlanStep): boolean {
  const refusal = kindOf(step).ready(run, step);
  if (refusal === null) return true;
  run.log.note(draft("BUDGET_REFUSED", { error: refusal }, step.step_id));
  for (const open of run.log.record.steps.values())
    if (open.state === "queued" && isOfPlan(run, open)) skip(run, open, "budget");
  return false;
}

const isOfPlan = ({ log: { record } }: Run, { step }: StepRecord): boolean => record.standing.places.has(step.step_id);

/** Settles a plan of which nothing is running or ready. Returns true if another plan is to be made. */
function settlePlan(run: Run, steps: readonly StepRecord[]): boolean {
  const { record } = run.log;
  if (record.compensating !== null) return endUndone(run, record.compensating);
  if (record.budget_refused !== null && stopChildren(run)) return park(run);
  if (record.budget_refused !== null) return endWith(run, { how: "fail", error: record.budget_refused });
  if (runningOf(run, isWaiting).length > 0) return park(run);
  const ended = endedBy(record);
  if (ended !== undefined) return endFailed(run, [ended]);
  for (const step of steps) if (step.state === "queued") skip(run, step, unmetOf(record, step.step) ?? "unreachable");
  const open = steps.filter((step) => !isThrough(step) && !isHandled(step, steps));
  const failed = open.filter((step) => step.state === "failed");
  if (open.length === 0 && record.plan?.continues !== true) return endWith(run, { how: "complete" });
  if (open.length > 0 && !mayReplan(run, failed)) return endFailed(run, failed);
  if (record.round + 1 >= run.settings.limits.maxRounds)
    return endWith(run, { how: "fail", error: tooManyRounds(run) });
  const refusal = checkBudget(record.spent, run.settings.maxCost);
  // The workflow then ends because of the budget, not the failure: a larger budget would allow another plan.
  if (refusal !== null) run.log.note(draft("BUDGET_REFUSED", { error: refusal }));
  if (refusal !== null) return endWith(run, { how: "fail", error: refusal });
  if (open.length > 0) warnOfLoop(run);
  if (waitingStates.has(record.state)) noteResumed(run, null);
  return true;
}

/** Ends a workflow that has undone what it had done, unless a step of it waits. */
function endUndone(run: Run, { ending }: WorkflowCompensating): false {
  if (run.log.record.standing.running.size > 0) return park(run);
  if (ending.how === "fail") return endWith(run, ending);
  cancelWorkflow(run, ending);
  return false;
}

const waitingPhases: ReadonlySet<Phase> = new Set(["asking", "parked"]);

const isWaiting = (run: Run, step: StepRecord): boolean => waitingPhases.has(phaseOf(run, step));

function endWith(run: Run, ending: NonNullable<Run["ending"]>): false {
  run.ending = ending;
  return false;
}

/** Appends the wait. The lease is given up with its row, and the workflow leaves memory. */
function park(run: Run): false {
  const { record } = run.log;
  const open = [...record.gates.values()].filter(isOpenGate).map((gate) => gate.gate_id);
  if (record.state === "running" || record.state === "compensating")
    run.log.note(draft("WORKFLOW_WAITING", { gates: open }));
  return false;
}

function mayReplan(run: Run, failed: readonly StepRecord[]): boolean {
  const { log, settings } = run;
  const { record } = log;
  const technical = failed.some((s) => !s.blocked || isReplanned(s));
  const final = failed.some((s) => [s, ...failedOf(record, s)].some((one) => endsForGood(run, one)));
  // The package is read only if another plan is possible: a process without it can still end its workflow.
  if (!technical || final || record.plan?.direct_response != null) return false;
  const { maxReplans = settings.limits.maxReplans } = capabilityOf(run).limits;
  return replansOf(record) < maxReplans;
}

/** Returns whether a step was rejected at its gate, and its plan asks for another one then. */
const isReplanned = ({ error, step }: StepRecord): boolean =>
  step.on_reject === "replan" && error !== null && isGateDenial(error);

/** Returns the number of rounds after the first that did not follow a success. */
const replansOf = (record: WorkflowRecord): number =>
  record.round - record.plans.slice(0, -1).filter((plan) => hasGoneThrough(record, plan)).length;

const tooManyRounds = ({ settings: { limits }, log: { record } }: Run) =>
  kernelError("T4_ROUNDS_EXHAUSTED", `${record.round + 1} plans were made for this workflow`, oodaRef("plan"), {
    detail: { rounds: record.round + 1, limit: limits.maxRounds },
  });

const finalCodes: ReadonlySet<string> = new Set([
  "T5_HUMAN_DENIED",
  "T5_GATE_EXPIRED",
  "T4_WAIT_EXPIRED",
  "T4_ACTION_IN_DOUBT",
  "T4_CHILD_FAILED",
  "T4_CHILD_CANCELLED",
  "T4_IDEMPOTENCY_PAYLOAD_MISMATCH",
  "T4_CALL_UNDONE",
]);

/**
 * Returns whether no plan can follow a failure: a person rejected the step, or nobody decided in time; its effect is
 * unknown; another payload was sent under its key; or the call was done and its answer cannot be used. A planner may
 * still write another payload, which is a new call.
 */
function endsForGood(run: Run, failed: StepRecord): boolean {
  const { error, step } = failed;
  if (isReplanned(failed)) return false;
  if (error === null || finalCodes.has(error.code)) return error !== null;
  return (isSpent(error) || wasDone(run, failed)) && mayChange(findKnownOperator(run, step));
}

/** Returns whether the step's call succeeded although its result was refused or cannot be used. */
function wasDone({ log: { record } }: Run, { action_id, answered_by }: StepRecord): boolean {
  const call = record.actions.get(action_id ?? "");
  if (isSpent(call?.record.error ?? null)) return true;
  return (
    answered_by !== null || (call?.seen === "succeeded" && toStepResult(call.record.result_payload).status !== "FAILED")
  );
}

function endFailed(run: Run, failed: readonly StepRecord[]): false {
  const denied = failed.find(({ error }) => error !== null && isGateDenial(error));
  if (denied !== undefined) {
    const reason = denied.error?.code === "T5_GATE_EXPIRED" ? "gate_expired" : "human_denied";
    cancelWorkflow(run, { reason, error: denied.error, principal: null });
    return false;
  }
  const error =
    failed.find((s) => s.error !== null)?.error ??
    kernelError("T4_DEPENDENCY_FAILED", "a step this workflow needs did not run", oodaRef("end"));
  return endWith(run, { how: "fail", error });
}
