/** The tools of stand-ins: who decides for people who are away. */
import { kernelCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import { listTool } from "./list-tool.ts";
import type { McpTool } from "./tool.ts";
import { kernelTool } from "./workflow-tools.ts";

/** The tool by which a person names their stand-in; it is offered where gates are answered. */
export const nameStandIn = kernelTool(kernelCommands.standIn, {
  title: "Name a stand-in",
  description:
    "While a person is away, somebody else (to) decides in their place at all gates, until an instant of the next 90 " +
    "days. Only the person who is away gives it: never call this without having asked them.",
});

const endStandIn = kernelTool(kernelCommands.endStandIn, {
  title: "End a stand-in",
  description: "Ends such an order before its time. list-stand-ins tells their ids.",
});

const listStandIns = listTool(lists.standIns, {
  title: "List stand-ins",
  description: "Who of this tenant is away, now or later, until when, and who stands in for them.",
});

export const standInTools: readonly McpTool[] = [nameStandIn, endStandIn, listStandIns];
