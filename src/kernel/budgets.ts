/** The list of budgets: the ceilings of this kernel beside what the tenant has used of them. */
import { type Caller, commandScopes } from "../contract/auth-context.ts";
import type { ParsedBudgets } from "../contract/budget.ts";
import { BudgetFilter, compareBudgets, type ListedBudget, readBudgetCursor } from "../contract/budget-page.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { readStrictly } from "../contract/known-keys.ts";
import type { ParsedModelRouting } from "../contract/model-route.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { CapabilityRegistry } from "../tiers/t5-ego/admission/capability-registry.ts";
import { describeBudgets } from "../tiers/t5-ego/admission/describe-budgets.ts";
import { tenantFor } from "./tenant-of-read.ts";

export interface BudgetReadParts {
  readonly store: Pick<LedgerStore, "chargesOf">;
  readonly gateway: Pick<Gateway, "authorize">;
  readonly clock: Clock;
  readonly capabilityRegistry: Pick<CapabilityRegistry, "entries">;
  readonly resolved: { readonly budgets: ParsedBudgets; readonly models: ParsedModelRouting };
}

const listRef = moduleRef(5, "budget", "list");

/** Lists the budgets of a tenant. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH, T5_AUTHZ_FORBIDDEN. */
export async function listBudgets(
  { store, gateway, clock, capabilityRegistry, resolved }: BudgetReadParts,
  raw: BudgetFilter = {},
  caller?: Caller,
): Promise<readonly ListedBudget[]> {
  const { tenant_id, scope, after, limit } = readStrictly(BudgetFilter, raw, { what: "filter", source: listRef });
  await gateway.authorize(caller, commandScopes.read);
  const tenant = tenantFor(tenant_id, caller, listRef);
  const from = after === undefined ? null : requireCursor(after);
  const charges = await store.chargesOf(tenant);
  const ceilings = { ...resolved, capabilities: capabilityRegistry.entries() };
  return describeBudgets(ceilings, { tenant, charges, at: clock.now() })
    .filter((budget) => scope === undefined || budget.scope === scope)
    .filter((budget) => from === null || compareBudgets(from, budget) < 0)
    .slice(0, limit);
}

function requireCursor(after: string) {
  const message = "after: it is no cursor of a budget; give what the page before it called next";
  return readBudgetCursor(after) ?? raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, listRef));
}
