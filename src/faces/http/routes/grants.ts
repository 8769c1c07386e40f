/** The read of grants: a page of those that were given and not revoked. */
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { grantQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";
import { requireReader } from "./reads.ts";

/** Lists grants. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export const listGrants = (edge: Edge, caller: Caller, query: QueryOf<typeof grantQuery>) =>
  lists.grants.read(edge.kernel, withLimit(edge, query), caller);

export function addGrants(edge: Edge): void {
  addRoute(edge, pageRoute(lists.grants, grantQuery(edge.options.limits.maxPage)), async (call, query) =>
    answerJson(await listGrants(edge, await requireReader(call, edge), query)),
  );
}
