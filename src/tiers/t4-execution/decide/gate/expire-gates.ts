/**
 * Gates whose time is up: each does what it was opened with, as an event of its own, rung by rung where it has a
 * ladder. Without an expiry a gate waits for ever. Reminders fall due beside all that. While its workflow is awake, held back by
 * a command or not, the run keeps the time; the host does for one that rests.
 */
import { draft, type EventDraft } from "../../../../contract/event.ts";
import { type Gate, isOpenGate } from "../../../../contract/gate.ts";
import { defaultEscalation } from "../../../../contract/gate-spec.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import type { AskParams } from "../../../../contract/step-kinds.ts";
import { isHeld, isHeldBack, startOf, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { failStep, gateDenied } from "../run/end-step.ts";
import { isOutdated, type Run, scopeOf } from "../run/run.ts";
import { climb } from "./open-gate.ts";

/** Notes what has fallen due, whoever comes next: whatever is said after a gate's time meets its expiry first. */
export function expireGates(run: Run): void {
  const { gates } = run.log.record;
  if (gates.size === 0 || isHeldBack(run.log.record)) return;
  // A rung that is noted late may leave a gate whose expiry is over as well.
  for (let due = gatesDue(run); due.length > 0; due = gatesDue(run)) for (const gate of due) expire(run, gate, run.now);
  for (const gate of [...gates.values()]) if (remindedAt(gate) <= run.now) remind(run, gate);
}

/**
 * When something of the workflow falls due here: a gate's time, the end of a pause or a sleep; epoch ms, infinity for
 * never, as for a workflow that is held back. A step that waits for an answer since its pause ended goes on with that.
 */
export function nextDue(run: Run): number {
  const { gates, steps, standing } = run.log.record;
  if (isHeldBack(run.log.record)) return Number.POSITIVE_INFINITY;
  let next =
    gates.size === 0
      ? Number.POSITIVE_INFINITY
      : Math.min(...openGates(run).map(dueOf), ...[...gates.values()].map(remindedAt));
  next = Math.min(next, startOf(run.log.record) ?? next);
  for (const id of standing.running) {
    const step = steps.get(id);
    if (step === undefined || isHeld(step)) continue;
    const { phase, retry_due, parked } = step;
    const due = phase === "backing_off" ? retry_due : phase === "parked" ? (parked?.due_at ?? null) : null;
    if (due !== null && !run.scopes.waits(scopeOf(id))) next = Math.min(next, Date.parse(due));
  }
  return next;
}

/** Returns whether the workflow waits for its start, or a step for a time: the end of a pause, or of its sleep. */
export function waitsForTime(record: WorkflowRecord): boolean {
  if (startOf(record) !== null) return true;
  for (const id of record.standing.running) {
    const { phase, parked = null } = record.steps.get(id) ?? {};
    if (phase === "backing_off" || (phase === "parked" && parked?.due_at != null)) return true;
  }
  return false;
}

/** Nothing is allowed under a policy that is another by now: the run puts it to that one first, when it next comes by. */
const openGates = (run: Run): Gate[] =>
  [...run.log.record.gates.values()].filter(
    (gate) => gate.status === "open" && !(gate.expiry_action === "allow" && isOutdated(run, gate)),
  );
const gatesDue = (run: Run): Gate[] => openGates(run).filter((gate) => dueOf(gate) <= run.now);
const dueOf = (gate: Gate): number => (gate.due_at === null ? Number.POSITIVE_INFINITY : Date.parse(gate.due_at));

function expire(run: Run, gate: Gate, now: number): void {
  run.log.note(eventOf(gate, now));
  if (gate.expiry_action === "deny") failStep(run, gate.step_id, gateDenied({ ...gate, status: "expired" }));
}

/** The time of the next rung counts from now on, however late that is; that of the expiry from the opening of the gate. */
function eventOf(gate: Gate, now: number): EventDraft {
  const { gate_id, step_id } = gate;
  switch (gate.expiry_action) {
    case "escalate": {
      const [rung, ...left] = gate.ladder;
      const climbed = { role: gate.escalate_to ?? defaultEscalation, replaces: rung?.replace === true };
      return draft("GATE_ESCALATED", { gate_id, ...climbed, ...climb(left, now, gate.expires_at) }, step_id);
    }
    case "suspend":
      return draft("GATE_SUSPENDED", { gate_id }, step_id);
    default:
      return draft("GATE_EXPIRED", { gate_id, action: gate.expiry_action ?? "deny", ...answerOf(gate) }, step_id);
  }
}

/** Returns the answer that a question has for itself, if nobody gives one in time. */
function answerOf({ kind, expiry_action, payload }: Gate): { readonly answer?: JsonObject } {
  const { otherwise } = (kind === "ask" && expiry_action === "allow" ? payload : {}) as Partial<AskParams>;
  return otherwise === undefined ? {} : { answer: otherwise };
}

/** When the gate's next reminder falls due, epoch ms; infinity where there is none. A gate that is suspended still asks. */
const remindedAt = (gate: Gate): number =>
  gate.reminder === undefined || !isOpenGate(gate) ? Number.POSITIVE_INFINITY : Date.parse(gate.reminder.due_at);

/** However many reminders were missed, one is noted; the next falls due in its turn, counted from the opening of the gate. */
function remind(run: Run, { gate_id, step_id, reminder }: Gate): void {
  if (reminder === undefined) return;
  const { every, due_at } = reminder;
  const missed = Math.floor((run.now - Date.parse(due_at)) / every);
  const next = instantText(Date.parse(due_at) + (missed + 1) * every);
  run.log.note(draft("GATE_REMINDED", { gate_id, due_at: next }, step_id));
}
