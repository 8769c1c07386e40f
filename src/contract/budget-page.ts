/**
 * Lists of budgets: each configured ceiling with the counters that it limits, and how near to it they are.
 *
 * 1.  The order is that of the share that is used, the largest first; then that of the configuration, then of the ids.
 * 2.  Ceilings that hold in each workflow by itself have no counter over workflows; they come last, without a share.
 */
import { z } from "zod";
import { budgetScopes, Charge, chargeFields, noCharge } from "./budget.ts";
import { TenantId } from "./ids.ts";

/** The scopes of a listed ceiling: those of ceilings over workflows, then those that are counted in each by itself. */
export const listedScopes = [...budgetScopes, "request", "step", "model"] as const;

/** The periods of a listed ceiling, in UTC; `run` is counted in each workflow anew, and `total` never begins again. */
export const listedWindows = ["total", "month", "day", "hour", "run"] as const;

/** The filter of a list of budgets. */
export const BudgetFilter = z.strictObject({
  /** The tenant whose usage is shown; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** The scope of the ceilings; all of them by default. */
  scope: z.enum(listedScopes).optional().describe("The scope of the ceilings; all of them by default."),
  /** The cursor: budgets after this one. */
  after: z.string().max(4096).optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type BudgetFilter = z.input<typeof BudgetFilter>;

const most = z.number().nonnegative().optional();

/** A configured ceiling, and one counter that it limits in this window. */
export const ListedBudget = z.object({
  /** The place of the ceiling in the configuration of the kernel, from 0. */
  position: z.int().nonnegative(),
  scope: z.enum(listedScopes),
  /** The tenant, principal, workflow, operator or model that is counted; null for each, where none has been yet. */
  id: z.union([z.string(), z.int()]).nullable(),
  window: z.enum(listedWindows),
  /** The ISO instant at which counting began anew; null if it never does. */
  since: z.iso.datetime().nullable(),
  /** The ISO instant at which it will begin anew; null if it never does. */
  resets_at: z.iso.datetime().nullable(),
  /** The ceilings; fields that are left out have none. `cost` is in the host's abstract units. */
  ceiling: z.object({
    ...{ tokens: most, money: most, invocations: most, wall_ms: most },
    ...{ cost: most, cpu_time: most, memory_bytes: most, network_bytes: most },
  }),
  /** The amounts that are used or set aside; null if each workflow counts them by itself, or all tenants together. */
  used: Charge.nullable(),
  /** The used part of the ceiling that is nearest: 1 and more if nothing is left; null as `used` is. */
  share: z.number().nonnegative().nullable(),
});
export type ListedBudget = z.infer<typeof ListedBudget>;

/** A page of budgets; `next` is the cursor of the following page, null on the last one. */
export const BudgetPage = z.object({ budgets: z.array(ListedBudget), next: z.string().nullable() });
export type BudgetPage = z.infer<typeof BudgetPage>;

/** Returns the used part of a ceiling, where it is nearest. Of a ceiling of 0 nothing is left. */
export function shareOf(used: Charge = noCharge, ceiling: ListedBudget["ceiling"] = {}): number {
  const shares = chargeFields.map((field) => {
    const most = ceiling[field];
    if (most === undefined) return 0;
    return most === 0 ? 1 : used[field] / most;
  });
  return Math.max(...shares);
}

type Placed = Pick<ListedBudget, "share" | "position" | "id">;

/** Returns the cursor of a budget: `<share>/<position>/<id as JSON>`. */
export const budgetCursor = ({ share, position, id }: Placed): string =>
  `${share ?? -1}/${position}/${JSON.stringify(id)}`;

/** Reads a cursor; null for a text that is none. */
export function readBudgetCursor(text: string): Placed | null {
  const [, share = "", position, id = ""] = /^(-1|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\/(\d{1,9})\/(.+)$/s.exec(text) ?? [];
  if (position === undefined) return null;
  try {
    const named = ListedBudget.shape.id.parse(JSON.parse(id));
    return { share: share === "-1" ? null : Number(share), position: Number(position), id: named };
  } catch {
    return null;
  }
}

/** Compares two budgets by their place in a list. */
export function compareBudgets(a: Placed, b: Placed): number {
  const [left, right] = [JSON.stringify(a.id), JSON.stringify(b.id)];
  return (b.share ?? -1) - (a.share ?? -1) || a.position - b.position || (left < right ? -1 : Number(left > right));
}
