/** The options of the receiver of events: the sources that sign, their secrets, and limits. */
import { z } from "zod";
import { Caller } from "../../contract/auth-context.ts";
import { limitsOf, objectWith, requireKernel } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, guardLogger, type Kernel, type Logger, wallClock } from "../../index.ts";
import { WebhookSecrets } from "../../observers/notifiers/standard-webhooks.ts";

/** The default limits of the receiver. */
export const defaultEventLimits = {
  /** Bytes of a request's body. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a body. */
  maxDepth: 64,
  /** Events of one batch. */
  maxBatch: 100,
} as const;
/** Limits of the receiver, by name. */
export type EventLimits = { readonly [K in keyof typeof defaultEventLimits]: number };

const Source = Caller.extend({
  /** The address of the source in the app, such as `/hooks/signatures`. */
  path: z.string().regex(/^\/[\w./-]{1,200}$/, "is a path such as /hooks/signatures"),
  /** `whsec_` and 24 to 64 bytes in base64, as agreed with the source; several while one replaces another. */
  secret: WebhookSecrets,
  /** The greatest difference between the time of a webhook and the clock, in ms; five minutes by default. */
  toleranceMs: z.int().positive().default(300_000),
  /**
   * A JSON pointer to the key in the event's data, such as `/contract/id`. Without it the key is the subject of a
   * CloudEvent, else its source, and of other webhooks the path.
   */
  key: z
    .string()
    .regex(/^(?:\/[^/]+)+$/, "is a JSON pointer such as /contract/id")
    .optional(),
});
export type EventSource = z.output<typeof Source>;

const Options = z.strictObject({
  /** The sources that sign by the Standard Webhooks specification, each in the name of a principal; none by default. */
  sources: z
    .array(Source)
    .refine((all) => new Set(all.map(({ path }) => path)).size === all.length, "a path is of one source")
    .readonly()
    .default([]),
  /** Limits that replace those of `defaultEventLimits`. */
  limits: limitsOf<EventLimits>(defaultEventLimits),
  /** The clock that times of webhooks are compared with; the machine's by default. */
  clock: objectWith<Clock>("now").default(() => wallClock),
  /** Receives failures of the server itself. */
  logger: objectWith<Logger>()
    .transform((logger) => guardLogger(logger))
    .optional(),
});
/** The options of a receiver of events. */
export interface EventReceiverOptions extends Readonly<z.input<typeof Options>> {}
export type ReceiverOptions = z.output<typeof Options>;

/** Reads the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function readEventOptions(kernel: Kernel, given: EventReceiverOptions): ReceiverOptions {
  const reading = { what: "createEventReceiver", source: moduleRef(0, "events", "createEventReceiver") };
  requireKernel(kernel, reading);
  return readStrictly(Options, given, reading);
}
