/** The tool of queues: who runs and who waits. */
import { z } from "zod";
import { kernelCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { requireGranted } from "../mcp-context.ts";
import { type McpTool, structured } from "./tool.ts";
import { kernelTool, makeTool, readsOnly } from "./workflow-tools.ts";

const listQueues = makeTool({
  operation: lists.queues,
  title: "List queues",
  description: "This tenant's queues by name and key: their limit, how many run and wait, since when the oldest waits.",
  annotations: readsOnly,
  input: lists.queues.filter.omit({ tenant_id: true }).extend({ limit: z.int().min(1).max(100).default(20) }),
  async run(context, { limit, ...filter }) {
    const caller = await requireGranted(context, lists.queues.scope);
    return structured(await lists.queues.read(context.kernel, { ...withoutUnset(filter), limit }, caller));
  },
});

const setQueueLimits = kernelTool(kernelCommands.limitQueue, {
  title: "Set a queue's limits",
  description:
    "Sets how many workflows of a queue run at once, or begin within a time, in place of what its capabilities " +
    "state; limits: null lets theirs hold again.",
});

export const queueTools: readonly McpTool[] = [listQueues, setQueueLimits];
