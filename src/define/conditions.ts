/**
 * Conditions of steps as their author writes them: `when(kyc.output.score).above(70)`. What these functions give is the
 * plain condition that a plan holds.
 */
import type { Condition } from "../contract/condition.ts";
import type { Json } from "../contract/json.ts";
import type { Reference } from "../contract/reference.ts";

/** The tests of a value. A value that is not there passes none of them but `missing`. */
export interface Tests<T> {
  /** Holds if the value is a number above this one. */
  readonly above: (bound: number) => Condition;
  /** Holds if the value is this number or one above. */
  readonly atLeast: (bound: number) => Condition;
  /** Holds if the value is a number below this one. */
  readonly below: (bound: number) => Condition;
  /** Holds if the value is this number or one below. */
  readonly atMost: (bound: number) => Condition;
  /** Holds if the value is this JSON value. */
  readonly equals: (other: T & Json) => Condition;
  /** Holds if the value is one of these JSON values. */
  readonly oneOf: (others: readonly (T & Json)[]) => Condition;
  /** Holds if there is a value, and it is not null. */
  readonly exists: () => Condition;
  /** Holds if there is no value, or it is null. */
  readonly missing: () => Condition;
}

/** Begins a condition about a value: the output of an earlier step, or data that the plan function was given. */
export function when<T>(value: Reference<T> | T): Tests<T> {
  const test = (tests: Omit<Condition, "value">): Condition => ({ value: value as Json, ...tests });
  return {
    above: (above) => test({ above }),
    atLeast: (at_least) => test({ at_least }),
    below: (below) => test({ below }),
    atMost: (at_most) => test({ at_most }),
    equals: (equals) => test({ equals }),
    oneOf: (one_of) => test({ one_of: [...one_of] }),
    exists: () => test({ exists: true }),
    missing: () => test({ exists: false }),
  };
}

/** Returns the condition that all of these hold. */
export const allOf = (...all: readonly Condition[]): Condition => ({ all });

/** Returns the condition that one of these holds. */
export const anyOf = (...any: readonly Condition[]): Condition => ({ any });

/** Returns the condition that this one does not hold. */
export const not = (condition: Condition): Condition => ({ not: condition });
