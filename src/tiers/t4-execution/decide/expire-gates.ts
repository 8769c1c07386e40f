/**
 * Gates whose time is up: each does what it was opened with, as an event of its own, rung by rung where it has a
 * ladder. Without an expiry a gate waits for ever. While its workflow is awake the run keeps the time; the host does for one that rests.
 */
import { draft, type EventDraft } from "../../../contract/event.ts";
import type { Gate } from "../../../contract/gate.ts";
import { defaultEscalation } from "../../../contract/gate-spec.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";
import { failStep, humanDenied } from "./end-step.ts";
import { dueAfter } from "./open-gate.ts";
import { isOutdated, type Run, scopeOf } from "./run.ts";

/** Notes what has fallen due, whoever comes next: whatever is said after a gate's time meets its expiry first (B-06). */
export function expireGates(run: Run): void {
  if (run.log.record.gates.size === 0) return;
  for (const gate of openGates(run)) if (dueOf(gate) <= run.now) expire(run, gate, run.now);
}

/**
 * When something of the workflow falls due here: a gate's time, the end of a pause; epoch ms, infinity for never. A step that
 * waits for an answer since its pause ended goes on with that.
 */
export function nextDue(run: Run): number {
  const { gates, steps, standing } = run.log.record;
  let next = gates.size === 0 ? Number.POSITIVE_INFINITY : Math.min(...openGates(run).map(dueOf));
  for (const id of standing.running) {
    const { phase, retry_due = null } = steps.get(id) ?? {};
    if (phase === "backing_off" && retry_due !== null && !run.scopes.waits(scopeOf(id)))
      next = Math.min(next, Date.parse(retry_due));
  }
  return next;
}

/** Whether a step waits for the end of a pause. */
export function isBackingOff({ steps, standing }: WorkflowRecord): boolean {
  for (const id of standing.running) if (steps.get(id)?.phase === "backing_off") return true;
  return false;
}

/** Nothing is allowed under a policy that is another by now: the run puts it to that one first, when it next comes by. */
const openGates = (run: Run): Gate[] =>
  [...run.log.record.gates.values()].filter(
    (gate) => gate.status === "open" && !(gate.expiry_action === "allow" && isOutdated(run, gate)),
  );
const dueOf = (gate: Gate): number => (gate.due_at === null ? Number.POSITIVE_INFINITY : Date.parse(gate.due_at));

function expire(run: Run, gate: Gate, now: number): void {
  run.log.note(eventOf(gate, now));
  if (gate.expiry_action === "deny") failStep(run, gate.step_id, humanDenied(gate.gate_id, "not decided in time"));
}

/** Whom a gate is escalated to has the time of the next rung from now on, however late that is. */
function eventOf(gate: Gate, now: number): EventDraft {
  const { gate_id, step_id } = gate;
  const next = gate.ladder[1];
  switch (gate.expiry_action) {
    case "escalate": {
      const due_at = next === undefined ? null : dueAfter(now, next);
      return draft("GATE_ESCALATED", { gate_id, role: gate.escalate_to ?? defaultEscalation, due_at }, step_id);
    }
    case "suspend":
      return draft("GATE_SUSPENDED", { gate_id }, step_id);
    default:
      return draft("GATE_EXPIRED", { gate_id, action: gate.expiry_action ?? "deny" }, step_id);
  }
}
