/**
 * Money, and abstract cost: decimal amounts in units of a millionth, exact in sums and comparisons.
 *
 * Owns: the unit, the bound, the arithmetic. Never: a currency; that is the host's.
 * 1.  An amount is the double nearest to a decimal of at most six digits behind the point: it prints as that decimal.
 * 2.  Sums are made in whole units, which are exact up to `maxSum`; no binary fraction adds up.
 * 3.  What comes in with more digits is rounded up to the unit, so that no cost is lost; less than a thousandth of a
 *        unit is what binary fractions add (0.1 + 0.2), and is no cost.
 */
import { z } from "zod";

const unitsPerOne = 1_000_000;
const noise = 1e-3;

/** The largest amount that is taken: more is refused where it comes in. */
export const maxMoney = 1_000_000_000;
/** The largest sum that is exact; a counter is never let past it. */
export const maxSum = 2_000_000_000;

/** Returns an amount in whole units; exact for amounts of this contract. */
const toUnits = (amount: number): number => Math.round(amount * unitsPerOne);
const fromUnits = (units: number): number => units / unitsPerOne;

/** The smallest amount above 0. */
export const smallestMoney = fromUnits(1);

/** Rounds an amount that has more digits up to the unit. */
export function roundUpMoney(amount: number): number {
  const units = amount * unitsPerOne;
  const nearest = Math.round(units);
  return fromUnits(Math.abs(units - nearest) <= noise ? nearest : Math.ceil(units));
}

/** Returns the exact sum; with `sign` -1 the difference. */
export const addMoney = (a: number, b: number, sign: 1 | -1 = 1): number => fromUnits(toUnits(a) + sign * toUnits(b));

/** Returns the cost of so many pieces at a price for a million of each. */
export const priceOf = (...parts: readonly (readonly [pieces: number, perMillion: number])[]): number =>
  roundUpMoney(parts.reduce((sum, [pieces, perMillion]) => sum + pieces * perMillion, 0) / unitsPerOne);

/** An amount as it comes in: at least 0, at most `maxMoney`, rounded up to the unit. */
export const Money = z.number().nonnegative().max(maxMoney).overwrite(roundUpMoney);
