/**
 * The step kind `wait` as a plan writes it: a step that waits for an event from outside.
 *
 * Owns: its params, as they are written and as they are once its references are resolved.
 */
import { z } from "zod";
import { Form } from "./form.ts";
import { JsonValue } from "./json.ts";
import { EventKey, EventName } from "./received-event.ts";
import { maxSleepMs, referable, stepMembers } from "./step-kinds.ts";

const WithinMs = z.int().min(0).max(maxSleepMs);

/** The end of a step whose event did not arrive in time: it fails, is left out, or gives a value. */
export const Otherwise = z.union([
  z.enum(["fail", "skip"]),
  z.strictObject({
    /** The value that the step gives in place of a payload. */
    value: JsonValue,
  }),
]);
export type Otherwise = z.output<typeof Otherwise>;

/** The reminders of people while the event has not arrived. */
export const WaitReminders = z.strictObject({
  /** The time between two reminders in ms, 1,000 at least. */
  every_ms: z.int().min(1_000).max(maxSleepMs),
  /** The role that notifiers remind. */
  role: z.string().min(1).max(64),
  /** The greatest number of reminders; by default there is none. */
  at_most: z.int().min(1).max(1_000).optional(),
});
export type WaitReminders = z.output<typeof WaitReminders>;

const fixed = {
  /** The kind of event, such as `contract.signed`. */
  event: EventName,
  /** The form of the payload, as a JSON Schema. An event whose payload does not have it is not taken. */
  schema: Form.optional(),
  /** The end of the step when its time is over: `fail` by default, `skip`, or a value that it gives. */
  otherwise: Otherwise.optional(),
  /** Whether the wait has a one-time address, at which a sender without credentials can answer it. */
  token: z.literal(true).optional(),
  /** The reminders while the event has not arrived: the role, and how often. */
  remind: WaitReminders.optional(),
} as const;

/** The params of a step that waits, when it begins. A key that is a number stands for its digits. */
export const WaitParams = z.strictObject({
  ...fixed,
  key: z.union([EventKey, z.number().transform(String)]),
  within_ms: WithinMs.optional(),
});

/** A step that waits for an event from outside, over restarts and for years if need be. It gives the payload. */
export const WaitStepDraft = z.strictObject({
  ...stepMembers,
  /** The kind of the step: it waits for an event from outside. */
  kind: z.literal("wait"),
  /** The event that it waits for, the form of its payload, and the end of the wait. */
  params: z.strictObject({
    ...fixed,
    /** The subject of the event, such as the id of a contract. */
    key: EventKey,
    /** The time in ms after which the wait is over, at most ten years; by default it has no end. */
    within_ms: referable(WithinMs, `must be ms, from 0 to ${maxSleepMs}`).optional(),
  }),
});
export interface WaitStepDraft extends z.input<typeof WaitStepDraft> {}
