/**
 * Describes the ceilings of a kernel for people: each with the counters that it limits in this window.
 *
 * Owns: the reading of a counter's name. Never: charges; reservations for calls that have not begun are not shown.
 */
import { type Charge, noCharge, type ParsedBudgetLimit, type ParsedBudgets } from "../../../contract/budget.ts";
import { compareBudgets, type ListedBudget, shareOf } from "../../../contract/budget-page.ts";
import { instantText } from "../../../contract/instant.ts";
import type { ParsedModelRouting } from "../../../contract/model-route.ts";
import type { CapabilityEntry } from "../../../contract/token.ts";
import { windowOf } from "./budget-limiter.ts";

type Id = string | number;

export interface CounterCharge {
  readonly counter: string;
  readonly amounts: Charge;
}

/** The ceilings that a kernel knows. */
export interface Ceilings {
  readonly budgets: ParsedBudgets;
  readonly models: Pick<ParsedModelRouting, "endpoints">;
  readonly capabilities: readonly Pick<CapabilityEntry, "name" | "limits">[];
}

export interface BudgetQuery {
  readonly tenant: Id;
  readonly charges: readonly CounterCharge[];
  /** Epoch ms. */
  readonly at: number;
}

/** Returns the budgets that concern the tenant, those nearest to their ceilings first. */
export function describeBudgets({ budgets, models, capabilities }: Ceilings, asked: BudgetQuery) {
  const shared = budgets.limits.flatMap((limit, position) =>
    concerns(limit, asked.tenant) ? describeBudget(limit, position, asked) : [],
  );
  const single = [
    ...describeOwn(budgets),
    ...capabilities.flatMap(({ name, limits }) => describeCapability(name, limits)),
    ...models.endpoints.flatMap(({ name, budget }) => (budget === undefined ? [] : [describeModel(name, budget)])),
  ].map((own, i): ListedBudget => ({ ...own, ...uncounted, position: budgets.limits.length + i }));
  return [...shared, ...single].toSorted(compareBudgets);
}

const concerns = ({ tenant_id, scope, id }: ParsedBudgetLimit, tenant: Id): boolean =>
  (tenant_id ?? (scope === "tenant" ? id : undefined) ?? tenant) === tenant;

function describeBudget(limit: ParsedBudgetLimit, position: number, asked: BudgetQuery): readonly ListedBudget[] {
  const { scope, window, tenant_id: _, id: __, ...ceiling } = limit;
  const when = describeWindow(window, asked.at);
  return countersOf(limit, asked).map(({ id, used }) => ({
    ...{ position, scope, id, window, ...when, ceiling, used, share: shareOf(used, ceiling) },
  }));
}

/** Returns when counting began and begins anew. */
function describeWindow(window: ParsedBudgetLimit["window"], at: number): Pick<ListedBudget, "since" | "resets_at"> {
  if (window === "total") return { since: null, resets_at: null };
  const now = new Date(at);
  const parts = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), now.getUTCHours()] as const;
  const [year, month, day, hour] = parts;
  const [since, next] = {
    month: [Date.UTC(year, month), Date.UTC(year, month + 1)] as const,
    day: [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)] as const,
    hour: [Date.UTC(year, month, day, hour), Date.UTC(year, month, day, hour + 1)] as const,
  }[window];
  return { since: instantText(since), resets_at: instantText(next) };
}

interface Counted {
  readonly id: Id | null;
  readonly used: Charge;
}

/** Returns the counters of a ceiling. One that was never charged stands for those that will be. */
function countersOf(
  { scope, id, window }: ParsedBudgetLimit,
  { tenant, charges, at }: BudgetQuery,
): readonly Counted[] {
  const only = scope === "tenant" ? tenant : id;
  const began = windowOf(window, at);
  const found = charges.flatMap(({ counter, amounts }): Counted[] => {
    const name = counter.slice(0, counter.length - began.length);
    if (!counter.endsWith(began) || !name.startsWith(scope)) return [];
    const whom = idIn(name.slice(scope.length), tenant);
    return whom === null || (only !== undefined && whom !== only) ? [] : [{ id: whom, used: amounts }];
  });
  return found.length > 0 ? found : [{ id: only ?? null, used: noCharge }];
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

type Single = Pick<ListedBudget, "scope" | "id" | "window" | "ceiling">;

const uncounted = Object.freeze({ since: null, resets_at: null, used: null, share: null });

/** Returns the ceilings that hold in each request, step and workflow. */
function describeOwn({ maxCost, perToken, governor }: ParsedBudgets): readonly Single[] {
  const inAll = withoutNull(governor);
  return [
    ...(maxCost === null ? [] : [{ scope: "request", id: null, window: "run", ceiling: { cost: maxCost } } as const]),
    ...(perToken === null ? [] : [{ scope: "step", id: null, window: "run", ceiling: { cost: perToken } } as const]),
    ...(Object.keys(inAll).length === 0
      ? []
      : [{ scope: "workflow", id: null, window: "run", ceiling: inAll } as const]),
  ];
}

/** Returns the ceiling on what each workflow asks of an operator or a capability, if it has one. */
function describeCapability(name: string, { max_invocations, max_tokens }: CapabilityEntry["limits"]): Single[] {
  const ceiling = withoutNull({ invocations: max_invocations, tokens: max_tokens });
  return Object.keys(ceiling).length === 0 ? [] : [{ scope: "operator", id: name, window: "run", ceiling }];
}

type ModelBudget = NonNullable<ParsedModelRouting["endpoints"][number]["budget"]>;

/** Returns the ceiling of a model, which all tenants share, so that none reads how much is used of it. */
function describeModel(name: string, { max_tokens, max_money, max_invocations }: ModelBudget): Single {
  const ceiling = withoutNull({ tokens: max_tokens, money: max_money, invocations: max_invocations });
  return { scope: "model", id: name, window: "total", ceiling };
}

type Amounts = Readonly<Record<string, number | null | undefined>>;

const withoutNull = (amounts: Amounts): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(amounts).flatMap(([name, most]) => (most == null ? [] : [[name, most] as const])));
