/**
 * Events from outside: what a sender gives, what the ledger keeps of it, and what the sender is answered.
 *
 * Owns: the names and keys by which a wait and an event find each other. Never: says who may send (T5 does).
 */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { StepId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { type Json, JsonValue } from "./json.ts";

/** The name of a kind of event, such as `contract.signed`. */
export const EventName = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:/-]{0,127}$/, "must be a name such as contract.signed, of at most 128 characters");

/** The subject of an event, such as the id of a contract: an event reaches the waits for its name and its key. */
export const EventKey = z.string().min(1).max(256);

/** The sender's own id of an event. A second event with the same id is ignored. */
export const EventId = z.string().regex(/^[\x21-\x7e]{1,128}$/, "must be 1 to 128 visible ASCII characters");

/** An event that its sender hands to a kernel. */
export const EmitRequest = z.strictObject({
  /** The tenant whose workflows it is for. */
  tenant_id: TenantId,
  /** The principal who sends it. */
  principal: Principal,
  /** The kind of event, such as `contract.signed`. */
  name: EventName,
  /** The subject of the event, such as the id of a contract. */
  key: EventKey,
  /** The data of the event, which becomes the output of the step that waits for it. */
  payload: JsonValue.default(null),
  /** The sender's own id of the event: the same id again is ignored. By default the kernel draws one. */
  event_id: EventId.optional(),
  /** Whether it resumes every wait for it; by default it resumes one, the one that has waited longest. */
  broadcast: z.boolean().default(false),
});
export type EmitRequest = z.input<typeof EmitRequest>;
export type ParsedEmitRequest = z.output<typeof EmitRequest>;

/** The work that an event has begun, or the reason why it was refused. */
export const StartedWork = z.object({
  intent_type: z.string(),
  workflow_id: WorkflowId.nullable(),
  error: KernelError.nullable(),
});
export type StartedWork = z.infer<typeof StartedWork>;

/** The answer to an event: the waits that it resumed, the work that it began, and until when it is kept for others. */
export const EmitResponse = z.object({
  event_id: EventId,
  /** `resumed`: a step took it; `kept`: none has yet; `expired`: none did in time. */
  status: z.enum(["resumed", "kept", "expired"]),
  /** The steps that it has resumed, as far as this answer knows. */
  resumed: z.array(z.object({ workflow_id: WorkflowId, step_id: StepId })).readonly(),
  /** The work that it has begun, as the options of the kernel state it. */
  started: z.array(StartedWork).readonly(),
  /** The ISO instant until which a step may still take it; null once it has been taken. */
  kept_until: z.string().nullable(),
  /** Whether an event with this id had been received before; nothing was added then. */
  duplicate: z.boolean(),
});
export type EmitResponse = z.infer<typeof EmitResponse>;

/** An event as the ledger keeps it. `expires_at` is the ISO instant from which no step takes it any more. */
export interface ReceivedEvent {
  readonly event_id: string;
  readonly name: string;
  readonly key: string;
  readonly payload: Json;
  readonly broadcast: boolean;
  readonly expires_at: string;
}

/** Returns the key that a step's row claims when it takes an event; the store gives it to one workflow only. */
export const eventClaim = (eventId: string): string => `event:${eventId}`;
