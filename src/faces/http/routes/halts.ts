/** The halts of the tenant that hold, with how much each holds. */
import { reads } from "../../../api/reads.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { requireReader } from "./reads.ts";

const haltsRoute: Route = {
  method: "get",
  path: `/v1/kernel/${reads.halts.word}`,
  ...offer(reads.halts),
  answers: { 200: { description: "Those that hold, oldest first.", schema: reads.halts.answer } },
};

export function addHalts(edge: Edge): void {
  addRoute(edge, haltsRoute, async (call) => {
    const caller = await requireReader(call, edge);
    return answerJson({ halts: await edge.kernel.halts(caller.tenant_id, caller) });
  });
}
