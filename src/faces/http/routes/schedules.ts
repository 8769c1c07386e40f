/** The reads of schedules: a page of them, and one with its history. */
import { z } from "zod";
import { scheduleList, scheduleRead } from "../../../api/schedules.ts";
import { withoutScopes } from "../../../contract/auth-context.ts";
import { ScheduleName } from "../../../contract/schedule.ts";
import { addRoute, offer } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import type { Edge } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";
import { scheduleHistoryQuery, scheduleQuery } from "../read-query.ts";
import { pageRoute, type QueryOf, withLimit } from "./pages.ts";

/** Lists schedules. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export function listSchedules(edge: Edge, credential: HttpCaller, query: QueryOf<typeof scheduleQuery>) {
  requireCredentialScope(credential, scheduleList.scope);
  return scheduleList.read(edge.kernel, withLimit(edge, query), withoutScopes(credential));
}

/** Reads one schedule. @throws KernelErrorException T7_SCHEDULE_NOT_FOUND, and as `listSchedules`. */
export function readSchedule(
  edge: Edge,
  credential: HttpCaller,
  asked: QueryOf<typeof scheduleHistoryQuery> & { readonly name: string },
) {
  requireCredentialScope(credential, scheduleRead.scope);
  return scheduleRead.read(edge.kernel, withLimit(edge, asked), withoutScopes(credential));
}

export function addSchedules(edge: Edge): void {
  const { maxPage } = edge.options.limits;
  addRoute(edge, pageRoute(scheduleList, scheduleQuery(maxPage)), async (call, query) =>
    answerJson(await listSchedules(edge, call.get("caller"), query)),
  );
  addRoute(
    edge,
    {
      ...offer(scheduleRead),
      method: "get",
      path: `/v1/kernel/${scheduleList.word}/:name`,
      params: z.object({ name: ScheduleName }),
      query: scheduleHistoryQuery(maxPage),
      answers: { 200: { description: "As it stands now, and a page of its history.", schema: scheduleRead.answer } },
    },
    async (call, query) => {
      const name = call.req.param("name") ?? "";
      return answerJson(await readSchedule(edge, call.get("caller"), { ...query, name }));
    },
  );
}
