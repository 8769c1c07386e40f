/**
 * The lists: operations that read a page of the caller's workflows, gates or decisions, newest first, of its queues by
 * name, of its budgets by what is used, or of the grants and stand-ins of its people by age.
 */
import { z } from "zod";
import { Caller } from "../contract/auth-context.ts";
import { BudgetFilter, BudgetPage, budgetCursor } from "../contract/budget-page.ts";
import { DecisionFilter, DecisionPage, decisionCursor } from "../contract/decision.ts";
import { GrantFilter, GrantPage } from "../contract/grant-orders.ts";
import { GateFilter, lastOfPage, WorkflowFilter } from "../contract/list-filter.ts";
import { GatePage, gateCursor, WorkflowPage } from "../contract/page.ts";
import { lineOf } from "../contract/queue.ts";
import { QueueFilter, QueuePage } from "../contract/queue-page.ts";
import { StandInFilter, StandInPage } from "../contract/stand-in-orders.ts";
import type { Listed } from "../contract/workflow-summary.ts";
import { type List, promised } from "./operation.ts";
import { readScope } from "./reads.ts";

/** The method reads the filter with the same schema. */
const listed = promised({ filter: z.unknown(), caller: Caller.optional() });

/** Returns the cursor of the next page, null after the last one; and `total` if the filter asks for it. */
function endOf<T>(found: Listed<T>, limit: number, cursorOf: (item: T) => string) {
  const last = lastOfPage(found, limit);
  const { total } = found;
  return { next: last === undefined ? null : cursorOf(last), ...(total !== undefined && { total }) };
}

export const lists: {
  readonly workflows: List<typeof WorkflowFilter, WorkflowPage>;
  readonly gates: List<typeof GateFilter, GatePage>;
  readonly decisions: List<typeof DecisionFilter, DecisionPage>;
  readonly grants: List<typeof GrantFilter, GrantPage>;
  readonly standIns: List<typeof StandInFilter, StandInPage>;
  readonly queues: List<typeof QueueFilter, QueuePage>;
  readonly budgets: List<typeof BudgetFilter, BudgetPage>;
} = {
  workflows: {
    ...listed,
    id: "listWorkflows",
    word: "workflows",
    summary: "Summaries of the tenant's workflows, newest first, or in another order",
    scope: readScope,
    filter: WorkflowFilter,
    answer: WorkflowPage,
    read: async (kernel, filter, caller) => {
      const workflows = await kernel.workflows(filter, caller);
      return { workflows: [...workflows], ...endOf(workflows, filter.limit, ({ workflow_id }) => workflow_id) };
    },
  },
  gates: {
    ...listed,
    id: "listGates",
    word: "gates",
    summary:
      "What waits for a person, of the newest workflow first; cut where `truncated`, of one workflow with the " +
      "payload in full",
    scope: readScope,
    filter: GateFilter,
    answer: GatePage,
    read: async (kernel, filter, caller) => {
      const gates = await kernel.gates(filter, caller);
      return { gates: [...gates], ...endOf(gates, filter.limit, (gate) => gateCursor(gate, filter.sort)) };
    },
  },
  decisions: {
    ...listed,
    id: "listDecisions",
    word: "decision-history",
    summary: "What people of the tenant have decided at gates, newest first, or in another order",
    scope: readScope,
    filter: DecisionFilter,
    answer: DecisionPage,
    read: async (kernel, filter, caller) => {
      const decisions = await kernel.decisions(filter, caller);
      return { decisions: [...decisions], ...endOf(decisions, filter.limit, decisionCursor) };
    },
  },
  grants: {
    ...listed,
    id: "listGrants",
    word: "grants",
    summary: "What people of the tenant have approved ahead, in the order in which they did, with what was used of it",
    scope: readScope,
    filter: GrantFilter,
    answer: GrantPage,
    read: async (kernel, filter, caller) => {
      const grants = await kernel.grants(filter, caller);
      return { grants: [...grants], ...endOf(grants, filter.limit, ({ grant_id }) => grant_id) };
    },
  },
  standIns: {
    ...listed,
    id: "listStandIns",
    word: "stand-ins",
    summary: "Who of the tenant is away, now or later, and who stands in for them, in the order of the orders",
    scope: readScope,
    filter: StandInFilter,
    answer: StandInPage,
    read: async (kernel, filter, caller) => {
      const orders = await kernel.standIns(filter, caller);
      return { stand_ins: [...orders], ...endOf(orders, filter.limit, ({ stand_in_id }) => stand_in_id) };
    },
  },
  queues: {
    ...listed,
    id: "listQueues",
    word: "queues",
    summary: "The queues in which workflows of the tenant run or wait, by name and key, with how many do",
    scope: readScope,
    filter: QueueFilter,
    answer: QueuePage,
    read: async (kernel, filter, caller) => {
      const queues = await kernel.queues(filter, caller);
      return { queues: [...queues], ...endOf(queues, filter.limit, lineOf) };
    },
  },
  budgets: {
    ...listed,
    id: "listBudgets",
    word: "budgets",
    summary: "The ceilings of the kernel with what the tenant has used of each, the nearest to its ceiling first",
    scope: readScope,
    filter: BudgetFilter,
    answer: BudgetPage,
    read: async (kernel, filter, caller) => {
      const budgets = await kernel.budgets(filter, caller);
      return { budgets: [...budgets], ...endOf(budgets, filter.limit, budgetCursor) };
    },
  },
};
