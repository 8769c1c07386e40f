/**
 * The reads: workflows, one workflow in its several views, open gates.
 *
 * 1.  Every read needs `outcome:read`, of the credential and of the role; T5 checks the latter.
 * 2.  A workflow of another tenant does not exist for the caller.
 * 3.  Lists are pages of summaries, newest first; `next` is the following cursor, null on the last page. The whole is
 *     read by its id.
 */
import { z } from "zod";
import { lists } from "../../../api/lists.ts";
import type { Offered, View } from "../../../api/operation.ts";
import { readScope, reads, views } from "../../../api/reads.ts";
import { type Caller, commandScopes, hasScope, withoutScopes } from "../../../contract/auth-context.ts";
import { GateId } from "../../../contract/ids.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { carryPayloadOnce } from "../../../contract/listed-gate.ts";
import { EventPage, type Gate, type GatePage, type ItemPage, type WorkflowPage } from "../../../index.ts";
import { pageEvents } from "../../../protocol/page-events.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import { type Call, type Edge, workflowOf, workflowPath } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";
import { atQuery, eventQuery, gateQuery, itemQuery, readCursor, workflowQuery } from "../read-query.ts";
import { type QueryOf, withLimit } from "./pages.ts";

const page = (schema: z.ZodType) => ({
  200: { description: "A page; `next` is the cursor of the one after it.", schema },
});

export function addReads(edge: Edge): void {
  const { kernel, options } = edge;
  const { maxPage } = options.limits;
  const list = { method: "get", needs: readScope } as const;
  addRoute(
    edge,
    {
      ...listRoute(lists.workflows),
      query: workflowQuery(maxPage),
    },
    async (call, query) => {
      const caller = await requireReader(call, edge);
      return answerJson(await listWorkflows(edge, caller, query));
    },
  );
  addRoute(
    edge,
    {
      ...listRoute(lists.gates),
      query: gateQuery(maxPage),
    },
    async (call, query) => {
      await requireReader(call, edge);
      return answerJson(await listGates(edge, call.get("caller"), query));
    },
  );
  addRoute(
    edge,
    {
      ...list,
      path: `${workflowPath}/events`,
      operation: "listEvents",
      summary: "A workflow's ledger events, in their order",
      query: eventQuery(maxPage),
      answers: page(EventPage),
    },
    async (call, query) => {
      const caller = await requireReader(call, edge);
      const { limit = maxPage } = query;
      const after = readCursor(call, query) ?? 0;
      return answerJson(await listEvents(edge, caller, { workflow_id: workflowOf(call), after, limit }));
    },
  );
  addGateRead(edge);
  addRoute(
    edge,
    { ...listRoute(reads.items), path: `${workflowPath}/${reads.items.word}`, query: itemQuery(maxPage) },
    async (call, query) =>
      answerJson(await listItems(edge, await requireReader(call, edge), { ...query, workflow_id: workflowOf(call) })),
  );
  for (const view of Object.values<View>(views))
    addRoute(edge, viewRoute(view), async (call, query) =>
      answerJson(await view.read(kernel, workflowOf(call), { caller: await requireReader(call, edge), ...query })),
    );
}

const listRoute = (list: Offered) => ({
  ...offer(list),
  method: "get" as const,
  path: `/v1/kernel/${list.word}`,
  answers: page(list.answer),
});

function viewRoute(view: View): Route {
  const { word, answer, takesAt = false } = view;
  const description = `As it stands now${takesAt ? ", or stood `at` a sequence" : ""}.`;
  return {
    ...offer(view),
    method: "get",
    path: word === views.workflow.word ? workflowPath : `${workflowPath}/${word}`,
    ...(takesAt && { query: atQuery }),
    answers: { 200: { description, schema: answer } },
  };
}

/** Returns the caller if they may read. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export function requireReader(call: Call, edge: Edge): Promise<Caller> {
  return requireMayRead(call.get("caller"), edge);
}

/** Returns the caller as the kernel takes it. @throws as `requireReader`. */
export async function requireMayRead(credential: HttpCaller, { kernel }: Edge): Promise<Caller> {
  requireCredentialScope(credential, readScope);
  const caller = withoutScopes(credential);
  await kernel.authorize(caller, readScope);
  return caller;
}

function addGateRead(edge: Edge): void {
  addRoute(
    edge,
    {
      ...offer(reads.gate),
      method: "get",
      path: `${workflowPath}/${reads.gate.word}/:gate_id`,
      params: z.object({ gate_id: GateId }),
      answers: { 200: { description: "As it stands now.", schema: reads.gate.answer } },
    },
    async (call) => {
      const caller = await requireReader(call, edge);
      const gate = await edge.kernel.gate(workflowOf(call), call.req.param("gate_id") ?? "", caller);
      return answerJson(withinScopes(gate, call.get("caller")));
    },
  );
}

/** Lists workflows. @throws KernelErrorException as the kernel does for a bad filter. */
export function listWorkflows(
  edge: Edge,
  caller: Caller,
  { state: states, ...rest }: QueryOf<typeof workflowQuery>,
): Promise<WorkflowPage> {
  const filter = { ...withLimit(edge, rest), ...(states !== undefined && { states }) };
  return lists.workflows.read(edge.kernel, filter, caller);
}

export async function listGates(
  edge: Edge,
  credential: HttpCaller,
  query: QueryOf<typeof gateQuery>,
): Promise<GatePage> {
  // A caller whose credential may not decide has no gates to decide, whatever the role may.
  if (query.mine === true) requireCredentialScope(credential, commandScopes.gate);
  const found = await lists.gates.read(edge.kernel, withLimit(edge, query), withoutScopes(credential));
  return { ...found, gates: found.gates.map((gate) => carryPayloadOnce(withinScopes(gate, credential))) };
}

/** Removes the seat if the credential may not decide, whatever seat its principal has. */
function withinScopes<G extends Gate>(gate: G, { scopes }: HttpCaller): G {
  if (gate.seat == null || scopes === undefined || hasScope(scopes, commandScopes.gate)) return gate;
  const reason = `the credential lacks the scope ${commandScopes.gate}`;
  return { ...gate, seat: { may: false, reason, for: null } };
}

/** Lists the items of a workflow. @throws KernelErrorException as the kernel does for a bad filter. */
export const listItems = (
  edge: Edge,
  caller: Caller,
  { workflow_id, ...query }: OfWorkflow<QueryOf<typeof itemQuery>>,
): Promise<ItemPage> => edge.kernel.items(workflow_id, withoutUnset(withLimit(edge, query)), caller);

type OfWorkflow<Query> = Query & { readonly workflow_id: string };

interface EventFilter {
  readonly workflow_id: string;
  readonly after: number;
  readonly limit: number;
}

export async function listEvents(
  { kernel, options }: Edge,
  caller: Caller,
  { workflow_id, after, limit }: EventFilter,
) {
  const found = kernel.events(workflow_id, { after, live: false }, caller);
  return { workflow_id, ...(await pageEvents(found, { limit, maxChars: options.limits.maxPageChars })) };
}
