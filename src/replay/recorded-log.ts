/**
 * The log of a replay: each event that deciding notes is compared with the recorded one, byte by byte, and takes its id
 * and instant from there.
 *
 * Owns: the position in the record. Never: decides, writes.
 * 1.  The first event that differs ends the replay: what follows from it would differ for that reason alone.
 */
import { acceptsEvent } from "../../machines/charts.ts";
import { foldWorkflow } from "../../machines/fold.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Actor, EventDraft, LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { ReplayDifference } from "../contract/replay.ts";
import {
  endOf,
  openTurns,
  type Shared,
  streamStart,
  system,
  type Turn,
  type TurnEvent,
  type TurnRow,
  takeTurn,
} from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { compareEvent, goesBeyond, missing } from "../engine/log/compare-turns.ts";
import type { NewWorkflow } from "../engine/log/log-services.ts";
import { eventOf, refuseEvent, sharedOfWorkflow } from "../engine/log/noted-turn.ts";
import type { DecidingLog } from "../tiers/t4-execution/decide/run/run.ts";

/** Thrown to end a replay whose difference is known. */
export const replayOver: unique symbol = Symbol("the replay is over");

const logRef = moduleRef(0, "kernel", "replay");

export class RecordedLog implements DecidingLog {
  readonly identity: NewWorkflow;
  /** The members that the events of all rows share. */
  readonly shared: Shared;
  readonly turns: readonly Turn[];
  readonly #events: readonly LedgerEvent[];
  readonly #recorded: readonly TurnEvent[];
  #record: WorkflowRecord | null = null;
  position = 0;
  difference: ReplayDifference | null = null;
  readonly lost = null;
  /** Whether the deciding process does not own the workflow. */
  isOwnedElsewhere = false;

  constructor(rows: readonly TurnRow[]) {
    this.#events = openTurns(rows);
    let end = streamStart;
    this.turns = rows.map((row) => {
      const turn = takeTurn(row, end);
      end = endOf(row);
      return turn;
    });
    this.#recorded = this.turns.flatMap(({ events }) => events);
    const { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id } = this.#events[0] as LedgerEvent;
    this.identity = { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id } as NewWorkflow;
    this.shared = sharedOfWorkflow(this.identity);
  }

  get record(): WorkflowRecord {
    return this.#record ?? raise(kernelError("T4_WORKFLOW_NOT_FOUND", "the workflow has no events yet", logRef));
  }

  get exists(): boolean {
    return this.#record !== null;
  }

  accepts(draft: EventDraft): boolean {
    return this.#record !== null && acceptsEvent(this.#record, draft);
  }

  note(...drafts: readonly EventDraft[]): void {
    this.noteBy(system, ...drafts);
  }

  noteBy(actor: Actor, ...drafts: readonly EventDraft[]): void {
    for (const draft of drafts) this.#noteOne(draft, actor);
  }

  #noteOne(made: EventDraft, actor: Actor): void {
    if (this.difference !== null) throw replayOver;
    if (this.#record !== null && !acceptsEvent(this.#record, made)) raise(refuseEvent(made, this.#record.state));
    const next = this.#events[this.position];
    const recorded = this.#recorded[this.position];
    if (next === undefined || recorded === undefined) return this.end(goesBeyond(this.position + 1, made));
    const { plan_id: home } = this.identity;
    const event = eventOf(made, { id: recorded.id, actor, plan: this.#record?.plan_id ?? home }, home);
    const isSameKind = event.type === recorded.type && event.step === recorded.step;
    const difference = isSameKind
      ? compareEvent(next.sequence, recorded, event)
      : missing(next.sequence, recorded, made);
    if (difference !== null) return this.end(difference);
    this.position += 1;
    this.#record = foldWorkflow(this.#record, next);
  }

  /** Closes a row: its inputs have left all of its events. @throws replayOver if they have not, or have left more. */
  closeAt(last: number): void {
    const recorded = this.#recorded[this.position];
    if (this.position < last && recorded !== undefined) this.end(missing(this.position + 1, recorded, null));
  }

  /** Ends the replay. @throws replayOver always. */
  end(difference: ReplayDifference): never {
    this.difference ??= difference;
    throw replayOver;
  }

  /** Ends the replay with a question whose answer the row does not hold. */
  endUnanswered(question: string): never {
    const recorded = this.#recorded[this.position];
    const sequence = this.position + 1;
    const { id = null, type = "", step = null } = recorded ?? {};
    const place = { sequence, event_id: id, event_type: type, step_id: step, path: null, expected: null };
    const reason = `deciding asks "${question}", and the ledger holds no answer to that here`;
    return this.end({ code: "EVENT_MISSING", ...place, actual: question, reason });
  }
}
