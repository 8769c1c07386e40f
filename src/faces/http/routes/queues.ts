/** The read of queues: a page of those in which workflows of the tenant run or wait. */
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { queueQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";
import { requireReader } from "./reads.ts";

/** Lists queues. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export const listQueues = (edge: Edge, caller: Caller, query: QueryOf<typeof queueQuery>) =>
  lists.queues.read(edge.kernel, withLimit(edge, query), caller);

export function addQueues(edge: Edge): void {
  addRoute(edge, pageRoute(lists.queues, queueQuery(edge.options.limits.maxPage)), async (call, query) =>
    answerJson(await listQueues(edge, await requireReader(call, edge), query)),
  );
}
