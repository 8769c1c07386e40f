/** Pages of tasks: workflows of the caller's tenant, newest first, in the form of A2A. */

import { commandScopes } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { lastOfPage } from "../../../contract/list-filter.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { WorkflowStateName } from "../../../contract/progress.ts";
import { type AgentContext, requireGranted } from "../agent-context.ts";
import type { ParamsOf, TaskState } from "./a2a-messages.ts";
import { toTask } from "./task-view.ts";

/** The states of workflows among which tasks of a state are found. */
const statesOf: { readonly [S in TaskState]: readonly WorkflowStateName[] } = {
  TASK_STATE_SUBMITTED: ["accepted"],
  TASK_STATE_WORKING: ["planned", "running", "waiting", "waiting_for_user", "cancelling", "compensating"],
  TASK_STATE_INPUT_REQUIRED: ["waiting_for_user", "running", "cancelling"],
  TASK_STATE_AUTH_REQUIRED: ["waiting_for_user", "running", "cancelling"],
  TASK_STATE_COMPLETED: ["completed"],
  TASK_STATE_FAILED: ["failed"],
  TASK_STATE_CANCELED: ["cancelled"],
  TASK_STATE_REJECTED: ["failed", "cancelled"],
};

const listRef = moduleRef(0, "a2a", "list_tasks");
const usualSize = 50;

/**
 * Returns a page. With a status a page may have fewer tasks than were asked for, and `totalSize` counts all workflows
 * among which the status may occur.
 * @throws KernelErrorException T0_A2A_FILTER_REFUSED, T0_VALIDATION_SCHEMA_MISMATCH.
 */
export async function listTasks(context: AgentContext, params: ParamsOf<"ListTasks">): Promise<object> {
  const { contextId, status, pageToken, includeArtifacts, pageSize = usualSize } = params;
  if (params.statusTimestampAfter !== undefined)
    raise(kernelError("T0_A2A_FILTER_REFUSED", "tasks are not listed by the time of their status", listRef));
  const caller = await requireGranted(context, commandScopes.read);
  const limit = Math.min(pageSize, context.options.limits.maxPage);
  const filter = {
    limit,
    total: true,
    ...(contextId !== null && { thread_id: contextId }),
    ...(status !== "TASK_STATE_UNSPECIFIED" && { states: statesOf[status] }),
    ...(pageToken !== null && { after: pageToken }),
  };
  const found = await context.kernel.workflows(filter, caller);
  const tasks = [];
  for (const { workflow_id } of found) {
    const task = await toTask(context, await context.kernel.workflow(workflow_id, caller), includeArtifacts);
    if (status === "TASK_STATE_UNSPECIFIED" || task.status.state === status) tasks.push(task);
  }
  const last = lastOfPage(found, limit)?.workflow_id;
  return { tasks, nextPageToken: last ?? "", pageSize: limit, totalSize: found.total ?? tasks.length };
}
