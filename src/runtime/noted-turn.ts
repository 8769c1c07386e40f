/**
 * What of a turn lies in memory before its row is in the ledger: the events decided, and the row that says them.
 *
 * N1  An event is packed when it is noted: what is no JSON is refused then, and no commit can fail for it.
 */
import type { Actor, EventDraft, LedgerEvent } from "../contract/event.ts";
import { instantText } from "../contract/instant.ts";
import type { JsonObject } from "../contract/json.ts";
import type { StreamContext } from "../contract/stream-context.ts";
import {
  type RowEnvelope,
  RowPacking,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
  toLedgerEvent,
} from "../contract/turn.ts";
import type { Append } from "../ports/ledger-store.ts";
import type { KnownHead } from "./derive-indexes.ts";
import type { NewWorkflow } from "./log-services.ts";
import type { Stamp } from "./turn-source.ts";

export interface Sealed {
  readonly entry: Append;
  readonly events: readonly LedgerEvent[];
  /** What the head says once this row is in. */
  readonly known: KnownHead;
}

/** The index row as a log last wrote it; what somebody else may have written is written again with the next row. */
export const unknownHead: KnownHead = { state: null, percent: null, due_at: undefined };

export const system: Actor = Object.freeze({ type: "system", id: "kernel" });

/** The events of the next row of a workflow. */
export class NotedTurn {
  readonly #identity: NewWorkflow;
  readonly #context: StreamContext;
  readonly drafts: EventDraft[] = [];
  readonly events: LedgerEvent[] = [];
  #row: { readonly packing: RowPacking; readonly place: TurnEnvelope } | null = null;

  /** @param context what the stream's rows have said so far; it goes on with each event. */
  constructor(identity: NewWorkflow, context: StreamContext) {
    this.#identity = identity;
    this.#context = context;
  }

  get count(): number {
    return this.events.length;
  }

  /** The instant of the row, epoch ms. */
  get now(): number {
    return this.#row?.packing.now ?? 0;
  }

  /** @param plan the plan that the workflow follows now. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
  add(
    draft: EventDraft,
    { id, now }: Stamp,
    { actor, plan }: { readonly actor: Actor; readonly plan: string },
  ): LedgerEvent {
    const row = this.#begin(now);
    const { plan_id: home } = this.#identity;
    const turnEvent = eventOf(draft, { id, actor, plan, home });
    row.packing.add(turnEvent);
    const event = toLedgerEvent(row.place, turnEvent, this.count, instantText(now));
    this.drafts.push(draft);
    this.events.push(event);
    return event;
  }

  /** @param inputs what led to the row, where its events do not tell it. */
  seal(inputs: TurnEnvelope["inputs"]): TurnRow {
    return this.#begin(0).packing.seal(inputs);
  }

  #begin(now: number) {
    if (this.#row !== null && this.count > 0) return this.#row;
    const envelope = envelopeOf(this.#identity, now);
    const place = { ...envelope, first: this.#context.last + 1, count: 0 };
    const row = { place, packing: new RowPacking(this.#context, envelope) };
    this.#row = row;
    return row;
  }
}

interface Noting {
  readonly id: string;
  readonly actor: Actor;
  /** The plan that the workflow follows now, and the one that its envelope names. */
  readonly plan: string;
  readonly home: string;
}

/** The event, with what of it differs from its envelope. A plan's own event belongs to that plan already. */
export function eventOf(draft: EventDraft, { id, actor, plan, home }: Noting): TurnEvent {
  const own = draft.type === "PLAN_CREATED" ? draft.payload.plan.plan_id : plan;
  return {
    id,
    type: draft.type,
    step: draft.step_id,
    plan: own === home ? undefined : own,
    actor: actor === system ? undefined : actor,
    payload: draft.payload as unknown as JsonObject,
  };
}

/** What the events of a workflow's row share. */
export function envelopeOf(
  { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id }: NewWorkflow,
  now: number,
): RowEnvelope {
  const ids = { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id };
  return { stream: workflow_id, ...ids, actor: system, now };
}
