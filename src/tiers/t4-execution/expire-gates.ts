/**
 * Gates whose time is up: each does what it was opened with, as an event of its own. Without an expiry a gate waits
 * for ever.
 */
import { draft, type EventDraft } from "../../contract/event.ts";
import type { Gate } from "../../contract/gate.ts";
import { failStep, humanDenied } from "./end-step.ts";
import type { Run } from "./run.ts";

/** Notes what falls due now; the run goes on with what follows from it. */
export function expireGates(run: Run): void {
  const now = run.kit.clock.now();
  for (const gate of [...run.log.record.gates.values()]) {
    if (gate.status === "open" && gate.due_at !== null && Date.parse(gate.due_at) <= now) expire(run, gate);
  }
}

function expire(run: Run, gate: Gate): void {
  run.log.note(eventOf(gate));
  if (gate.expiry_action === "deny") failStep(run, gate.step_id, humanDenied(gate.gate_id, "not decided in time"));
}

function eventOf(gate: Gate): EventDraft {
  const { gate_id, step_id } = gate;
  switch (gate.expiry_action) {
    case "escalate":
      return draft("GATE_ESCALATED", { gate_id, role: gate.escalate_to ?? "admin", due_at: null }, step_id);
    case "suspend":
      return draft("GATE_SUSPENDED", { gate_id }, step_id);
    default:
      return draft("GATE_EXPIRED", { gate_id, action: gate.expiry_action ?? "deny" }, step_id);
  }
}
