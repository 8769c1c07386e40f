/**
 * The phase of a step: its next action, read from its record alone.
 *
 * Never: appends an event, nor puts a question.
 */
import { type Gate, gateIdOf } from "../../../../contract/gate.ts";
import { hasAddedAll, type StepRecord, unmetOf, waitRemindedAt } from "../../../../contract/workflow.ts";
import { type Run, showsNewest } from "../run/run.ts";

/**
 * The next action of a running step; `waiting` before it has begun, `over` once it has ended. A parked step is
 * `waking` once its wait is over, and `looking` until this process has asked whether what it waits for is
 * there already. It is `reminding` when people are to be reminded of its wait.
 */
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
  | "parked"
  | "looking"
  | "reminding"
  | "waking"
  | "over";

/** Returns the next action of the step, from its record and from the calls that are running in this process. */
export function phaseOf(run: Run, step: StepRecord): Phase {
  const phase = ownPhaseOf(run, step);
  // A halt keeps a step from its call only.
  return step.held !== null && beginsCall.has(phase) ? "parked" : phase;
}

const beginsCall: ReadonlySet<Phase> = new Set(["judging", "lost", "backing_off"]);

function ownPhaseOf(run: Run, step: StepRecord): Phase {
  if (step.state === "queued") return "waiting";
  if (step.state !== "running") return "over";
  if (step.phase === "in_doubt") return "asking";
  if (step.phase === "awaiting_approval") return phaseAtGate(run, step);
  if (step.phase === "calling") return run.calls.has(step.step.step_id) ? "calling" : "lost";
  if (step.phase === "backing_off") return isDue(run, step) ? "judging" : "backing_off";
  if (step.phase === "parked") return phaseOfWait(run, step);
  return step.phase ?? "judging";
}

const isDue = (run: Run, { retry_due }: StepRecord): boolean => retry_due === null || Date.parse(retry_due) <= run.now;

function phaseOfWait(run: Run, step: StepRecord): Phase {
  if (isOver(run, step)) return "waking";
  if (waitRemindedAt(step) <= run.now) return "reminding";
  const { source } = step.parked ?? {};
  return source === "time" || source === "items" || run.looked.has(step.step.step_id) ? "parked" : "looking";
}

/**
 * Returns whether what a step was parked for has come: its time, its answer, or the end of the steps that it has added.
 */
const isOver = (run: Run, step: StepRecord): boolean =>
  step.parked?.source === "items"
    ? hasAddedAll(run.log.record, step)
    : step.answer !== null || (step.parked?.due_at != null && Date.parse(step.parked.due_at) <= run.now);

/**
 * Returns the phase of a step at a gate. A gate that was rejected as it opened ends its step after the chain has run
 * back.
 */
function phaseAtGate(run: Run, { step }: StepRecord): Phase {
  const gate = run.log.record.gates.get(gateIdOf(step.step_id));
  if (gate?.status === "rejected") return "judging";
  return gate !== undefined && mayShowNewer(run, step, gate) ? "revising" : "asking";
}

/** Returns whether the gate's payload was made again and all dependencies of the step are met. */
const mayShowNewer = (run: Run, step: StepRecord["step"], gate: Gate): boolean =>
  !showsNewest(run, gate) && unmetOf(run.log.record, step) === undefined;
