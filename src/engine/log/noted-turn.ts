/**
 * The part of a turn that is in memory before its row is in the ledger: the decided events, and the unfinished row.
 *
 * 1.  An event is written as JSON when it is added: a value that JSON does not have is refused then, and no commit
 *     fails for it.
 */
import type { KernelError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Actor, EventDraft, LedgerEvent } from "../../contract/event.ts";
import { instantText } from "../../contract/instant.ts";
import type { JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import {
  completeEvent,
  type Recorded,
  RowBuilder,
  type Shared,
  type StreamEnd,
  sharedOf,
  system,
  type TurnEvent,
  type TurnRow,
  toLedgerEvent,
} from "../../contract/turn.ts";
import type { Append } from "../../ports/ledger-store.ts";
import type { KnownHead } from "./derive-head.ts";
import type { NewWorkflow } from "./log-services.ts";

export interface Sealed {
  readonly entry: Append;
  readonly events: readonly LedgerEvent[];
  /** The content of the head once this row is in. */
  readonly known: KnownHead;
}

/**
 * The index row as a log last wrote it; a row that another process may have changed is written again with the next
 * append.
 */
export const unknownHead: KnownHead = { state: null, percent: null, due_at: undefined };

/** Makes the error of an event that the charts do not accept; deciding and its replay raise the same. */
export function refuseEvent({ type: event_type, step_id }: EventDraft, state: string): KernelError {
  const message = `${event_type} cannot happen while the workflow is ${state}`;
  return kernelError("T4_WORKFLOW_CONFLICT", message, logRef, { detail: { event_type, state, step_id } });
}

const logRef = moduleRef(4, "workflow_log", "commit");

/** The events of the next row of a workflow. */
export class NotedTurn {
  readonly #shared: Shared;
  readonly #end: StreamEnd;
  readonly drafts: EventDraft[] = [];
  readonly events: LedgerEvent[] = [];
  /** The change of halts that the turn was decided on; null if nothing of it rests on halts. */
  haltsAt: number | null = null;
  #row: RowBuilder | null = null;

  /** Opens a turn. @param end the end of the stream, behind which the row is appended. */
  constructor(shared: Shared, end: StreamEnd) {
    this.#shared = shared;
    this.#end = end;
  }

  get count(): number {
    return this.events.length;
  }

  /** Returns the length of its written events, in characters. */
  get chars(): number {
    return this.#row?.chars ?? 0;
  }

  /** Returns the instant of the row, epoch ms. */
  get now(): number {
    return this.#row?.now ?? 0;
  }

  /**
   * Adds an event. @param now the turn's instant, epoch ms. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
   */
  add(draft: EventDraft, noting: Noting, now: number): LedgerEvent {
    const event = eventOf(draft, noting, this.#shared.plan_id);
    this.#builder(now).add(event);
    const noted = toLedgerEvent(this.#shared, event, this.#end.last + 1 + this.count, instantText(now));
    this.drafts.push(draft);
    if (restsOnHalts(draft)) this.haltsAt ??= noting.at;
    this.events.push(noted);
    return noted;
  }

  /** Seals the row, with the inputs that led to it. */
  seal(recorded: Recorded | undefined): TurnRow {
    return this.#builder(0).seal(this.#end, recorded);
  }

  /** Returns the row in the making. Its instant is that of the turn of its first event. */
  #builder(now: number): RowBuilder {
    if (this.#row === null || this.count === 0) this.#row = new RowBuilder(this.#shared, now);
    return this.#row;
  }
}

/** Returns whether an event was decided on the halts that hold: the start of a call, or what halts hold or release. */
const restsOnHalts = (draft: EventDraft): boolean =>
  draft.type === "ACTION_STARTED"
    ? draft.payload.token !== undefined
    : draft.type === "WORK_HELD" || draft.type === "WORK_RELEASED";

interface Noting {
  readonly id: string;
  readonly actor: Actor;
  /** The plan that the workflow follows now. */
  readonly plan: string;
  /** The position of the tenant's newest change of halts that deciding knows. */
  readonly at: number;
}

/**
 * Returns the event, with the members in which it differs from the rest of its stream. A plan's own event belongs to
 * that plan already.
 * @param home the plan that the stream's events name.
 */
export function eventOf(draft: EventDraft, { id, actor, plan }: Omit<Noting, "at">, home: string | null): TurnEvent {
  const own = draft.type === "PLAN_CREATED" ? draft.payload.plan.plan_id : plan;
  return completeEvent({
    id,
    type: draft.type,
    step: draft.step_id,
    plan: own === home ? undefined : own,
    actor: actor === system ? undefined : actor,
    payload: draft.payload as unknown as JsonObject,
  });
}

/** Returns the members that the events of a workflow's rows share. */
export const sharedOfWorkflow = (identity: NewWorkflow): Shared =>
  sharedOf({ stream: identity.workflow_id, ...identity, actor: system });
