/**
 * Gates whose time is up: each does what it was opened with, as an event of its own, rung by rung where it has a
 * ladder. Without an expiry a gate waits for ever. While its workflow is awake the run keeps the time; the host does for one that rests.
 */
import { draft, type EventDraft } from "../../contract/event.ts";
import type { Gate } from "../../contract/gate.ts";
import { defaultEscalation } from "../../contract/gate-spec.ts";
import { settleVotes } from "./cast-vote.ts";
import { failStep, humanDenied } from "./end-step.ts";
import { dueAfter } from "./open-gate.ts";
import { isOutdated, type Run } from "./run.ts";

/** Notes what falls due now, and says whether anything did; the run goes on with what follows from it. */
export function expireGates(run: Run): boolean {
  settleVotes(run);
  const now = run.kit.clock.now();
  const due = openGates(run).filter((gate) => dueOf(gate) <= now);
  for (const gate of due) expire(run, gate, now);
  watchExpiry(run);
  return due.length > 0;
}

/** Sees to it that the run looks again when the next open gate falls due. */
export function watchExpiry(run: Run): void {
  const next = Math.min(...openGates(run).map(dueOf));
  run.desk.timers.alarm(alarmOf(run), Number.isFinite(next) ? next : null, run.goOn, false);
}

/** A run that leaves memory leaves no timer behind. */
export const forgetExpiry = (run: Run): void => run.desk.timers.alarm(alarmOf(run), null, run.goOn);

const alarmOf = (run: Run): string => `gates:${run.log.identity.workflow_id}`;
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
