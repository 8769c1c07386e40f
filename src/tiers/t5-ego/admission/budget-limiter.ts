/**
 * The budget limiter: totals that tenants, principals, workflows and operators may use, over workflows and restarts.
 *
 * Owns: the counters that a call touches, and whether it still fits. Never: counts what is in the ledger; the store
 * does, in the transaction that writes the event.
 * 1.  Asking charges nothing: a refusal leaves every counter unchanged.
 * 2.  A reservation counts at once, so that simultaneous calls never exceed a ceiling together. The store, which sees
 *     the commits of other processes, checks the reservation against its ceilings again when it is written.
 * 3.  A reservation that is never used is dropped after a lease's time.
 * 4.  Counters are read if a call would not fit by their known values, and if its reservation could not be written.
 */
import {
  addCharge,
  type BoundReservation,
  type BudgetScope,
  type Ceiling,
  type Charge,
  fieldBeyond,
  lowerCeiling,
  maxSums,
  noCharge,
  type ParsedBudgetLimit,
} from "../../../contract/budget.ts";
import type { KernelError } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { instantText } from "../../../contract/instant.ts";
import type { ChargedTo } from "../../../contract/messages/t5.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { BudgetCounters, type BudgetCountersParts, type StandingOf } from "./budget-counters.ts";

type Id = string | number;

type Reserved = BoundReservation | KernelError | null;

export interface BudgetLimiter {
  /** Whether any ceiling is configured at all. */
  readonly isEmpty: boolean;
  /**
   * Reserves the amounts under `hold`, or returns the ceiling that they would exceed; null if no ceiling concerns the
   * call.
   */
  readonly reserve: (hold: string, who: ChargedTo, amounts: Charge) => Reserved | Promise<Reserved>;
  /** Releases a reservation: the start is in the ledger, or never will be, and the counters alone show the usage. */
  readonly release: (hold: string) => void;
}

export interface BudgetLimiterParts extends BudgetCountersParts {
  readonly limits: readonly ParsedBudgetLimit[];
}

const limiterRef = moduleRef(5, "budget", "reserve");

export function createBudgetLimiter({ limits, ...parts }: BudgetLimiterParts): BudgetLimiter {
  const counters = new BudgetCounters(parts);
  const setAsideAsRead = async (asking: Asking): Promise<BoundReservation | KernelError> => {
    const { who, concerned, amounts } = asking;
    for (;;) {
      const standing = await counters.read(who.tenant_id, namesOf(concerned));
      const refusal = refuseAny(concerned, standing, amounts);
      if (refusal !== null) return refusal;
      // It is unknown whether the read includes reservations released meanwhile, so the counters are read again.
      const reservation = setAside(counters, asking);
      if (reservation !== null) return reservation;
    }
  };
  return {
    isEmpty: limits.length === 0,
    reserve(hold, who, amounts) {
      const concerned = limits.flatMap((limit) => countersOf(limit, who));
      if (concerned.length === 0) return null;
      const asking = { hold, who, concerned, amounts };
      // A repeated request was not written: the store's values differ from the known ones.
      const isAgain = counters.drop(hold);
      return (isAgain ? null : setAside(counters, asking)) ?? setAsideAsRead(asking);
    },
    release: (hold) => counters.release(hold),
  };
}

interface Asking {
  /** Its name. */
  readonly hold: string;
  readonly who: ChargedTo;
  readonly concerned: readonly Concerned[];
  readonly amounts: Charge;
}

const namesOf = (concerned: readonly Concerned[]): readonly string[] => [
  ...new Set(concerned.map(({ counter }) => counter)),
];

/** Sets the amounts aside where they fit beside all that is known; null where they do not, or not all is known. */
function setAside(counters: BudgetCounters, { hold, who, concerned, amounts }: Asking): BoundReservation | null {
  const { tenant_id } = who;
  if (!concerned.every((one) => fits(one, counters.known(tenant_id, one.counter), amounts))) return null;
  const names = namesOf(concerned);
  const reservation = { counters: names, amounts, ceilings: names.map((name) => ceilingOf(concerned, name)) };
  counters.setAside(hold, tenant_id, reservation);
  return reservation;
}

const fits = ({ limit }: Concerned, charged: Charge | null, amounts: Charge): boolean =>
  charged !== null && fieldBeyond(limit as Ceiling, { charged, amounts }) === null;

/** Returns the first ceiling that the amounts would exceed, or null. */
function refuseAny(concerned: readonly Concerned[], standing: StandingOf, amounts: Charge): KernelError | null {
  for (const { counter, limit } of concerned) {
    const refusal = exceeds({ counter, limit, charged: standing(counter), amounts });
    if (refusal !== null) return refusal;
  }
  return null;
}

/** Returns the lowest of the limits on one counter. */
const ceilingOf = (concerned: readonly Concerned[], counter: string): Ceiling =>
  concerned
    .filter((one) => one.counter === counter)
    .map(
      ({ limit: { tokens, money, invocations, wall_ms } }): Ceiling =>
        ({ tokens, money, invocations, wall_ms }) as Ceiling,
    )
    .reduce(lowerCeiling);

interface Concerned {
  readonly counter: string;
  readonly limit: ParsedBudgetLimit;
}

/**
 * Returns the counters of a limit for this call: one, or of a limit on workflows one for each workflow above as well;
 * none if the limit concerns another entity.
 */
function countersOf(limit: ParsedBudgetLimit, who: ChargedTo): readonly Concerned[] {
  if (limit.tenant_id !== undefined && limit.tenant_id !== who.tenant_id) return [];
  return idsIn(limit.scope, who)
    .filter((id) => limit.id === undefined || limit.id === id)
    .map((id) => ({ counter: nameCounter(limit.scope, id, windowOf(limit.window, who.at)), limit }));
}

/** Returns a counter's name. A tenant's own counter has no id, because counters belong to the tenant. */
export const nameCounter = (scope: BudgetScope, id: Id, window: string): string =>
  `${scope === "tenant" ? scope : `${scope}:${JSON.stringify(id)}`}${window}`;

function idsIn(scope: BudgetScope, who: ChargedTo): readonly Id[] {
  if (scope === "tenant") return [who.tenant_id];
  return scope === "workflow" ? [who.workflow, ...who.above] : [who[scope]];
}

const windowLength = { total: 0, month: 7, day: 10, hour: 13 } as const;

/** Returns the UTC window of an instant, as the beginning of its ISO text. */
export function windowOf(window: ParsedBudgetLimit["window"], at: number): string {
  const length = windowLength[window];
  return length === 0 ? "" : `@${instantText(at).slice(0, length)}`;
}

interface Weighed extends Concerned {
  readonly charged: Charge;
  readonly amounts: Charge;
}

function exceeds({ counter, limit, charged, amounts }: Weighed): KernelError | null {
  const field = fieldBeyond(limit as Ceiling, { charged, amounts });
  if (field === null) return null;
  const ceiling = limit[field] ?? maxSums[field];
  const left = addCharge({ ...noCharge, [field]: ceiling }, charged, -1)[field];
  const detail = { counter, resource: field, limit: ceiling, charged: charged[field], attempted: amounts[field] };
  const message =
    `the ${limit.scope} budget ${counter} has ${left} ${field} left of ${ceiling}; the call asks for ` +
    `${amounts[field]}`;
  return kernelError("T5_BUDGET_EXHAUSTED", message, limiterRef, { detail: { kind: "scoped_budget", ...detail } });
}
