/**
 * What an inspector is told: an actor that there is, an event that one was sent, the state that it then stands in.
 *
 * Owns: the three shapes, as version 0.7 of Stately's inspector reads them. An upgrade of it has this one place to look.
 * 1.  Each `sessionId`, `parentId` and `sourceId` names an actor that was told before; the root alone has no parent.
 * 2.  `definition` is the configuration of a statechart as JSON text, and each `snapshot` of its actor is one of it.
 * 3.  What is told of an actor again, under its id, is in place of what was told of it before.
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
const HeardEvent = z.looseObject({ type: z.string() }).readonly();

const told = {
  sessionId: z.string(),
  rootId: z.string(),
  /** Epoch milliseconds, as text. */
  createdAt: z.string(),
  id: z.string(),
  _version: z.string(),
};

/** A message of an inspector: an actor is there, was sent an event, or stands in a state. */
export const Inspection = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("@xstate.actor"),
      ...told,
      name: z.string(),
      parentId: z.string().optional(),
      definition: z.string(),
      snapshot: ActorSnapshot,
    })
    .readonly(),
  z.object({ type: z.literal("@xstate.event"), ...told, sourceId: z.string(), event: HeardEvent }).readonly(),
  z.object({ type: z.literal("@xstate.snapshot"), ...told, event: HeardEvent, snapshot: ActorSnapshot }).readonly(),
]);
export type Inspection = z.infer<typeof Inspection>;
