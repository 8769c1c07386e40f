/**
 * What of a turn lies in memory before its row is in the ledger: the events decided, and the row that says them.
 *
 * N1  An event is packed when it is noted: what is no JSON is refused then, and no commit can fail for it.
 */
import type { Actor, EventDraft, LedgerEvent } from "../../contract/event.ts";
import { instantText } from "../../contract/instant.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Shared, StreamContext } from "../../contract/stream-context.ts";
import {
  RowPacking,
  sharedOf,
  system,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
  toLedgerEvent,
} from "../../contract/turn.ts";
import type { Append } from "../../ports/ledger-store.ts";
import type { KnownHead } from "./derive-indexes.ts";
import type { NewWorkflow } from "./log-services.ts";

export interface Sealed {
  readonly entry: Append;
  readonly events: readonly LedgerEvent[];
  /** What the head says once this row is in. */
  readonly known: KnownHead;
}

/** The index row as a log last wrote it; what somebody else may have written is written again with the next row. */
export const unknownHead: KnownHead = { state: null, percent: null, due_at: undefined };

/** The events of the next row of a workflow. */
export class NotedTurn {
  readonly #shared: Shared;
  readonly #context: StreamContext;
  readonly drafts: EventDraft[] = [];
  readonly events: LedgerEvent[] = [];
  #packing: RowPacking | null = null;
  #first = 0;

  /** @param context what the stream's rows have said so far; it goes on with each event. */
  constructor(shared: Shared, context: StreamContext) {
    this.#shared = shared;
    this.#context = context;
  }

  get count(): number {
    return this.events.length;
  }

  /** The instant of the row, epoch ms. */
  get now(): number {
    return this.#packing?.now ?? 0;
  }

  /** @param now the turn's instant, epoch ms. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
  add(draft: EventDraft, noting: Noting, now: number): LedgerEvent {
    const packing = this.#begin(now);
    const event = eventOf(draft, noting, this.#shared.plan_id);
    packing.add(event);
    const noted = toLedgerEvent(this.#shared, event, this.#first + this.count, instantText(now));
    this.drafts.push(draft);
    this.events.push(noted);
    return noted;
  }

  /** @param inputs what led to the row, where its events do not tell it. */
  seal(inputs: TurnEnvelope["inputs"]): TurnRow {
    return this.#begin(0).seal(inputs);
  }

  #begin(now: number): RowPacking {
    if (this.#packing !== null && this.count > 0) return this.#packing;
    this.#first = this.#context.last + 1;
    this.#packing = new RowPacking(this.#context, this.#shared, now);
    return this.#packing;
  }
}

interface Noting {
  readonly id: string;
  readonly actor: Actor;
  /** The plan that the workflow follows now. */
  readonly plan: string;
}

/**
 * The event, with what of it differs from what its stream's events share. A plan's own event belongs to that plan already.
 * @param home the plan that they name.
 */
export function eventOf(draft: EventDraft, { id, actor, plan }: Noting, home: string | null): TurnEvent {
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

/** What the events of a workflow's rows share. */
export const sharedOfWorkflow = (identity: NewWorkflow): Shared =>
  sharedOf({ stream: identity.workflow_id, ...identity, actor: system });
