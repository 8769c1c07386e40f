/**
 * Work that begins when an event from outside arrives, as the options of a kernel state it.
 *
 * Owns: the rule, and the references in its inputs. Never: submits anything.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";
import { EventName } from "./received-event.ts";
import { referencesIn } from "./reference.ts";

/** A rule that begins work: each event of a name is submitted as a request, by the principal who sends it. */
export const EventStart = z.strictObject({
  /** The kind of event, such as `order.placed`. */
  event: EventName,
  /** The intent type of the work. */
  intent_type: z.string().min(1).max(256),
  /**
   * The inputs of the work: data, and references such as `{{event.output.payload.order}}` or `{{event.output.key}}`.
   */
  inputs: JsonObject.default({}).superRefine((inputs, { addIssue }) => {
    for (const { stepId, written } of referencesIn(inputs, undefined))
      if (stepId !== "event") addIssue({ code: "custom", message: `${written} is no reference to the event` });
  }),
});
export type EventStart = z.output<typeof EventStart>;
