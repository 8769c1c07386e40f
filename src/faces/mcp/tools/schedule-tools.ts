/** The tools of schedules: the operations of the catalogue on them, with descriptions for models. */
import type { KernelCommand } from "../../../api/operation.ts";
import { scheduleCommands, scheduleList, scheduleRead } from "../../../api/schedules.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { requireGranted } from "../mcp-context.ts";
import { listTool } from "./list-tool.ts";
import { type McpTool, structured } from "./tool.ts";
import { kernelTool, makeTool, page, readsOnly } from "./workflow-tools.ts";

const listSchedules = listTool(scheduleList, {
  title: "List schedules",
  description: "This tenant's schedules by name: when each begins next, what it began last, whether it fails.",
});

const readSchedule = makeTool({
  operation: scheduleRead,
  title: "Read a schedule",
  description:
    "A schedule with its history, newest first: what it began, what was left out or refused, and who changed it.",
  annotations: readsOnly,
  input: scheduleRead.question.omit({ tenant_id: true }).extend({ limit: page.limit }),
  async run(context, { name, limit, ...asked }) {
    const caller = await requireGranted(context, scheduleRead.scope);
    return structured(await scheduleRead.read(context.kernel, { name, limit, ...withoutUnset(asked) }, caller));
  },
});

const scheduleTool = (command: KernelCommand, title: string, description: string): McpTool =>
  kernelTool(command, { title, description });

export const scheduleTools: readonly McpTool[] = [
  listSchedules,
  readSchedule,
  scheduleTool(
    scheduleCommands.setSchedule,
    "Set a schedule",
    "Makes or changes a schedule that begins work at instants: cron (five fields, or six with seconds first) in a " +
      "time_zone, or every_ms. The work begins on behalf of this connection's principal.",
  ),
  scheduleTool(scheduleCommands.pauseSchedule, "Pause a schedule", "None of its instants begins until it is resumed."),
  scheduleTool(
    scheduleCommands.resumeSchedule,
    "Resume a schedule",
    "Goes on with the next instant; those of the pause are left out.",
  ),
  scheduleTool(scheduleCommands.triggerSchedule, "Trigger a schedule", "Begins the work of a schedule now."),
  scheduleTool(
    scheduleCommands.backfillSchedule,
    "Backfill a schedule",
    "Begins the instants of a span in the past, one after another; each begins at most one workflow.",
  ),
  scheduleTool(
    scheduleCommands.deleteSchedule,
    "Delete a schedule",
    "Ends a schedule; its history and what it began stay.",
  ),
];
