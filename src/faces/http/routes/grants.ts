/** The read of grants: a page of those that were given and not revoked. */
import type { z } from "zod";
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute, offer } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { grantQuery } from "../read-query.ts";
import { requireReader } from "./reads.ts";

/** The number of items on a page unless the query names one. */
const usualPage = 50;

/** Lists grants. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export function listGrants(
  { kernel, options }: Edge,
  caller: Caller,
  { limit = Math.min(usualPage, options.limits.maxPage), ...rest }: z.output<ReturnType<typeof grantQuery>>,
) {
  return lists.grants.read(kernel, { ...rest, limit }, caller);
}

export function addGrants(edge: Edge): void {
  addRoute(
    edge,
    {
      ...offer(lists.grants),
      method: "get",
      path: `/v1/kernel/${lists.grants.word}`,
      query: grantQuery(edge.options.limits.maxPage),
      answers: {
        200: { description: "A page; `next` is the cursor of the one after it.", schema: lists.grants.answer },
      },
    },
    async (call, query) => answerJson(await listGrants(edge, await requireReader(call, edge), query)),
  );
}
