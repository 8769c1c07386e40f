/**
 * Describes ceilings over workflows for people: each with the counters that it limits in this window.
 *
 * Owns: the reading of a counter's name. Never: charges; reservations for calls that have not begun are not shown.
 */
import {
  type BudgetStanding,
  type Charge,
  chargeFields,
  maxReportedCounters,
  noCharge,
  type ParsedBudgetLimit,
} from "../../../contract/budget.ts";
import { nameCounter, windowOf } from "./budget-limiter.ts";

type Id = string | number;

export interface CounterCharge {
  readonly counter: string;
  readonly amounts: Charge;
}

interface BudgetQuery {
  readonly tenant: Id;
  readonly charges: readonly CounterCharge[];
  /** Epoch ms. */
  readonly at: number;
}

/** Returns the ceilings that concern the tenant, in the order of the configuration. */
export const describeBudgets = (limits: readonly ParsedBudgetLimit[], asked: BudgetQuery): readonly BudgetStanding[] =>
  limits
    .filter(
      ({ tenant_id, scope, id }) =>
        (tenant_id ?? (scope === "tenant" ? id : undefined) ?? asked.tenant) === asked.tenant,
    )
    .map((limit) => describeBudget(limit, asked));

function describeBudget(limit: ParsedBudgetLimit, asked: BudgetQuery): BudgetStanding {
  const { scope, window, tenant_id: _, id: __, ...ceiling } = limit;
  const since = windowOf(window, asked.at);
  const counters = countersOf(limit, asked, since).toSorted((a, b) => shareOf(b, ceiling) - shareOf(a, ceiling));
  return {
    scope,
    window,
    since: since === "" ? null : since.slice(1),
    ceiling,
    counters: counters.slice(0, maxReportedCounters),
    more: Math.max(0, counters.length - maxReportedCounters),
  };
}

type Counter = BudgetStanding["counters"][number];

/** Returns the counters of a ceiling. One that was never charged is shown if the ceiling names its entity. */
function countersOf(
  { scope, id }: ParsedBudgetLimit,
  { tenant, charges }: BudgetQuery,
  since: string,
): readonly Counter[] {
  const only = scope === "tenant" ? tenant : id;
  const found = charges.flatMap(({ counter, amounts }): Counter[] => {
    const name = counter.slice(0, counter.length - since.length);
    if (!counter.endsWith(since) || !name.startsWith(scope)) return [];
    const whom = idIn(name.slice(scope.length), tenant);
    return whom === null || (only !== undefined && whom !== only) ? [] : [{ counter, id: whom, amounts }];
  });
  if (found.length > 0 || only === undefined) return found;
  return [{ counter: nameCounter(scope, only, since), id: only, amounts: noCharge }];
}

/**
 * Reads the id in a counter's name: `:"ann"` is ann, and an empty text the tenant itself; null for the counter of
 * another window.
 */
function idIn(rest: string, tenant: Id): Id | null {
  if (rest === "") return tenant;
  try {
    return rest.startsWith(":") ? (JSON.parse(rest.slice(1)) as Id) : null;
  } catch {
    return null;
  }
}

/** Returns how near to its ceiling, where it is nearest. */
const shareOf = ({ amounts }: Counter, ceiling: BudgetStanding["ceiling"]): number =>
  Math.max(0, ...chargeFields.map((field) => amounts[field] / (ceiling[field] ?? Number.POSITIVE_INFINITY)));
