/** The tools of grants: what people approve ahead. */
import { kernelCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import { listTool } from "./list-tool.ts";
import type { McpTool } from "./tool.ts";
import { kernelTool } from "./workflow-tools.ts";

/** The tool by which a person approves ahead; it is offered where gates are answered. */
export const giveGrant = kernelTool(kernelCommands.grant, {
  title: "Approve ahead",
  description:
    "A person's approval, given at a gate, of later calls of its operator that the same rule asks about: with " +
    "conditions on their params (when), in this workflow or until an instant, at most so many (uses) or so much " +
    "(money). Only a person gives it: never call this without having asked them.",
});

const revokeGrant = kernelTool(kernelCommands.revokeGrant, {
  title: "End a grant",
  description: "Ends what a person approved ahead: later calls ask a person again. list-grants tells their ids.",
});

const listGrants = listTool(lists.grants, {
  title: "List grants",
  description: "What people of this tenant have approved ahead, with its limits and what was used of it.",
});

export const grantTools: readonly McpTool[] = [giveGrant, revokeGrant, listGrants];
