/**
 * The notice of a delivery: the gate after the delivery's event, and the gate at the time of delivery.
 *
 * Owns: the parts of the log that a notice is made of. Never: delivers.
 */
import { foldEvents, foldWorkflow } from "../../../machines/fold.ts";
import { foretell } from "../../../machines/gate-consequences.ts";
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import { type GateNotice, gateNoticeKinds, type WaitNotice } from "../../contract/gate-notice.ts";
import { instantText } from "../../contract/instant.ts";
import { openTurns } from "../../contract/turn.ts";
import { isCancelled, isTerminal } from "../../contract/workflow.ts";
import type { Delivery } from "../../ports/delivery-store.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { readable } from "../log/read-turns.ts";

/**
 * Returns the notice, or null if there is nothing to report any more. @throws KernelErrorException T0_LEDGER_CORRUPT.
 */
export async function readNotice(store: LedgerStore, delivery: Delivery): Promise<GateNotice | null> {
  const { delivery_id: notice_id, tenant_id, workflow_id, gate_id, sequence, at } = delivery;
  const kind = gateNoticeKinds.find((one) => one === delivery.kind);
  if (kind === undefined) return null;
  const events = openTurns(await store.read(workflow_id));
  const until = sequence === null ? events : events.filter((event) => event.sequence <= sequence);
  const record = readable(workflow_id, () => foldEvents(until));
  const gate = record?.gates.get(gate_id);
  if (record === null || gate === undefined) return null;
  if (sequence === null && !isOpenGate(gate)) return null;
  const { type: intent_type } = record.intent;
  // Folding on changes the record, and no gate: `gate` stays as the event left it.
  const recordNow = readable(workflow_id, () => events.slice(until.length).reduce(foldWorkflow, record));
  // A step that is tried again has put away the gate of its last try.
  const putAway: Gate = { ...gate, status: isOpenGate(gate) ? "voided" : gate.status };
  const gateNow = recordNow?.gates.get(gate_id) ?? putAway;
  return {
    ...{ notice_id, kind, at: instantText(at), tenant_id, workflow_id, intent_type },
    gate: foretell(gate),
    gate_now: foretell(gateNow),
    cancelled: gateNow.status === "voided" ? findCancellation(events) : null,
  };
}

/** Returns the reminder of a wait; null if the wait is over. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export async function readWaitNotice(store: LedgerStore, delivery: Delivery): Promise<WaitNotice | null> {
  const { delivery_id: notice_id, tenant_id, workflow_id, sequence, at } = delivery;
  const events = openTurns(await store.read(workflow_id));
  const event = events.find((one) => one.sequence === sequence && one.event_type === "WAIT_REMINDED");
  const record = readable(workflow_id, () => foldEvents(events));
  const step = record?.steps.get(event?.step_id ?? "");
  if (record === null || event === undefined || step?.phase !== "parked" || step.parked?.source !== "event")
    return null;
  if (isTerminal(record.state) || isCancelled(record.state)) return null;
  const { role, reminder } = payloadOf(event, "WAIT_REMINDED");
  const { name, key, due_at } = step.parked;
  return {
    ...{ notice_id, kind: "wait_reminded", at: instantText(at), tenant_id, workflow_id },
    ...{ intent_type: record.intent.type, step_id: step.step.step_id, title: step.step.name },
    ...{ event: name, key, role, sent: reminder.sent, due_at },
  };
}

/** Returns who cancelled the workflow, when and why; null if nobody did. */
function findCancellation(events: readonly LedgerEvent[]): GateNotice["cancelled"] {
  for (const event of events) {
    if (event.event_type !== "WORKFLOW_CANCELLING" && event.event_type !== "WORKFLOW_CANCELLED") continue;
    const { principal, reason } = payloadOf(event, event.event_type);
    if (principal !== null) return { principal, reason, at: event.timestamp };
  }
  return null;
}
