/** The read of stand-ins: a page of the orders that hold, now or later. */
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { standInQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";
import { requireReader } from "./reads.ts";

/** Lists stand-ins. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export const listStandIns = (edge: Edge, caller: Caller, query: QueryOf<typeof standInQuery>) =>
  lists.standIns.read(edge.kernel, withLimit(edge, query), caller);

export function addStandIns(edge: Edge): void {
  addRoute(edge, pageRoute(lists.standIns, standInQuery(edge.options.limits.maxPage)), async (call, query) =>
    answerJson(await listStandIns(edge, await requireReader(call, edge), query)),
  );
}
