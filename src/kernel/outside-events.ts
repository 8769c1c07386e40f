/**
 * Events from outside: receiving them, handing them to the steps that wait for them, and finding them for a step that
 * begins to wait.
 *
 * Never: ends a wait (T4 does, in the row of the waiting workflow).
 * 1.  An event is in its tenant's log before anybody is told of it. The second event with an id is ignored; another
 *     event with that id is refused.
 * 2.  An event is handed to waits that were committed before it; a wait that is committed later looks for it. What a
 *     crash left between the two is found by `sweep`.
 */
import { digest } from "../contract/digest.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import { instantText } from "../contract/instant.ts";
import type { JsonObject } from "../contract/json.ts";
import { t4 } from "../contract/messages/t4.ts";
import { moduleRef } from "../contract/module-ref.ts";
import {
  type EmitResponse,
  eventClaim,
  type ParsedEmitRequest,
  type ReceivedEvent,
} from "../contract/received-event.ts";
import { askTier } from "../engine/actors/ask-tier.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { OverdueWait, StoredEvent, StoredWait } from "../ports/wait-store.ts";
import type { FoundEvent } from "../tiers/t4-execution/decide/run/intention.ts";
import type { EventSearch } from "../tiers/t4-execution/perform/services.ts";
import { formAsked, judgeOf } from "./read-form.ts";
import { type StartParts, startWork } from "./start-by-event.ts";

export interface EventParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
}

export interface EmitParts extends EventParts, StartParts {}

/** Events of one name and key that are looked at for one wait, and waits that are looked at for one event. */
const maxLooked = 1_000;
const emitRef = moduleRef(0, "kernel", "emit");

/** Finds an event that a step may take, and the older ones that do not have the form that the step asks. */
export async function findEvent(
  { store, now }: Pick<EventParts, "store"> & { readonly now: () => number },
  { tenant_id, name, key, form, event_id, passed }: EventSearch,
): Promise<FoundEvent> {
  const found =
    event_id === null
      ? await store.events({ tenant_id, name, key, now: now(), limit: maxLooked })
      : await findNamed(store, { tenant_id, event_id });
  const passedNow: { event_id: string; problem: string }[] = [];
  const problemOf = judgeOf(form);
  for (const event of found) {
    if (passed.includes(event.event_id)) continue;
    const problem = problemOf(event.payload);
    if (problem === null) return { event: takenOf(event), passed: passedNow };
    passedNow.push({ event_id: event.event_id, problem });
  }
  return { event: null, passed: passedNow };
}

async function findNamed(
  store: LedgerStore,
  { tenant_id, event_id }: { readonly tenant_id: string | number; readonly event_id: string },
): Promise<readonly StoredEvent[]> {
  const event = await store.findEvent(tenant_id, event_id);
  return event === null || event.taken_by !== null ? [] : [event];
}

const takenOf = ({ event_id, payload, broadcast }: StoredEvent) =>
  broadcast ? ({ event_id, payload, broadcast } as const) : { event_id, payload };

/**
 * Receives an event, hands it to the steps that wait for it, and begins the work that the kernel's options state.
 * @throws KernelErrorException T4_EVENT_ID_REUSED; T4_EVENT_INVALID if steps wait for it, and none takes its payload.
 */
export async function emitEvent(parts: EmitParts, request: ParsedEmitRequest): Promise<EmitResponse> {
  const { store, runtime, tenantLog } = parts;
  const { tenant_id, principal, ...given } = request;
  const event_id = given.event_id ?? runtime.ids.next("event");
  const expires_at = instantText(runtime.clock.now() + runtime.limits.eventTtlMs);
  const event: ReceivedEvent = { ...given, event_id, expires_at };
  if ((await findFirst(store, tenant_id, event)) === null) await requireFitting(parts, tenant_id, event);
  const { answer: first } = await tenantLog(
    tenant_id,
    async () => {
      const before = await findFirst(store, tenant_id, event);
      return { drafts: before === null ? [draft("EVENT_RECEIVED", event)] : [], answer: before };
    },
    principal,
  );
  const resumed = first?.taken_by == null ? await deliverEvent(parts, tenant_id, first ?? event) : [];
  const started = await startWork(parts, request, first ?? event);
  return answerOf(parts, tenant_id, { event_id, resumed, started, duplicate: first !== null });
}

/** Returns the event that was received under the same id. @throws KernelErrorException T4_EVENT_ID_REUSED. */
async function findFirst(
  store: LedgerStore,
  tenantId: string | number,
  event: ReceivedEvent,
): Promise<StoredEvent | null> {
  const first = await store.findEvent(tenantId, event.event_id);
  if (first === null || contentOf(first) === contentOf(event)) return first;
  const message = `another event was received under the id ${event.event_id}`;
  return raise(kernelError("T4_EVENT_ID_REUSED", message, emitRef, { detail: { event_id: event.event_id } }));
}

const contentOf = ({ name, key, payload, broadcast }: ReceivedEvent): string =>
  digest({ name, key, payload, broadcast });

/** Refuses an event whose payload none of the steps that wait for it takes. @throws KernelErrorException. */
async function requireFitting(parts: EventParts, tenantId: string | number, event: ReceivedEvent): Promise<void> {
  let problem: string | null = null;
  for (const wait of await waitsFor(parts, tenantId, event)) {
    problem = judgeOf(await formOfWait(parts, wait))(event.payload);
    if (problem === null) return;
  }
  if (problem === null) return;
  const { name, key } = event;
  const message = `the payload of ${name} does not have the form that the step that waits for it asks: ${problem}`;
  raise(kernelError("T4_EVENT_INVALID", message, emitRef, { detail: { name, key, problem } }));
}

const waitsFor = ({ store }: EventParts, tenant_id: string | number, { name, key }: ReceivedEvent) =>
  store.waits({ tenant_id, source: "event", name, key, limit: maxLooked });

async function formOfWait({ reading }: EventParts, { workflow_id, step_id }: StoredWait): Promise<JsonObject | null> {
  const { steps } = await reading.readWorkflowState(workflow_id);
  const step = steps.get(step_id);
  return step === undefined ? null : formAsked(step);
}

/** A step that an event has resumed. */
type Resumed = EmitResponse["resumed"][number];

/** Hands an event to the workflows that wait for it; a workflow that cannot take it now is left to `sweep`. */
async function deliverEvent(
  parts: EventParts,
  tenantId: string | number,
  event: ReceivedEvent,
): Promise<readonly Resumed[]> {
  const resumed: Resumed[] = [];
  const workflows = new Set((await waitsFor(parts, tenantId, event)).map(({ workflow_id }) => workflow_id));
  for (const workflow_id of workflows) {
    resumed.push(...(await deliverTo(parts, workflow_id, event)));
    if (resumed.length > 0 && !event.broadcast) break;
  }
  return resumed;
}

async function deliverTo(
  { runtime }: EventParts,
  workflow_id: string,
  { name, key, event_id }: ReceivedEvent,
): Promise<readonly Resumed[]> {
  const by = { source: emitRef, traceId: runtime.ids.next("correlation") };
  try {
    const { resumed } = await askTier(runtime, t4.deliver, { workflow_id, event: { name, key, event_id } }, by);
    return resumed.map((step_id) => ({ workflow_id, step_id }));
  } catch (error) {
    runtime.logger.warn({ error, workflow_id, event_id }, "an event could not be handed to a workflow that waits");
    return [];
  }
}

/**
 * Answers by what the ledger says once the event was handed over: a step that began to wait meanwhile may have taken
 * it.
 */
async function answerOf(
  { store, runtime }: EventParts,
  tenantId: string | number,
  { event_id, resumed, started, duplicate }: Pick<EmitResponse, "event_id" | "resumed" | "started" | "duplicate">,
): Promise<EmitResponse> {
  const { taken_by, expires_at } = (await store.findEvent(tenantId, event_id)) as StoredEvent;
  const holder = taken_by === null ? null : await store.findKey(tenantId, eventClaim(event_id));
  const taken = holder === null ? resumed : [{ workflow_id: holder.workflow_id, step_id: holder.action_id }];
  const isOver = Date.parse(expires_at) <= runtime.clock.now();
  return {
    event_id,
    status: taken.length > 0 ? "resumed" : isOver ? "expired" : "kept",
    resumed: taken,
    started,
    kept_until: taken_by === null && !isOver ? expires_at : null,
    duplicate,
  };
}

/**
 * Ends waits whose end is in the ledger already, because a process died before it told them of it: an event that
 * expires after `after` is handed over, and a workflow that waits for another that has ended is woken.
 */
export async function sweep(parts: SweepParts, after: number): Promise<void> {
  const { store } = parts;
  for (const wait of await store.overdueWaits(after, maxLooked)) await endWait(parts, wait);
}

export interface SweepParts extends EventParts {
  readonly wake: (workflowId: string) => Promise<void>;
}

async function endWait(parts: SweepParts, { workflow_id, tenant_id, event_id }: OverdueWait): Promise<void> {
  if (event_id === null) return parts.wake(workflow_id);
  const event = await parts.store.findEvent(tenant_id, event_id);
  if (event !== null && event.taken_by === null) await deliverTo(parts, workflow_id, event);
}
