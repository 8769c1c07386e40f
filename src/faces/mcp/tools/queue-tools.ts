/** The tools of queues and budgets: who runs and who waits, what is used and what is left. */
import { kernelCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import { listTool } from "./list-tool.ts";
import type { McpTool } from "./tool.ts";
import { kernelTool } from "./workflow-tools.ts";

const listQueues = listTool(lists.queues, {
  title: "List queues",
  description: "This tenant's queues by name and key: their limit, how many run and wait, since when the oldest waits.",
});

const setQueueLimits = kernelTool(kernelCommands.limitQueue, {
  title: "Set a queue's limits",
  description:
    "Sets how many workflows of a queue run at once, or begin within a time, in place of what its capabilities " +
    "state; limits: null lets theirs hold again.",
});

const listBudgets = listTool(lists.budgets, {
  title: "List budgets",
  description:
    "The ceilings on money, tokens and calls with what this tenant has used of each, the nearest to its ceiling " +
    "first, and when each begins anew.",
});

export const queueTools: readonly McpTool[] = [listQueues, setQueueLimits, listBudgets];
