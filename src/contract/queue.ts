/**
 * Queues: how many workflows of a kind run at a time, and in which order the others wait for a place.
 *
 * 1.  A queue belongs to a tenant. Its name and its key together are one line: `{ name: "Shop.Refund", key: "acme" }`.
 * 2.  A workflow takes a place when its work begins and keeps it until it has ended, whatever it waits for meanwhile.
 */
import { z } from "zod";

/** The name under which lists show workflows that wait for a place among `limits.maxInFlight`. */
export const inFlightQueue = "limits.maxInFlight";

export const QueueName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => name !== inFlightQueue, { error: "is the kernel's own queue" });
const QueueKey = z.string().max(512);
export const Concurrency = z.int().min(1).max(100_000);
const Priority = z.int().min(-1_000_000).max(1_000_000);
const MaxWaiting = z.int().min(0).max(10_000);

const RateLimit = z.int().min(1).max(1000);
const maxPerMs = 31 * 86_400_000;
const PerMs = z.int().min(1).max(maxPerMs);

/** A bound on how many workflows of a queue and key begin within a time. */
export const QueueRate = z.strictObject({
  /** The number of workflows that take places within the time, at most. */
  limit: RateLimit,
  /** The length of the time in milliseconds: of any such span, wherever it begins. */
  per_ms: PerMs,
});
export type QueueRate = z.infer<typeof QueueRate>;

const DebounceMs = z.int().min(1).max(maxPerMs);

/** The wait of a request for a newer one of its key, which supersedes it. */
const Debounce = z.strictObject({
  /** Work begins once no newer request of its key has come for this time, in milliseconds. */
  ms: DebounceMs,
  /** It begins at the latest after this time since the first request of those that have superseded one another. */
  max_ms: DebounceMs.optional(),
});

const hole = /\{\{\s*input((?:\.[A-Za-z0-9_-]+)+)\s*\}\}/g;

/**
 * The answer to a request while another workflow of its queue and key runs or waits: a refusal, or that workflow, and
 * nothing of the request begins. With `replace` the request is accepted, the others are cancelled, and its workflow
 * begins once they have ended.
 */
export const Singleton = z.enum(["refuse", "return_existing", "replace"]);
export type Singleton = z.infer<typeof Singleton>;

/** The queue that a capability names for its workflows. */
export const QueuePolicy = z
  .strictObject({
    /** The name; the intent type by default. Capabilities that name one queue share its places. */
    name: QueueName.optional(),
    /** A text with parts of the inputs, such as `{{input.vendor}}`: each value has places of its own. */
    key: QueueKey.refine((key) => !key.replaceAll(hole, "").includes("{{"), {
      error: "must name inputs as {{input.vendor}} does",
    }).default(""),
    /** The number of workflows that have begun and not ended, at most. */
    concurrency: Concurrency,
    /** The number of workflows that begin within `perMs` milliseconds, at most; without it any number may. */
    rate: z
      .strictObject({
        /** The number of workflows that take places within the time, at most. */
        limit: RateLimit,
        /** The length of the time in milliseconds. */
        perMs: PerMs,
      })
      .optional(),
    /** Those of a higher priority go first; among equals, those who came first. */
    priority: Priority.default(0),
    /** The number of workflows that may wait for a place: a request beyond it is refused (`T7_QUEUE_FULL`). */
    maxWaiting: MaxWaiting.optional(),
    /** The answer to a request while another workflow of its key runs; it takes a `concurrency` of 1. */
    singleton: Singleton.optional(),
    /** A newer request of a key supersedes the one that waits; the work begins when none has come for a time. */
    debounce: z
      .strictObject({
        /** The time without a newer request, in milliseconds. */
        ms: DebounceMs,
        /** The time after the first request at which the work begins at the latest, in milliseconds. */
        maxMs: DebounceMs.optional(),
      })
      .refine(({ ms, maxMs = ms }) => maxMs >= ms, { error: "must not be less than ms", path: ["maxMs"] })
      .optional(),
  })
  .refine(
    ({ singleton, concurrency, maxWaiting }) =>
      singleton === undefined || (concurrency === 1 && maxWaiting === undefined),
    { error: "takes a concurrency of 1, and no maxWaiting", path: ["singleton"] },
  )
  .refine(
    ({ debounce, singleton, maxWaiting }) =>
      debounce === undefined || (singleton === undefined && maxWaiting === undefined),
    { error: "takes no singleton, and no maxWaiting", path: ["debounce"] },
  );
export type QueuePolicy = z.infer<typeof QueuePolicy>;

/**
 * The queue that a request names. Where the capability names one, the request may give the priority alone; otherwise it
 * names the queue and its concurrency.
 */
export const QueueRequest = z.strictObject({
  /** The name of the queue, in which work of several capabilities may wait. */
  name: QueueName.optional(),
  /** The key within the queue: each has places of its own. */
  key: QueueKey.optional(),
  /** The number of workflows that have begun and not ended, at most. */
  concurrency: Concurrency.optional(),
  /** The bound on how many workflows begin within a time; without it any number may. */
  rate: QueueRate.optional(),
  /** Those of a higher priority go first; among equals, those who came first. */
  priority: Priority.optional(),
  /** The number of workflows that may wait for a place: the request is refused (`T7_QUEUE_FULL`) beyond it. */
  max_waiting: MaxWaiting.optional(),
});
export type QueueRequest = z.infer<typeof QueueRequest>;

/** The queue of a workflow, as its request left it. */
export const QueueTicket = z.object({
  /** The name of the queue. */
  name: z.string(),
  /** The key within the queue; empty if it has none. */
  key: z.string(),
  /** The number of workflows of this name and key that have begun and not ended, at most. */
  concurrency: z.int(),
  /** The bound on how many workflows of this name and key begin within a time; absent if any number may. */
  rate: QueueRate.optional(),
  /** Those of a higher priority go first. */
  priority: z.int(),
  /** The number of workflows that may wait for a place; absent if any number may. */
  max_waiting: z.int().optional(),
  /** The answer to the request while another workflow of this name and key runs; absent if it waits its turn. */
  singleton: Singleton.optional(),
  /** The wait for a newer request of this name and key; absent if it waits for none. */
  debounce: Debounce.optional(),
});
export type QueueTicket = z.infer<typeof QueueTicket>;

/** The wait of a workflow for a newer request of its queue and key, as it was accepted with. */
export interface Debounced {
  /** The ISO instant of the first request of those that have superseded one another. */
  readonly from: string;
  /** The ISO instant at which its work may begin. */
  readonly until: string;
}

/** The places among which none was free when a workflow was accepted, and how many waited for one before it. */
export interface InFlightWait {
  /** `limits.maxInFlight`. */
  readonly limit: number;
  readonly ahead: number;
}

/** The standing of a workflow in its queue. */
export const QueueStanding = z
  .object({
    ...QueueTicket.shape,
    /** `waiting` for a place, or `taken` one; null before it has asked for one, and once it has ended. */
    place: z.enum(["waiting", "taken"]).nullable(),
    /** The ISO instant since which it waits; null if it does not. */
    queued_at: z.string().nullable(),
    /** The ISO instant at which it asks for a place, if no newer request supersedes it; absent without debounce. */
    debounced_until: z.string().optional(),
  })
  .readonly();
export type QueueStanding = z.infer<typeof QueueStanding>;

/** Returns the text of a queue and its key, which is another for any other queue or key. */
export const lineOf = ({ name, key }: Pick<QueueTicket, "name" | "key">): string => JSON.stringify([name, key]);

/** Returns the key that a template gives with these inputs; null if an input is no text, number or truth value. */
export function fillKey(template: string, inputs: unknown): string | null {
  let isWhole = true;
  const key = template.replaceAll(hole, (_hole, path: string) => {
    const value = path
      .slice(1)
      .split(".")
      .reduce<unknown>((at, name) => (isOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined), inputs);
    isWhole &&= ["string", "number", "boolean"].includes(typeof value);
    return String(value);
  });
  return isWhole && key.length <= maxKeyChars ? key : null;
}

const isOwn = (at: unknown, name: string): boolean => typeof at === "object" && at !== null && Object.hasOwn(at, name);

const maxKeyChars = 512;
