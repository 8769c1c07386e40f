/** The token view of a kernel. */
import type { Caller } from "../contract/auth-context.ts";
import type { Charge } from "../contract/budget.ts";
import type { CapabilityEntry, GovernorUsage, TokenEvent } from "../contract/token.ts";

/** The token view: projections of the ledger, with the ceilings of this kernel. */
export interface KernelTokens {
  /** The events of its tokens, in order. */
  readonly events: (workflowId: string, caller?: Caller) => Promise<readonly TokenEvent[]>;
  /** The same, one event a line. */
  readonly toJsonl: (workflowId: string, caller?: Caller) => Promise<string>;
  /** Returns registered names with their handles and ceilings; with a workflow, also its usage of each. */
  readonly capabilities: (workflowId?: string, caller?: Caller) => Promise<readonly CapabilityEntry[]>;
  /** The amounts that its calls have asked for in all, and the ceilings. */
  readonly governor: (workflowId: string, caller?: Caller) => Promise<GovernorUsage>;
  /** The state of the budgets over workflows, by counter. */
  readonly charges: (
    tenantId: string | number,
    caller?: Caller,
  ) => Promise<readonly { readonly counter: string; readonly amounts: Charge }[]>;
}
