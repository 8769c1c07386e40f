/**
 * The budget limiter: what tenants, principals, workflows and operators may use in all, over workflows and restarts.
 *
 * Owns: which counters a call touches, and whether it still fits. Never: counts what is in the ledger; the store does, in the
 * transaction that writes the event.
 * 1.  Nothing is charged by asking: a refusal leaves every counter as it was.
 * 2.  What is set aside counts at once, so that calls that ask at once never pass a ceiling together. What another process commits
 *     meanwhile the store sees, which holds the reservation to its ceilings again where it is written.
 * 3.  What was set aside and never begun is forgotten after a lease's time.
 * 4.  Counters are read where a call would not fit beside what is known of them, and where what was set aside for it could
 *     not be written.
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
  /** Sets the amounts aside under `hold`, or says what they would exceed; null when no ceiling concerns the call. */
  readonly reserve: (hold: string, who: ChargedTo, amounts: Charge) => Reserved | Promise<Reserved>;
  /** The start is in the ledger, or will not be: the counters alone say what is used. */
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
      // Whether the counters were read with or without what was let go meanwhile, nobody knows: they are read again.
      const reservation = setAside(counters, asking);
      if (reservation !== null) return reservation;
    }
  };
  return {
    isEmpty: limits.length === 0,
    reserve(hold, who, amounts) {
      const concerned = limits.flatMap((limit) => counterOf(limit, who));
      if (concerned.length === 0) return null;
      const asking = { hold, who, concerned, amounts };
      // What is asked for once more was not written: the store stands otherwise than is known here.
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

/** The first ceiling that the amounts would exceed, or null. */
function refuseAny(concerned: readonly Concerned[], standing: StandingOf, amounts: Charge): KernelError | null {
  for (const { counter, limit } of concerned) {
    const refusal = exceeds({ counter, limit, charged: standing(counter), amounts });
    if (refusal !== null) return refusal;
  }
  return null;
}

/** Several limits may be about one counter. */
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

/** The counter that a limit keeps for this call; none where it is about somebody or something else. */
function counterOf(limit: ParsedBudgetLimit, who: ChargedTo): readonly Concerned[] {
  const id = idIn(limit.scope, who);
  if (limit.id !== undefined && limit.id !== id) return [];
  if (limit.tenant_id !== undefined && limit.tenant_id !== who.tenant_id) return [];
  return [{ counter: nameCounter(limit.scope, id, windowOf(limit.window, who.at)), limit }];
}

/** A tenant's own counter is named for no id: counters are the tenant's. */
export const nameCounter = (scope: BudgetScope, id: Id, window: string): string =>
  `${scope === "tenant" ? scope : `${scope}:${JSON.stringify(id)}`}${window}`;

const idIn = (scope: BudgetScope, who: ChargedTo): Id => (scope === "tenant" ? who.tenant_id : who[scope]);

const windowLength = { total: 0, month: 7, day: 10, hour: 13 } as const;

/** The UTC window that the instant falls into, as the beginning of its ISO text. */
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
  const message = `the ${limit.scope} budget ${counter} has ${left} ${field} left of ${ceiling}; the call asks for ${amounts[field]}`;
  return kernelError("T5_BUDGET_EXHAUSTED", message, limiterRef, { detail: { kind: "scoped_budget", ...detail } });
}
