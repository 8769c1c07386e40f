/**
 * What callers may read: workflows, one workflow in its several views, open gates.
 *
 * R1  Every read needs `outcome:read`, of the credential and of the role; T5 says the latter.
 * R2  A workflow of another tenant is one that is not there.
 * R3  Lists are pages in the order of ids, which is that of creation; `next` goes on, null says that this was all.
 */
import type { Kernel, LedgerEvent } from "../../index.ts";
import { answerJson } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import { type Call, type Edge, workflowOf, workflowPath } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";
import { readAfter, readFilter, readLimit, readSequence } from "../read-query.ts";

type View = (kernel: Kernel, workflowId: string, caller: HttpCaller) => Promise<object>;

const views: Readonly<Record<string, View>> = {
  [workflowPath]: (kernel, id, caller) => kernel.workflow(id, caller),
  [`${workflowPath}/outcomes`]: (kernel, id, caller) => kernel.outcomes(id, caller),
  [`${workflowPath}/trace`]: (kernel, id, caller) => kernel.trace(id, caller),
  [`${workflowPath}/explain`]: (kernel, id, caller) => kernel.explain(id, caller),
};

export function addReads(edge: Edge): void {
  const { app, kernel } = edge;
  app.get("/v1/kernel/workflows", (call) => listWorkflows(call, edge));
  app.get("/v1/kernel/gates", (call) => listGates(call, edge));
  app.get(`${workflowPath}/events`, (call) => listEvents(call, edge));
  for (const [path, view] of Object.entries(views))
    app.get(path, async (call) => answerJson(await view(kernel, workflowOf(call), await requireReader(call, edge))));
}

/** The caller, if they may read. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_AUTHN_FAILED. */
export async function requireReader(call: Call, { kernel }: Edge): Promise<HttpCaller> {
  const caller = call.get("caller");
  requireCredentialScope(caller, "outcome:read");
  await kernel.authorize(caller, "outcome:read");
  return caller;
}

async function listWorkflows(call: Call, edge: Edge): Promise<Response> {
  const caller = await requireReader(call, edge);
  const limit = readLimit(call, edge.options.limits.maxPage);
  const workflows = await edge.kernel.workflows({ ...readFilter(call), limit }, caller);
  return answerJson({ workflows, next: workflows.length < limit ? null : workflows.at(-1)?.workflow_id });
}

async function listGates(call: Call, edge: Edge): Promise<Response> {
  const caller = await requireReader(call, edge);
  const limit = readLimit(call, edge.options.limits.maxPage);
  const workflow_id = call.req.query("workflow_id");
  const filter = { ...(workflow_id !== undefined && { workflow_id }), ...readAfter(call), limit };
  const gates = await edge.kernel.gates(filter, caller);
  const last = gates.at(-1);
  const next = last === undefined || gates.length < limit ? null : `${last.workflow_id}/${last.gate_id}`;
  return answerJson({ gates, next });
}

async function listEvents(call: Call, edge: Edge): Promise<Response> {
  const caller = await requireReader(call, edge);
  const limit = readLimit(call, edge.options.limits.maxPage, edge.options.limits.maxPage);
  const after = readSequence(call);
  const events: LedgerEvent[] = [];
  for await (const event of edge.kernel.events(workflowOf(call), { after, live: false }, caller)) {
    events.push(event);
    if (events.length === limit) break;
  }
  const next = events.length < limit ? null : events.at(-1)?.sequence;
  return answerJson({ workflow_id: workflowOf(call), events, next });
}
