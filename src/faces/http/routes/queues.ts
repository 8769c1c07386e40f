/** The read of queues: a page of those in which workflows of the tenant run or wait. */
import type { z } from "zod";
import { lists } from "../../../api/lists.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { addRoute, offer } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { queueQuery } from "../read-query.ts";
import { requireReader } from "./reads.ts";

/** The number of items on a page unless the query names one. */
const usualPage = 50;

/** Lists queues. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export function listQueues(
  { kernel, options }: Edge,
  caller: Caller,
  { limit = Math.min(usualPage, options.limits.maxPage), ...rest }: z.output<ReturnType<typeof queueQuery>>,
) {
  return lists.queues.read(kernel, { ...rest, limit }, caller);
}

export function addQueues(edge: Edge): void {
  addRoute(
    edge,
    {
      ...offer(lists.queues),
      method: "get",
      path: `/v1/kernel/${lists.queues.word}`,
      query: queueQuery(edge.options.limits.maxPage),
      answers: {
        200: { description: "A page; `next` is the cursor of the one after it.", schema: lists.queues.answer },
      },
    },
    async (call, query) => answerJson(await listQueues(edge, await requireReader(call, edge), query)),
  );
}
