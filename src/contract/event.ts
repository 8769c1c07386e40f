/**
 * Ledger events: the record that readers see, and an event before it has a position. The event catalogue (`events.ts`)
 * lists the types.
 * 1.  A workflow's sequence is dense, starts at 1 and is the id that streams resume from.
 */
import { z } from "zod";
import type { Ceiling } from "./budget.ts";
import type { EventRow } from "./events/event-row.ts";
import { type eventCatalogue, eventTypes } from "./events.ts";
import { CorrelationId, EventId, IntentId, PlanId, PrincipalId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import { JsonObject } from "./json.ts";

/** The type of an event. */
export const EventType = z.enum(eventTypes);
export type EventType = keyof typeof eventCatalogue;

/** The payload of each event type. */
export type EventPayloads = {
  readonly [T in EventType]: (typeof eventCatalogue)[T] extends EventRow<infer P> ? P : never;
};
/** A decision that closes a gate. */
export type GateDecided = EventPayloads["USER_APPROVED"];
/** One person's vote, bound to what the gate showed. */
export type GateVoted = EventPayloads["GATE_VOTED"];

export const Actor = z.object({ type: z.string(), id: PrincipalId });
export type Actor = z.infer<typeof Actor>;

/** One fact of the ledger. */
export const LedgerEvent = z.object({
  event_id: EventId,
  event_type: EventType,
  timestamp: z.iso.datetime(),
  tenant_id: TenantId,
  workflow_id: WorkflowId.nullable(),
  thread_id: ThreadId.nullable(),
  intent_id: IntentId.nullable(),
  plan_id: PlanId.nullable(),
  step_id: z.string().nullable(),
  actor: Actor,
  correlation_id: CorrelationId,
  sequence: z.int().positive(),
  payload: JsonObject,
});
export type LedgerEvent = z.infer<typeof LedgerEvent>;

/** An event before it has an id, a sequence and a position: the form in which a turn decides it. */
export type EventDraft = {
  [T in keyof EventPayloads]: {
    readonly type: T;
    readonly step_id: string | null;
    readonly payload: EventPayloads[T];
    /** The ceilings that the store enforces for a reservation. They are not part of the event. */
    readonly ceilings?: readonly Ceiling[];
  };
}[keyof EventPayloads];

export function draft<T extends keyof EventPayloads>(
  type: T,
  payload: EventPayloads[T],
  stepId: string | null = null,
): EventDraft {
  return { type, step_id: stepId, payload } as unknown as EventDraft;
}

/** Narrows a read event to its payload. */
export function payloadOf<T extends keyof EventPayloads>(event: LedgerEvent, _type: T): EventPayloads[T] {
  return event.payload as unknown as EventPayloads[T];
}
