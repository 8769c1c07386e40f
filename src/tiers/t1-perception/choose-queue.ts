/** The queue of a request: the one that its capability names, or the one that the request names itself. */
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { ParentLink } from "../../contract/child.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { fillKey, lineOf, type QueuePolicy, type QueueRequest, type QueueTicket } from "../../contract/queue.ts";

interface Asked {
  readonly capability: Pick<CapabilityDefinition, "intentType" | "queue">;
  readonly inputs: unknown;
  readonly wanted: QueueRequest | undefined;
  readonly parent: ParentLink | undefined;
}

/**
 * Returns the queue of a request, if it has one. A child whose parent has a place in the same line, or one above it,
 * works in that place: it would wait for ever for the end of those who wait for it.
 * @throws KernelErrorException T1_QUEUE_INVALID.
 */
export function chooseQueue(asked: Asked): QueueTicket | undefined {
  const { parent } = asked;
  const ticket = asked.capability.queue === undefined ? ownQueue(asked.wanted) : queueOf(asked);
  if (ticket === undefined || parent === undefined || parent.detached === true) return ticket;
  return parent.lines?.includes(lineOf(ticket)) === true ? undefined : ticket;
}

/** Returns the queue of the capability. A request may give its priority there, and no other limit than its author's. */
function queueOf({ capability: { intentType, queue }, inputs, wanted = {} }: Asked): QueueTicket {
  const {
    name = intentType,
    key: template = "",
    concurrency = 1,
    priority = 0,
    rate,
    singleton,
    debounce,
  } = queue ?? {};
  const maxWaiting = singleton === undefined || singleton === "replace" ? queue?.maxWaiting : 0;
  const { priority: own = priority, ...others } = wanted;
  const named = Object.keys(others);
  if (named.length > 0)
    refuse(`queue: ${named.join(", ")}: ${intentType} has a queue of its own; only priority may be given`);
  const key = fillKey(template, inputs);
  if (key === null) return refuse(`queue: the key ${template} needs inputs that are short texts, numbers or booleans`);
  return {
    name,
    key,
    concurrency,
    ...(rate !== undefined && { rate: { limit: rate.limit, per_ms: rate.perMs } }),
    priority: own,
    ...(maxWaiting !== undefined && { max_waiting: maxWaiting }),
    ...(singleton !== undefined && { singleton }),
    ...(debounce !== undefined && { debounce: debounceOf(debounce) }),
  };
}

const debounceOf = ({ ms, maxMs }: NonNullable<QueuePolicy["debounce"]>): NonNullable<QueueTicket["debounce"]> =>
  maxMs === undefined ? { ms } : { ms, max_ms: maxMs };

function ownQueue(wanted: QueueRequest | undefined): QueueTicket | undefined {
  if (wanted === undefined) return undefined;
  const { name, key = "", concurrency, rate, priority = 0, max_waiting } = wanted;
  if (name === undefined || concurrency === undefined)
    return refuse("queue: the capability has none, so the request must give its name and its concurrency");
  const bounds = { ...(rate !== undefined && { rate }), ...(max_waiting !== undefined && { max_waiting }) };
  return { name, key, concurrency, priority, ...bounds };
}

const refuse = (message: string): never =>
  raise(kernelError("T1_QUEUE_INVALID", message, moduleRef(1, "normalizer", "normalize")));
