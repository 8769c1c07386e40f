/** What the tenant's work has used, against the ceilings that this kernel has. */
import { z } from "zod";
import { readScope } from "../../../api/reads.ts";
import { BudgetStanding } from "../../../contract/budget.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { requireReader } from "./reads.ts";

const budgetsRoute: Route = {
  method: "get",
  path: "/v1/kernel/budgets",
  operation: "listBudgets",
  summary: "The ceilings over workflows, and how near to them their counters are",
  needs: readScope,
  answers: {
    200: {
      description: "Those that concern the tenant, in the order in which they are configured.",
      schema: z.object({ budgets: z.array(BudgetStanding) }),
    },
  },
};

export function addBudgets(edge: Edge): void {
  addRoute(edge, budgetsRoute, async (call) => {
    const caller = await requireReader(call, edge);
    return answerJson({ budgets: await edge.kernel.tokens.budgets(caller.tenant_id, caller) });
  });
}
