/** The read of budgets: a page of the ceilings of the kernel, with the usage of the tenant's work. */
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { budgetQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";
import { requireReader } from "./reads.ts";

/** Lists budgets. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export const listBudgets = (edge: Edge, caller: Caller, query: QueryOf<typeof budgetQuery>) =>
  lists.budgets.read(edge.kernel, withLimit(edge, query), caller);

export function addBudgets(edge: Edge): void {
  addRoute(edge, pageRoute(lists.budgets, budgetQuery(edge.options.limits.maxPage)), async (call, query) =>
    answerJson(await listBudgets(edge, await requireReader(call, edge), query)),
  );
}
