/**
 * Events from outside, held against the waits that they ended.
 *
 * 1.  An event that was answered is in the ledger, once.
 * 2.  An event ends one wait, unless it is for all, and only a wait for its name and key, with its own payload.
 * 3.  A wait that ends by its time had no event to take: none of its form came before it began and was still there.
 */
import { isDeepStrictEqual } from "node:util";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { TakenEvent } from "../../src/contract/events/step-events.ts";
import { readerOf } from "../../src/contract/form.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ReceivedEvent } from "../../src/contract/received-event.ts";
import type { StepRecord, WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

type Received = ReceivedEvent & { readonly place: number };

/** What the rows so far say of events and waits. */
class Seen {
  readonly received = new Map<string, Received>();
  readonly taken = new Set<string>();
  readonly records = new Map<string, WorkflowRecord | null>();
  /** Where the newest wait of a step began. */
  readonly began = new Map<string, number>();
}

export function judgeWaits({ durable }: OutsideWorld, sent: readonly string[]): readonly string[] {
  const seen = new Seen();
  const failures = durable.flatMap(({ event }, place) => {
    const { workflow_id: id, step_id, event_type } = event;
    const why = judgeEvent(seen, event, place);
    if (event_type === "STEP_PARKED") seen.began.set(`${id} ${step_id}`, place);
    if (id !== null) seen.records.set(id, foldWorkflow(seen.records.get(id) ?? null, event));
    return why === null ? [] : [`event: ${why} (${step_id} of ${id} at ${event.sequence})`];
  });
  const missing = sent.filter((id) => !seen.received.has(id));
  return [...failures, ...missing.map((id) => `event: ${id} was answered, and is not in the ledger`)];
}

function judgeEvent(seen: Seen, event: LedgerEvent, place: number): string | null {
  if (event.event_type === "EVENT_RECEIVED") return receive(seen, { ...payloadOf(event, "EVENT_RECEIVED"), place });
  if (event.event_type !== "STEP_RESUMED") return null;
  const { workflow_id, step_id } = event;
  const step = seen.records.get(workflow_id ?? "")?.steps.get(step_id ?? "");
  if (step?.parked?.source !== "event") return null;
  const resumed = payloadOf(event, "STEP_RESUMED");
  if (resumed.by === "event") return judgeTaking(seen, step, resumed.event);
  if (resumed.by !== "time") return null;
  const before = seen.began.get(`${workflow_id} ${step_id}`) ?? 0;
  const lost = [...seen.received.values()].find(
    (one) => one.place < before && !seen.taken.has(one.event_id) && fits(step, one) && one.expires_at > event.timestamp,
  );
  return lost === undefined ? null : `it did not see ${lost.event_id}, which was there`;
}

function receive({ received }: Seen, one: Received): string | null {
  const isThere = received.has(one.event_id);
  received.set(one.event_id, one);
  return isThere ? `${one.event_id} is in the ledger twice` : null;
}

function judgeTaking({ received, taken }: Seen, step: StepRecord, { event_id, payload }: TakenEvent): string | null {
  const one = received.get(event_id);
  if (one === undefined || !fits(step, one) || !isDeepStrictEqual(one.payload, payload))
    return `it took ${event_id}, which is not the one that it waits for`;
  if (taken.has(event_id)) return `it took ${event_id} from another`;
  if (!one.broadcast) taken.add(event_id);
  return null;
}

function fits({ parked, step }: StepRecord, { name, key, payload }: ReceivedEvent): boolean {
  if (parked?.source !== "event" || parked.name !== name || parked.key !== key) return false;
  const form = step.params["schema"] as JsonObject | undefined;
  return form === undefined || readerOf(form)(payload).ok;
}
