/**
 * A workflow's log in a replay: what is noted is held against the record, event by event and byte by byte, and gets its id
 * and instant from there.
 *
 * Owns: the place in the record. Never: decides, writes.
 * L1  The first event that comes out otherwise ends the replay: what follows from it would differ for that reason alone.
 */
import { acceptsEvent } from "../../machines/charts.ts";
import { foldWorkflow } from "../../machines/fold.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Actor, EventDraft, EventPayloads, LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { ReplayDifference } from "../contract/replay.ts";
import {
  endOf,
  openTurns,
  type Shared,
  streamStart,
  system,
  type TurnEvent,
  type TurnRow,
  takeTurn,
} from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { compareEvent, goesBeyond, missing } from "../engine/log/compare-turns.ts";
import type { NewWorkflow } from "../engine/log/log-services.ts";
import { eventOf, sharedOfWorkflow } from "../engine/log/noted-turn.ts";
import type { DrawnId } from "../engine/log/turn-source.ts";
import type { DecidingLog } from "../tiers/t4-execution/decide/run/run.ts";
import { asThen, isOfEdit, isUnasked } from "./earlier-words.ts";
import { type RecordedInput, type RecordedRow, readRows } from "./recorded-rows.ts";
import { isOnUnknown, withRecorded } from "./unknown-words.ts";

/** Thrown to end a replay whose difference is known. */
export const replayOver: unique symbol = Symbol("the replay is over");

const logRef = moduleRef(0, "kernel", "replay");

export class RecordedLog implements DecidingLog {
  readonly identity: NewWorkflow;
  /** What all its rows share. */
  readonly shared: Shared;
  readonly events: readonly LedgerEvent[];
  readonly rows: readonly RecordedRow[];
  readonly #recorded: readonly TurnEvent[];
  #record: WorkflowRecord | null = null;
  #position = 0;
  #input: RecordedInput;
  /** The input is a word that came with an edit, or answers what such a word asked. */
  hasEdit = false;
  /** Sequence of a judgement whose payload is in no ledger as it was. */
  #taken = 0;
  difference: ReplayDifference | null = null;
  /** Nothing more is compared. */
  isOver = false;
  readonly lost = null;
  /** Whether who decides is no owner of the workflow. */
  foreign = false;

  constructor(rows: readonly TurnRow[]) {
    this.events = openTurns(rows);
    let end = streamStart;
    const turns = rows.map((row) => {
      const turn = takeTurn(row, end);
      end = endOf(row);
      return turn;
    });
    this.rows = readRows(turns);
    this.#recorded = turns.flatMap(({ events }) => events);
    this.#input = this.rows[0]?.inputs[0] as RecordedInput;
    const { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id } = this.events[0] as LedgerEvent;
    this.identity = { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id } as NewWorkflow;
    this.shared = sharedOfWorkflow(this.identity);
  }

  get record(): WorkflowRecord {
    return this.#record ?? raise(kernelError("T4_WORKFLOW_NOT_FOUND", "the workflow has no events yet", logRef));
  }

  get exists(): boolean {
    return this.#record !== null;
  }

  get position(): number {
    return this.#position;
  }

  /** What the record holds next; undefined at its end. */
  get next(): LedgerEvent | undefined {
    return this.events[this.#position];
  }

  /** The instant of the input that is decided; epoch ms. */
  get now(): number {
    return this.#input.now;
  }

  /** An input is decided from here on: what it leaves lies before its end. `edits`: it is a word that came with an edit. */
  begin(input: RecordedInput, edits = false): void {
    this.#input = input;
    this.hasEdit = edits;
  }

  /** What this judgement was about is in no ledger as it was: what is recorded of it is taken. */
  takeAsRecorded({ sequence }: LedgerEvent): void {
    this.#taken = sequence;
  }

  /** The first event still to come that fits. */
  find<T extends keyof EventPayloads>(
    type: T,
    stepId: string | null | undefined,
    fits?: (payload: EventPayloads[T], event: LedgerEvent) => boolean,
  ): EventOf<T> | null {
    return findAmong(this.events, { type, stepId, fits, from: this.#position });
  }

  /** As `find`, of what the input that is decided has still to leave. */
  findLeft<T extends keyof EventPayloads>(
    type: T,
    stepId: string | null | undefined,
    fits: (payload: EventPayloads[T]) => boolean = () => true,
  ): EventOf<T> | null {
    return this.find(type, stepId, (payload, { sequence }) => sequence <= this.#input.until && fits(payload));
  }

  accepts(draft: EventDraft): boolean {
    return this.#record !== null && acceptsEvent(this.#record, draft);
  }

  drawId(kind: DrawnId, stepId: string | null): string {
    return drawn[kind](this, stepId) ?? `${kind}_of_no_record`;
  }

  note(...drafts: readonly EventDraft[]): void {
    for (const one of drafts) this.#noteOne(one, system);
  }

  /** A person's word that the record does not hold here was refused behind its judgement: nothing says why, only that. So was an edit
   * whose own judgement it does not hold. */
  noteBy(actor: Actor, ...drafts: readonly EventDraft[]): void {
    const { next, isOver } = this;
    const [first] = drafts;
    const isHeld = !this.#isThrough && next?.event_type === first?.type && next?.step_id === first?.step_id;
    if (!isOver && !isHeld) refuse();
    for (const one of drafts) this.#noteOne(one, actor);
  }

  #noteOne(made: EventDraft, actor: Actor): void {
    if (this.isOver) throw replayOver;
    if (made.type !== "POLICY_DECIDED") this.#passUnknown();
    if (this.#record !== null && !acceptsEvent(this.#record, made))
      raise(kernelError("T4_WORKFLOW_CONFLICT", `${made.type} cannot happen in ${this.#record.state}`, logRef));
    const { next } = this;
    const shown = this.#shownAt(made);
    if (isUnasked(made, next, shown)) return;
    if (this.hasEdit && this.#isThrough && isOfEdit(made, shown)) refuse();
    if (next === undefined) return this.#end(goesBeyond(this.#position + 1, made));
    const recorded = this.#recorded[this.#position] as TurnEvent;
    const event = this.#eventOf(made, actor, recorded.id);
    const difference =
      event.type === recorded.type && event.step === recorded.step && !this.#isThrough
        ? compareEvent(next.sequence, recorded, event)
        : missing(next.sequence, recorded, made);
    if (difference !== null) return this.#end(difference);
    this.#position += 1;
    this.#record = foldWorkflow(this.#record, next);
  }

  #shownAt = ({ payload }: EventDraft): string | undefined =>
    this.#record?.gates.get((payload as { readonly subject?: string }).subject ?? "")?.payload_digest;

  /** What policy said of an edit that no ledger holds stands as it is recorded, where the edit is not put to it again. */
  #passUnknown(): void {
    for (
      let { next } = this;
      this.hasEdit && !this.#isThrough && next !== undefined && isOnUnknown(next);
      { next } = this
    ) {
      this.#position += 1;
      this.#record = foldWorkflow(this.#record, next);
    }
  }

  /** The input has left all that the record says it left. */
  get #isThrough(): boolean {
    return this.#position >= this.#input.until;
  }

  #eventOf(made: EventDraft, actor: Actor, id: string): TurnEvent {
    const { plan_id: home } = this.identity;
    const then = this.next === undefined ? made.payload : asThen(this.next, made);
    const payload = this.#taken === this.next?.sequence ? withRecorded(this.next, then) : then;
    return eventOf({ ...made, payload } as EventDraft, { id, actor, plan: this.#record?.plan_id ?? home }, home);
  }

  /** The input that is decided leaves no more. */
  close(): void {
    if (!this.isOver) this.#passUnknown();
    const recorded = this.#recorded[this.#position];
    if (this.isOver || recorded === undefined || this.#isThrough) return;
    this.isOver = true;
    this.difference = missing(this.#position + 1, recorded, null);
  }

  /** A row's inputs leave all of its events. */
  closeAt(last: number): void {
    this.#input = { ...this.#input, until: last };
    this.close();
  }

  #end(difference: ReplayDifference): never {
    this.isOver = true;
    this.difference = difference;
    throw replayOver;
  }
}

const refuse = (): never => raise(kernelError("T5_GATE_CONFLICT", "what was said was refused here", logRef));

interface EventSearch<T extends keyof EventPayloads> {
  readonly type: T;
  /** Undefined for an event of any step, or of none. */
  readonly stepId: string | null | undefined;
  readonly fits?: ((payload: EventPayloads[T], event: LedgerEvent) => boolean) | undefined;
  /** How many of the events lie before those that are looked at. */
  readonly from?: number;
}

/** An event as its type says it. */
export type EventOf<T extends keyof EventPayloads> = LedgerEvent & { readonly payload: EventPayloads[T] };

/** The first of these events that is wanted. */
export function findAmong<T extends keyof EventPayloads>(
  events: readonly LedgerEvent[],
  { type, stepId, fits = () => true, from = 0 }: EventSearch<T>,
): EventOf<T> | null {
  for (let at = from; at < events.length; at += 1) {
    const event = events[at] as EventOf<T>;
    const isSteps = stepId === undefined || event.step_id === stepId;
    if (event.event_type === type && isSteps && fits(event.payload, event)) return event;
  }
  return null;
}

type Drawing = (log: RecordedLog, stepId: string | null) => string | undefined;

/** Where the record says the id that was drawn. */
const drawn: Readonly<Record<DrawnId, Drawing>> = {
  action: (log, stepId) => log.find("ACTION_STARTED", stepId)?.payload.action_id,
  outcome: (log, stepId) => log.find("OUTCOME_DRAFTED", stepId)?.payload.outcome.outcome_id,
  plan(log) {
    const judged = log.find("POLICY_DECIDED", null, ({ stage }) => stage === "plan");
    return log.find("PLAN_CREATED", null)?.payload.plan.plan_id ?? judged?.payload.subject;
  },
};
