/**
 * Messages to an inspector: an actor exists, an event was sent to one, an actor has a state.
 *
 * Owns: the three shapes, as version 0.7 of Stately's inspector reads them. An upgrade of the inspector changes only
 * this file.
 * 1.  Each `sessionId`, `parentId` and `sourceId` names an actor that was announced before; only the root has no
 *     parent.
 * 2.  `definition` is the configuration of a statechart as JSON text, and each `snapshot` of its actor is one of it.
 * 3.  A repeated announcement of an actor under its id replaces the earlier one.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";

/** The version of the shapes. */
export const inspectionVersion = "0.7.2";

const StateValue: z.ZodType<StateValue> = z.union([z.string(), z.record(z.string(), z.unknown())]) as never;
/** `"queued"`, or `{ "running": "executing" }` for a state inside another. */
export type StateValue = string | { readonly [state: string]: StateValue };

/** An actor's state. */
export const ActorSnapshot = z
  .object({ status: z.enum(["active", "done", "stopped"]), value: StateValue, context: JsonObject })
  .readonly();
export type ActorSnapshot = z.infer<typeof ActorSnapshot>;

/** An event that was received: its type, and as much of its content as the reader is shown. */
const DeliveredEvent = z.looseObject({ type: z.string() }).readonly();

const reported = {
  sessionId: z.string(),
  rootId: z.string(),
  /** Epoch milliseconds, as text. */
  createdAt: z.string(),
  id: z.string(),
  _version: z.string(),
};

/** A message to an inspector: an actor exists, received an event, or has a state. */
export const Inspection = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("@xstate.actor"),
      ...reported,
      name: z.string(),
      parentId: z.string().optional(),
      definition: z.string(),
      snapshot: ActorSnapshot,
    })
    .readonly(),
  z.object({ type: z.literal("@xstate.event"), ...reported, sourceId: z.string(), event: DeliveredEvent }).readonly(),
  z
    .object({ type: z.literal("@xstate.snapshot"), ...reported, event: DeliveredEvent, snapshot: ActorSnapshot })
    .readonly(),
]);
export type Inspection = z.infer<typeof Inspection>;
