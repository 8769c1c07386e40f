/**
 * The step kind `wait`: a step that waits for an event from outside. It parks with the event's name and key in the
 * ledger's index, and its workflow rests meanwhile if nothing else of it goes on.
 *
 * 1.  The step looks for an event once the row with its wait is committed; a sender looks for waits once the row with
 *     its event is. Whichever commits last finds the other, so that no event is missed between the two.
 * 2.  The row in which a step takes an event claims the event's key: each event ends one wait, unless it is broadcast.
 *     Where another workflow has claimed it first, the row is refused, and the step looks again.
 * 3.  A wait whose time is over looks once more: an event that came in time is not lost to the end of the wait.
 * 4.  People are reminded once, however many reminders were missed; the next one falls due at a multiple of the
 *     interval after the beginning of the wait.
 * 5.  An answer at the wait's one-time address is an event of this workflow, so that it may come before the wait. The
 *     first answer counts; the same again is received again, and another is refused.
 */

import { digest } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { TakenEvent } from "../../../../contract/events/step-events.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json } from "../../../../contract/json.ts";
import { WaitParams } from "../../../../contract/wait-step.ts";
import type { WaitAnswered } from "../../../../contract/wait-token.ts";
import {
  isCancelled,
  isTerminal,
  parkedSteps,
  type StepRecord,
  waitRemindedAt,
} from "../../../../contract/workflow.ts";
import { failStep } from "../run/end-step.ts";
import { type FoundEvent, toHost } from "../run/intention.ts";
import { ask, oodaRef, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams, succeedQuietly } from "./quiet-step.ts";
import { phaseOf } from "./read-phase.ts";
import { resumeParked } from "./resume-parked.ts";

/** The row of the kind `wait`. */
export const waitStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    switch (phaseOf(run, stepOf(run, stepId))) {
      case "judging":
        park(run, stepId);
        return look(run, stepId);
      case "reminding":
        return remind(run, stepId);
      case "looking":
      case "waking":
        return look(run, stepId);
      default:
        return finish(run, stepId);
    }
  },
};

function park(run: Run, stepId: string): void {
  const { event: name, key, within_ms, remind: reminders } = readQuietParams(run, stepId, WaitParams);
  const due_at = within_ms === undefined ? null : instantText(run.now + within_ms);
  run.looked.delete(stepId);
  const reminder = reminders && { sent: 0, due_at: instantText(run.now + reminders.every_ms) };
  const parked = { source: "event", name, key, due_at, ...(reminder && { reminder }) } as const;
  run.log.note(draft("STEP_PARKED", parked, stepId));
}

/** Notes a reminder that is due, and the time of the next one. */
function remind(run: Run, stepId: string): void {
  const step = stepOf(run, stepId);
  const { remind: reminders } = readQuietParams(run, stepId, WaitParams);
  if (reminders === undefined || step.parked?.source !== "event") return;
  const { every_ms, role, at_most = Number.POSITIVE_INFINITY } = reminders;
  const sent = (step.parked.reminder?.sent ?? 0) + 1;
  const due = waitRemindedAt(step);
  const next = due + (Math.floor((run.now - due) / every_ms) + 1) * every_ms;
  const reminder = { sent, due_at: sent < at_most ? instantText(next) : null };
  run.log.note(draft("WAIT_REMINDED", { role, reminder }, stepId));
}

/** Asks whether the event is there; where it is not, the step goes on waiting until its time is over. */
function look(run: Run, stepId: string): void {
  if (stepOf(run, stepId).answer !== null) return resumeParked(run, stepId, { by: "token" });
  ask(run, "saved", toHost("saved", {}));
  const isOver = phaseOf(run, stepOf(run, stepId)) === "waking";
  const isTaken = take(run, stepOf(run, stepId), findEvent(run, stepOf(run, stepId), { name: "event" }));
  run.looked.add(stepId);
  if (!isTaken && isOver) resumeParked(run, stepId, { by: "time" });
}

interface Search {
  /** The name of the question in its pass. */
  readonly name: string;
  /** The event that is meant; by default the oldest that has not been taken. */
  readonly event_id?: string | null;
}

/**
 * Asks the ledger for an event that the step may take. Those that it has passed over are left out, and those that
 * another step of this workflow has taken in a row that is not in the ledger yet. @throws pending
 */
function findEvent(run: Run, { step, passed }: StepRecord, { name, event_id = null }: Search): FoundEvent {
  const { event: kind, key, schema: form = null } = readQuietParams(run, step.step_id, WaitParams);
  for (const own: string[] = []; ; ) {
    const question = { name: kind, key, form, event_id, passed: [...passed, ...own] };
    const found = ask(run, `${name}${own.length === 0 ? "" : ` ${own.length}`}`, toHost("find_event", question));
    if (found.event === null || !isOwn(run, found.event)) return found;
    own.push(found.event.event_id);
  }
}

/** Returns whether a step of this workflow has taken an event from all others. */
function isOwn({ log: { record } }: Run, { event_id }: TakenEvent): boolean {
  for (const { resumed } of record.steps.values())
    if (resumed?.by === "event" && resumed.event.event_id === event_id && resumed.event.broadcast !== true) return true;
  return false;
}

/** Takes what was found, and notes the events that do not have the form that the step asks. */
function take(run: Run, { step: { step_id } }: StepRecord, { event, passed }: FoundEvent): boolean {
  for (const one of passed) run.log.note(draft("EVENT_PASSED_OVER", one, step_id));
  if (event !== null) resumeParked(run, step_id, { by: "event", event });
  return event !== null;
}

/** Gives what the wait ended with. */
function finish(run: Run, stepId: string): void {
  const { resumed, parked, answer } = stepOf(run, stepId);
  if (resumed?.by === "token") return succeedQuietly(run, stepId, answer?.payload ?? null);
  if (resumed?.by === "event") return succeedQuietly(run, stepId, resumed.event.payload);
  const { event, key, otherwise = "fail" } = readQuietParams(run, stepId, WaitParams);
  if (otherwise === "skip") return run.log.note(draft("STEP_SKIPPED", { reason: "expired", because: null }, stepId));
  if (otherwise !== "fail") return succeedQuietly(run, stepId, otherwise.value);
  const message = `the event ${event} of ${key} had not arrived by ${parked?.due_at ?? "the end of the wait"}`;
  failStep(run, stepId, kernelError("T4_WAIT_EXPIRED", message, oodaRef("run_step"), { detail: { event, key } }));
}

/** An event that was received, as a workflow that may wait for it is told of it. */
export interface DeliveredEvent {
  readonly name: string;
  readonly key: string;
  readonly event_id: string;
}

/**
 * Hands an event to the steps that wait for it: one of them takes it, or all if it is broadcast. Returns their ids;
 * none where another workflow has taken it, its form is not what they ask, or the workflow is paused. @throws pending
 */
export function deliverEvent(run: Run, { name, key, event_id }: DeliveredEvent): readonly string[] {
  const { record } = run.log;
  if (isTerminal(record.state) || isCancelled(record.state) || record.paused !== null) return [];
  const resumed: string[] = [];
  for (const step of parkedSteps(record)) {
    const { parked } = step;
    if (parked?.source !== "event" || parked.name !== name || parked.key !== key || step.answer !== null) continue;
    const { step_id } = step.step;
    const found = findEvent(run, step, { name: `event:${step_id}`, event_id });
    if (!take(run, step, found)) continue;
    resumed.push(step_id);
    if (found.event?.broadcast !== true) break;
  }
  return resumed;
}

/** An answer to a wait at its one-time address. */
export interface GivenAnswer {
  readonly step_id: string;
  readonly payload: Json;
}

/**
 * Receives an answer to a wait. @throws KernelErrorException T4_WAIT_TOKEN_USED if it has another one already,
 * T4_WAIT_TOKEN_OVER if it takes none any more.
 */
export function answerWait(run: Run, { step_id, payload }: GivenAnswer): WaitAnswered {
  const { record } = run.log;
  const step = record.steps.get(step_id);
  const earlier = step?.answer ?? null;
  if (earlier !== null && digest(earlier.payload) === digest(payload)) return { status: "received", duplicate: true };
  if (earlier !== null) refuseAnswer("T4_WAIT_TOKEN_USED", "the wait was answered already");
  const isGone = isTerminal(record.state) || isCancelled(record.state);
  if (isGone || step === undefined || !takesAnswer(run, step)) refuseAnswer("T4_WAIT_TOKEN_OVER", "the wait is over");
  run.log.note(draft("WAIT_ANSWERED", { payload }, step_id));
  return { status: "received", duplicate: false };
}

/** Returns whether a wait has not begun yet, or goes on. */
function takesAnswer(run: Run, { state, phase, parked }: StepRecord): boolean {
  if (state !== "running") return state === "queued";
  if (phase !== "parked") return phase === "judging";
  return parked?.due_at == null || Date.parse(parked.due_at) > run.now;
}

const refuseAnswer = (code: "T4_WAIT_TOKEN_USED" | "T4_WAIT_TOKEN_OVER", message: string): never =>
  raise(kernelError(code, message, oodaRef("answer_wait")));
