/** The read of the history of decisions. */
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { decisionQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";
import { requireReader } from "./reads.ts";

/** Lists decisions. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export const listDecisions = (edge: Edge, caller: Caller, query: QueryOf<typeof decisionQuery>) =>
  lists.decisions.read(edge.kernel, withLimit(edge, query), caller);

export function addDecisions(edge: Edge): void {
  addRoute(edge, pageRoute(lists.decisions, decisionQuery(edge.options.limits.maxPage)), async (call, query) =>
    answerJson(await listDecisions(edge, await requireReader(call, edge), query)),
  );
}
