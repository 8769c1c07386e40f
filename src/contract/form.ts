/**
 * What a form is: what readers foretell of an event's payload, by its place in its stream. Words that several forms use.
 */
import type { EventType } from "./event.ts";
import type { Foretold } from "./foretold.ts";
import type { Json, JsonObject } from "./json.ts";
import { type StepResult, toStepResult } from "./step.ts";
import type { StreamContext } from "./stream-context.ts";

/** Where an event stands. */
export interface EventPlace {
  readonly context: StreamContext;
  readonly type: EventType;
  readonly step: string | null;
  /** The instant of its row, epoch ms. */
  readonly now: number;
}

export type Form = (place: EventPlace) => Foretold;

export const none: readonly never[] = Object.freeze([]);
export const empty: JsonObject = Object.freeze({});

/** What a step's result comes to; nothing where it is not known. */
export const madeOf = (result: Json | undefined): Partial<StepResult> =>
  result === undefined ? empty : toStepResult(result);
