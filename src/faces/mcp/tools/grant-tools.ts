/** The tools of grants: what people approve ahead. */
import { z } from "zod";
import { kernelCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { requireGranted } from "../mcp-context.ts";
import { type McpTool, structured } from "./tool.ts";
import { kernelTool, makeTool, readsOnly } from "./workflow-tools.ts";

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

const listGrants = makeTool({
  operation: lists.grants,
  title: "List grants",
  description: "What people of this tenant have approved ahead, with its limits and what was used of it.",
  annotations: readsOnly,
  input: lists.grants.filter.omit({ tenant_id: true }).extend({ limit: z.int().min(1).max(100).default(20) }),
  async run(context, { limit, ...filter }) {
    const caller = await requireGranted(context, lists.grants.scope);
    return structured(await lists.grants.read(context.kernel, { ...withoutUnset(filter), limit }, caller));
  },
});

export const grantTools: readonly McpTool[] = [giveGrant, revokeGrant, listGrants];
