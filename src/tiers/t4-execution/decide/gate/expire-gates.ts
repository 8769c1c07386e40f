/**
 * The expiry of gates: each gate performs the action that it was opened with, as a separate event, rung by rung if it
 * has a ladder. Without an expiry a gate waits for ever. Reminders fall due independently. While a workflow is awake,
 * whether or not a command holds it back, its run keeps the time; the host does for a workflow at rest.
 */
import { draft, type EventDraft } from "../../../../contract/event.ts";
import { type Gate, isOpenGate } from "../../../../contract/gate.ts";
import { defaultEscalation } from "../../../../contract/gate-spec.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import type { AskParams } from "../../../../contract/step-kinds.ts";
import { startOf } from "../../../../contract/work-start.ts";
import { isHeld, isHeldBack, type WorkflowRecord, waitRemindedAt } from "../../../../contract/workflow.ts";
import { failStep, gateDenied } from "../run/end-step.ts";
import { isOutdated, type Run, scopeOf } from "../run/run.ts";
import { climb } from "./open-gate.ts";

/**
 * Appends everything that has fallen due. It runs before any command, so a command after a gate's time meets the expiry
 * first.
 */
export function expireGates(run: Run): void {
  const { gates } = run.log.record;
  if (gates.size === 0 || isHeldBack(run.log.record)) return;
  // After a rung that is appended late, the gate's expiry may be over as well.
  for (let due = gatesDue(run); due.length > 0; due = gatesDue(run)) for (const gate of due) expire(run, gate, run.now);
  for (const gate of [...gates.values()]) if (remindedAt(gate) <= run.now) remind(run, gate);
}

/**
 * Returns the next instant at which something of the workflow falls due in this process: the time of a gate, the end of
 * a pause or a sleep, in epoch ms; infinity for never, also while the workflow is held back. A step that waits for an
 * answer after its pause continues with that answer.
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
    if (run.scopes.waits(scopeOf(id))) continue;
    next = Math.min(next, due === null ? next : Date.parse(due), waitRemindedAt(step));
  }
  return next;
}

/** Returns whether the workflow waits for its start, or a step for a time: the end of a pause, or of its sleep. */
export function waitsForTime(record: WorkflowRecord): boolean {
  if (startOf(record) !== null) return true;
  for (const id of record.standing.running) {
    const { phase, parked = null } = record.steps.get(id) ?? {};
    if (phase === "backing_off" || (phase === "parked" && parked?.due_at != null)) return true;
    if (Number.isFinite(waitRemindedAt({ phase: phase ?? null, parked }))) return true;
  }
  return false;
}

/**
 * Returns the open gates, without those that would allow their step under an outdated policy; the run lets the present
 * policy judge those first.
 */
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

/**
 * Returns the event of a gate that is due. The time of the next rung counts from now, however late that is; the expiry
 * counts from the opening of the gate.
 */
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

/** Returns the default answer of a question, which holds if nobody answers in time. */
function answerOf({ kind, expiry_action, payload }: Gate): { readonly answer?: JsonObject } {
  const { otherwise } = (kind === "ask" && expiry_action === "allow" ? payload : {}) as Partial<AskParams>;
  return otherwise === undefined ? {} : { answer: otherwise };
}

/**
 * Returns when the gate's next reminder falls due in epoch ms; infinity if it has none. A suspended gate is still open.
 */
const remindedAt = (gate: Gate): number =>
  gate.reminder === undefined || !isOpenGate(gate) ? Number.POSITIVE_INFINITY : Date.parse(gate.reminder.due_at);

/**
 * Appends one reminder, however many were missed. The next one falls due at a multiple of the interval after the
 * opening.
 */
function remind(run: Run, { gate_id, step_id, reminder }: Gate): void {
  if (reminder === undefined) return;
  const { every, due_at } = reminder;
  const missed = Math.floor((run.now - Date.parse(due_at)) / every);
  const next = instantText(Date.parse(due_at) + (missed + 1) * every);
  run.log.note(draft("GATE_REMINDED", { gate_id, due_at: next }, step_id));
}
