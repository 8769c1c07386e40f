/**
 * What a form is: what readers foretell of an event's payload, by its place in its stream. Words that several forms use.
 */
import type { EventType } from "./event.ts";
import { type Expected, Foretold } from "./foretold.ts";
import type { JsonObject } from "./json.ts";
import { type StepResult, toStepResult } from "./step.ts";
import { noFacts, recordOf, type Shared, type StepFacts, type StreamContext } from "./stream-context.ts";

/** Where an event stands: what its form is told. One for all events of a row, which it is moved along. */
export class EventPlace {
  readonly context: StreamContext;
  /** The instant of its row, epoch ms. */
  readonly now: number;
  type: EventType | null = null;
  step: string | null = null;
  /** What was said of its step before. */
  own: Readonly<StepFacts> = noFacts;
  /** In a plan: the step before the one that comes, and the last before it by the operator that they call. */
  before: JsonObject | undefined = undefined;
  #callers: Map<unknown, JsonObject> | null = null;
  #made: Partial<StepResult> | null = null;

  constructor(context: StreamContext, now: number) {
    this.context = context;
    this.now = now;
  }

  moveTo(type: EventType, step: string | null): this {
    this.type = type;
    this.step = step;
    this.own = this.context.of(step);
    this.#made = null;
    return this;
  }

  /** The next step of a plan comes. @param before the one before it; undefined for the first. */
  passStep(before: unknown): void {
    this.before = before === undefined ? undefined : recordOf(before);
    if (this.before === undefined) this.#callers = new Map();
    else this.#callers?.set(this.before["operator"], this.before);
  }

  /** The step before, of this plan or of one before it, that calls an operator. */
  callerOf(operator: unknown): JsonObject | undefined {
    return this.#callers?.get(operator) ?? this.context.operators.get(operator);
  }

  /** What the step's result comes to; nothing where it is not known. */
  get made(): Partial<StepResult> {
    const { result } = this.own;
    this.#made ??= result === undefined ? empty : toStepResult(result);
    return this.#made;
  }
}

/** What is foretold of an event's payload. */
export type Form = Foretold<EventPlace>;
export const form = (names: readonly string[], values: readonly Expected<EventPlace>[], optional = false): Form =>
  new Foretold(names, values, optional);

/** A member that is foretold from its event's place, and from the members before it. */
export const told = (read: (place: EventPlace, earlier: JsonObject) => unknown): Expected<EventPlace> => read;

/** What the stream's first row says of all its events. */
export const sharedBy = (name: keyof Shared): Expected<EventPlace> => told(({ context }) => context.shared?.[name]);

export const none: readonly never[] = Object.freeze([]);
export const empty: JsonObject = Object.freeze({});
