/**
 * The source of a replay's turns: ids and instants out of the ledger that is replayed (C-37).
 *
 * Owns: which recorded events have been met again. Never: compares them, decides what happens next.
 * S1  A decided event is matched with the first recorded one of its type and step that is not matched yet: steps that
 *     run side by side may be noted in another order than they were, and get their own ids all the same.
 * S2  Who runs ahead of the record is held until it has come as far, or until nothing else can happen: what runs side by
 *     side meets in the order it met in.
 * S3  What the record does not hold gets a fresh id and is kept as an extra: it is no part of the workflow.
 */
import type { EventDraft, EventPayloads, EventType, LedgerEvent } from "../contract/event.ts";
import { payloadOf } from "../contract/event.ts";
import type { IdSource } from "../contract/ids.ts";
import type { PolicyStage } from "../contract/policy.ts";
import type { Clock } from "../ports/clock.ts";
import type { DrawnId, Stamp, TurnSource } from "./turn-source.ts";

export interface RecordedSourceOptions {
  readonly events: readonly LedgerEvent[];
  /** For what is not in the record. */
  readonly ids: IdSource;
  readonly clock: Clock;
  /** A recorded event has been met again. */
  readonly onMatch: (event: LedgerEvent) => void;
}

/** Somebody who waits until the record has come to a sequence. */
interface Held {
  readonly sequence: number;
  readonly release: () => void;
}

/** The turn of what the record does not hold: after all that it does. */
const last = Number.POSITIVE_INFINITY;

type Test = (event: LedgerEvent) => boolean;

export class RecordedSource implements TurnSource {
  readonly #options: RecordedSourceOptions;
  /** Events not matched yet, by type and step, in recorded order. */
  readonly #open = new Map<string, LedgerEvent[]>();
  readonly #matched = new Set<number>();
  readonly #extras: EventDraft[] = [];
  /** Recorded decisions of the questions put to policy, in the order they were put. */
  readonly #asked: (LedgerEvent | null)[] = [];
  #held: Held[] = [];
  #first = 0;

  constructor(options: RecordedSourceOptions) {
    this.#options = options;
    for (const event of options.events) {
      const key = keyOf(event.event_type, event.step_id);
      this.#open.set(key, [...(this.#open.get(key) ?? []), event]);
    }
  }

  /** The first recorded event that is still to come; null when all have come. */
  get next(): LedgerEvent | null {
    return this.#options.events[this.#first] ?? null;
  }

  /** How many have come. */
  get met(): number {
    return this.#matched.size;
  }

  /** What was decided though the record does not hold it. */
  get extras(): readonly EventDraft[] {
    return this.#extras;
  }

  /** The first one of a type and step that is still to come. */
  peek(type: EventType, stepId: string | null, test: Test = () => true): LedgerEvent | null {
    return this.#open.get(keyOf(type, stepId))?.find(test) ?? null;
  }

  /** The first one still to come, of whatever step, that passes the test. */
  find(test: Test): LedgerEvent | null {
    const { events } = this.#options;
    for (let i = this.#first; i < events.length; i += 1) {
      const event = events[i] as LedgerEvent;
      if (!this.#matched.has(event.sequence) && test(event)) return event;
    }
    return null;
  }

  now(type: EventType, stepId: string | null): number {
    return this.#instantOf(this.peek(type, stepId));
  }

  asked(stage: PolicyStage, stepId: string | null): number {
    const decided = this.peek("POLICY_DECIDED", stepId, isOfStage(stage));
    this.#asked.push(decided);
    const at = decided === null ? undefined : payloadOf(decided, "POLICY_DECIDED").asked_at;
    return at === undefined ? this.#instantOf(decided) : Date.parse(at);
  }

  /** When the decision of the question that has just been put is to be noted; null: at once. Where none is, last of all. */
  turnOfAnswer(): Promise<void> | null {
    return this.#hold(this.#asked.shift()?.sequence ?? last);
  }

  turnOf(stepId: string | null): Promise<void> | null {
    return this.#hold(this.find((event) => event.step_id === stepId)?.sequence ?? last);
  }

  /** Nothing else can happen: the first in line goes on before its turn. False when nobody waits. */
  releaseFirst(): boolean {
    const first = this.#held.sort((a, b) => a.sequence - b.sequence).shift();
    first?.release();
    return first !== undefined;
  }

  #hold(sequence: number): Promise<void> | null {
    if (this.next !== null && sequence <= this.#reached) return null;
    return new Promise((release) => this.#held.push({ sequence, release }));
  }

  get #reached(): number {
    return this.next?.sequence ?? last;
  }

  stamp(draft: EventDraft): Stamp {
    const key = keyOf(draft.type, draft.step_id);
    const open = this.#open.get(key) ?? [];
    const test = draft.type === "POLICY_DECIDED" ? isOfStage(draft.payload.stage) : () => true;
    const found = open.find(test);
    if (found === undefined) return this.#stampExtra(draft);
    open.splice(open.indexOf(found), 1);
    this.#matched.add(found.sequence);
    const { events, onMatch } = this.#options;
    for (let next = this.next; next !== null && this.#matched.has(next.sequence); next = events[this.#first] ?? null)
      this.#first += 1;
    const due = this.#held.filter((held) => held.sequence <= this.#reached && held.sequence !== last);
    this.#held = this.#held.filter((held) => held.sequence > this.#reached || held.sequence === last);
    for (const { release } of due) release();
    onMatch(found);
    return { id: found.event_id, now: this.#instantOf(found) };
  }

  end(): void {}

  again(): void {}

  drawId(kind: DrawnId, stepId: string | null): string {
    return drawers[kind](this, stepId) ?? this.#options.ids.next(kind);
  }

  #stampExtra(draft: EventDraft): Stamp {
    const { ids, clock } = this.#options;
    this.#extras.push(draft);
    return { id: ids.next("event"), now: clock.now() };
  }

  #instantOf(event: LedgerEvent | null): number {
    return event === null ? this.#options.clock.now() : Date.parse(event.timestamp);
  }
}

const keyOf = (type: EventType, stepId: string | null): string => `${type}/${stepId ?? ""}`;

const isOfStage =
  (stage: PolicyStage): Test =>
  (event) =>
    payloadOf(event, "POLICY_DECIDED").stage === stage;

/** A plan that policy denied is named by the decision alone. */
const namesPlan: Test = ({ event_type: type, payload }) =>
  type === "PLAN_CREATED" || (type === "POLICY_DECIDED" && payload["stage"] === "plan");

const drawers: Readonly<Record<DrawnId, (source: RecordedSource, stepId: string | null) => string | null>> = {
  action: (source, stepId) => payloadIn(source.peek("ACTION_STARTED", stepId), "ACTION_STARTED")?.action_id ?? null,
  outcome: (source, stepId) =>
    payloadIn(source.peek("OUTCOME_DRAFTED", stepId), "OUTCOME_DRAFTED")?.outcome.outcome_id ?? null,
  plan(source) {
    const named = source.find(namesPlan);
    if (named?.event_type === "POLICY_DECIDED") return payloadOf(named, "POLICY_DECIDED").subject;
    return payloadIn(named, "PLAN_CREATED")?.plan.plan_id ?? null;
  },
};

function payloadIn<T extends keyof EventPayloads>(event: LedgerEvent | null, type: T): EventPayloads[T] | null {
  return event === null ? null : payloadOf(event, type);
}
