/**
 * The methods of JSON-RPC: the same calls as the addresses, made of the same catalogue.
 *
 * 1.  A method on a workflow names it as `workflow_id`; the other `params` are the members of the body or the query.
 * 2.  A method requires the scope of its address before it reads or does anything.
 */
import { z } from "zod";
import { kernelCommands, submit, workflowCommands } from "../../api/commands.ts";
import { lists } from "../../api/lists.ts";
import type { View } from "../../api/operation.ts";
import { readScope, reads, views } from "../../api/reads.ts";
import { scheduleList, scheduleRead } from "../../api/schedules.ts";
import type { Caller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { PrincipalId, ThreadId } from "../../contract/ids.ts";
import type { JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { ScheduleName } from "../../contract/schedule.ts";
import type { Edge } from "./edge.ts";
import type { HttpCaller } from "./http-options.ts";
import { inNameOf, runCommand, runSubmit, submitInNameOf } from "./kernel-commands.ts";
import {
  atQuery,
  budgetQuery,
  decisionQuery,
  eventQuery,
  gateQuery,
  grantQuery,
  itemQuery,
  queueQuery,
  scheduleHistoryQuery,
  scheduleQuery,
  standInQuery,
  workflowQuery,
} from "./read-query.ts";
import { listBudgets } from "./routes/budgets.ts";
import { listDecisions } from "./routes/decisions.ts";
import { listGrants } from "./routes/grants.ts";
import { listQueues } from "./routes/queues.ts";
import { listEvents, listGates, listItems, listWorkflows, requireMayRead } from "./routes/reads.ts";
import { listSchedules, readSchedule } from "./routes/schedules.ts";
import { listStandIns } from "./routes/stand-ins.ts";

/** The caller, the request's id, and the signal that aborts when the client has disconnected. */
export interface Asker {
  readonly caller: HttpCaller;
  readonly trace: string;
  readonly gone: AbortSignal;
}

export interface RpcMethod {
  readonly needs: string;
  readonly run: (edge: Edge, params: JsonObject, asker: Asker) => Promise<object>;
}

const rpcRef = moduleRef(0, "http", "rpc");

const submitMethod: RpcMethod = {
  needs: submit.scope,
  run: async ({ kernel }, params, { caller, trace, gone }) =>
    runSubmit(kernel, submitInNameOf(caller, params, trace), gone),
};

const kernelMethods = Object.values(kernelCommands).map((command) => {
  const { word, scope } = command;
  const run: RpcMethod["run"] = async ({ kernel }, params, { caller }) =>
    command.run(kernel, inNameOf(caller, scope, params));
  return [`kernel/${word}`, { needs: scope, run }] as const;
});

const commandMethods = Object.values(workflowCommands).map((command) => {
  const { word, scope } = command;
  const run: RpcMethod["run"] = async ({ kernel }, params, { caller }) => {
    const { workflowId, body } = takeWorkflow(params);
    return runCommand(kernel, command, { workflowId, body: inNameOf(caller, scope, body) });
  };
  return [`kernel/${word}`, { needs: scope, run }] as const;
});

/** A caller who may read, in the kernel's form and with the scopes of their credential. */
interface Reader {
  readonly caller: Caller;
  readonly credential: HttpCaller;
}
type Read = (edge: Edge, reader: Reader, params: JsonObject) => Promise<object>;

const reading = (read: Read): RpcMethod => ({
  needs: readScope,
  run: async (edge, params, { caller: credential }) =>
    edge.reads.run(credential, async () =>
      read(edge, { caller: await requireMayRead(credential, edge), credential }, params),
    ),
});

/** `kernel/workflow`, `kernel/outcomes`, `kernel/trace`, `kernel/explain`, `kernel/audit`, `kernel/verify`. */
const viewMethods = Object.values<View>(views).map(({ word, read, takesAt = false }) => {
  const query = takesAt ? atQuery : z.object({});
  const view = reading(async ({ kernel }, { caller }, params) => {
    const { workflowId, body } = takeWorkflow(params);
    return read(kernel, workflowId, { caller, ...takeParams(query, body) });
  });
  return [`kernel/${word}`, view] as const;
});

const listMethods: Readonly<Record<string, RpcMethod>> = {
  [`kernel/${lists.workflows.word}`]: reading((edge, { caller }, params) => {
    const query = workflowQuery(edge.options.limits.maxPage).extend({
      thread_id: ThreadId.optional(),
      principal: PrincipalId.optional(),
    });
    return listWorkflows(edge, caller, takeParams(query, params));
  }),
  [`kernel/${lists.gates.word}`]: reading((edge, { credential }, params) =>
    listGates(edge, credential, takeParams(gateQuery(edge.options.limits.maxPage), params)),
  ),
  [`kernel/${reads.items.word}`]: reading((edge, { caller }, params) => {
    const { workflowId, body } = takeWorkflow(params);
    return listItems(edge, caller, {
      ...takeParams(itemQuery(edge.options.limits.maxPage), body),
      workflow_id: workflowId,
    });
  }),
  [`kernel/${lists.decisions.word}`]: reading((edge, { caller }, params) =>
    listDecisions(edge, caller, takeParams(decisionQuery(edge.options.limits.maxPage), params)),
  ),
  [`kernel/${lists.grants.word}`]: reading((edge, { caller }, params) =>
    listGrants(edge, caller, takeParams(grantQuery(edge.options.limits.maxPage), params)),
  ),
  [`kernel/${lists.standIns.word}`]: reading((edge, { caller }, params) =>
    listStandIns(edge, caller, takeParams(standInQuery(edge.options.limits.maxPage), params)),
  ),
  [`kernel/${lists.queues.word}`]: reading((edge, { caller }, params) =>
    listQueues(edge, caller, takeParams(queueQuery(edge.options.limits.maxPage), params)),
  ),
  [`kernel/${lists.budgets.word}`]: reading((edge, { caller }, params) =>
    listBudgets(edge, caller, takeParams(budgetQuery(edge.options.limits.maxPage), params)),
  ),
  "kernel/events": reading((edge, { caller }, params) => {
    const { maxPage } = edge.options.limits;
    const { workflowId, body } = takeWorkflow(params);
    const { after = 0, limit = maxPage } = takeParams(eventQuery(maxPage), body);
    return listEvents(edge, caller, { workflow_id: workflowId, after, limit });
  }),
};

const scheduleMethods: Readonly<Record<string, RpcMethod>> = {
  [`kernel/${scheduleList.word}`]: {
    needs: scheduleList.scope,
    run: async (edge, params, { caller }) =>
      listSchedules(edge, caller, takeParams(scheduleQuery(edge.options.limits.maxPage), params)),
  },
  [`kernel/${scheduleRead.word}`]: {
    needs: scheduleRead.scope,
    run: async (edge, params, { caller }) => {
      const query = scheduleHistoryQuery(edge.options.limits.maxPage).extend({ name: ScheduleName });
      return readSchedule(edge, caller, takeParams(query, params));
    },
  },
};

const haltsMethod = reading(async ({ kernel }, { caller }, params) => {
  takeParams(z.object({}), params);
  return { halts: await kernel.halts(caller.tenant_id, caller) };
});

export const rpcMethods: ReadonlyMap<string, RpcMethod> = new Map([
  [`kernel/${submit.word}`, submitMethod],
  ...kernelMethods,
  ...commandMethods,
  [`kernel/${reads.halts.word}`, haltsMethod],
  ...viewMethods,
  ...Object.entries(listMethods),
  ...Object.entries(scheduleMethods),
]);

function takeWorkflow({ workflow_id: workflowId, ...body }: JsonObject) {
  if (typeof workflowId === "string") return { workflowId, body };
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "params.workflow_id is the workflow's id", rpcRef));
}

/** Reads params; unknown ones are refused as in a query. */
function takeParams<S extends z.ZodObject>(schema: S, params: JsonObject): z.output<S> {
  return readRequest(schema.strict(), params, { what: "params", source: rpcRef, at: ["params"] }) as z.output<S>;
}
