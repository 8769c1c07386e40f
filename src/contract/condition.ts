/**
 * Conditions of steps (`when` of a plan's step, `until` of one that repeats), as plain data: tests of a value in the
 * words of policy rules, joined by `all`, `any` and `not`. Every member that is given must hold.
 *
 * Never: resolves a reference; whoever evaluates a condition says what its values are.
 * 1.  A test of a value that is not there fails, as does a bound of a value that is no number; `exists: false` holds
 *     there.
 */
import { z } from "zod";
import { digest } from "./digest.ts";
import { type Json, JsonValue } from "./json.ts";

/** A condition as it is written in a plan. */
export interface Condition {
  /**
   * The value that the tests beside it are about: a reference to the output of an earlier step, or the value itself.
   */
  readonly value?: Json | undefined;
  /** The value is a number above this one. */
  readonly above?: number | undefined;
  /** The value is a number, this one or above. */
  readonly at_least?: number | undefined;
  /** The value is a number below this one. */
  readonly below?: number | undefined;
  /** The value is a number, this one or below. */
  readonly at_most?: number | undefined;
  /** The value is this JSON value. */
  readonly equals?: Json | undefined;
  /** The value is one of these JSON values. */
  readonly one_of?: readonly Json[] | undefined;
  /** Whether there is a value that is not null. */
  readonly exists?: boolean | undefined;
  /** Conditions that all hold. */
  readonly all?: readonly Condition[] | undefined;
  /** Conditions of which one holds. */
  readonly any?: readonly Condition[] | undefined;
  /** A condition that does not hold. */
  readonly not?: Condition | undefined;
}

const tests = ["above", "at_least", "below", "at_most", "equals", "one_of", "exists"] as const;

const maxConditionDepth = 16;

/** Returns how many conditions stand inside one another. */
const depthOf = ({ all = [], any = [], not }: Condition): number =>
  1 + Math.max(0, ...[...all, ...any, ...(not === undefined ? [] : [not])].map(depthOf));

const inner: z.ZodType<Condition> = z.lazy(() => Condition);

/** The schema of a condition: strict, and at most 16 conditions deep. */
export const Condition: z.ZodType<Condition> = z
  .strictObject({
    value: JsonValue.optional(),
    above: z.number().optional(),
    at_least: z.number().optional(),
    below: z.number().optional(),
    at_most: z.number().optional(),
    equals: JsonValue.optional(),
    one_of: z.array(JsonValue).min(1).optional(),
    exists: z.boolean().optional(),
    all: z.array(inner).min(1).optional(),
    any: z.array(inner).min(1).optional(),
    not: inner.optional(),
  })
  .superRefine((condition, { addIssue }) => {
    const isTest = tests.some((test) => condition[test] !== undefined);
    if (isTest && condition.value === undefined) addIssue("it tests no value");
    if (!isTest && condition.value !== undefined) addIssue(`it needs a test of its value: ${tests.join(", ")}`);
    if (Object.values(condition).every((member) => member === undefined)) addIssue("it states nothing");
    if (depthOf(condition) > maxConditionDepth)
      addIssue(`it holds more than ${maxConditionDepth} conditions inside one another`);
  });

/** Gives a written value as it is now: a reference as the value that it refers to, undefined if there is none. */
type Resolve = (written: Json, at: string) => Json | undefined;

/**
 * Returns whether a condition holds.
 * @param resolve is given each value with its JSON pointer in the condition.
 */
export function conditionHolds(condition: Condition, resolve: Resolve, at = ""): boolean {
  const { value: written, all = [], any, not } = condition;
  const holds = (part: string) => (one: Condition, i: number) => conditionHolds(one, resolve, `${at}/${part}/${i}`);
  if (written !== undefined && !passesTests(condition, { value: resolve(written, `${at}/value`), resolve, at }))
    return false;
  if (not !== undefined && conditionHolds(not, resolve, `${at}/not`)) return false;
  return all.every(holds("all")) && (any === undefined || any.some(holds("any")));
}

interface Tested {
  readonly value: Json | undefined;
  readonly resolve: Resolve;
  readonly at: string;
}

function passesTests(condition: Condition, { value, resolve, at }: Tested): boolean {
  const { above, at_least, below: under, at_most, equals, one_of, exists } = condition;
  const isThere = value !== undefined && value !== null;
  const isNumber = (test: (number: number) => boolean): boolean => typeof value === "number" && test(value);
  const isSame = (part: string) => (other: Json, i: number) => {
    const compared = resolve(other, i < 0 ? `${at}/${part}` : `${at}/${part}/${i}`);
    return value !== undefined && compared !== undefined && digest(value) === digest(compared);
  };
  return (
    (above === undefined || isNumber((n) => n > above)) &&
    (at_least === undefined || isNumber((n) => n >= at_least)) &&
    (under === undefined || isNumber((n) => n < under)) &&
    (at_most === undefined || isNumber((n) => n <= at_most)) &&
    (equals === undefined || isSame("equals")(equals, -1)) &&
    (one_of === undefined || one_of.some(isSame("one_of"))) &&
    (exists === undefined || exists === isThere)
  );
}
