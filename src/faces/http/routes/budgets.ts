/** The usage of the tenant's work, with the ceilings of this kernel. */
import { tokens } from "../../../api/reads.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { requireReader } from "./reads.ts";

const budgetsRoute: Route = {
  method: "get",
  path: `/v1/kernel/${tokens.budgets.word}`,
  ...offer(tokens.budgets),
  answers: {
    200: {
      description: "Those that concern the tenant, in the order in which they are configured.",
      schema: tokens.budgets.answer,
    },
  },
};

export function addBudgets(edge: Edge): void {
  addRoute(edge, budgetsRoute, async (call) => {
    const caller = await requireReader(call, edge);
    return answerJson({ budgets: await edge.kernel.tokens.budgets(caller.tenant_id, caller) });
  });
}
