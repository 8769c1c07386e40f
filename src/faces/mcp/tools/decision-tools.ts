/** The tool of the history of decisions. */
import { lists } from "../../../api/lists.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { requireGranted } from "../mcp-context.ts";
import { type McpTool, structured } from "./tool.ts";
import { makeTool, page, readsOnly } from "./workflow-tools.ts";

export const listDecisions: McpTool = makeTool({
  operation: lists.decisions,
  title: "List decisions",
  description:
    "What people of this tenant have decided at gates, newest first: who approved, rejected, edited or withdrew " +
    "what, when and with which comment; next, as after, goes on.",
  annotations: readsOnly,
  input: lists.decisions.filter.extend(page),
  output: lists.decisions.answer,
  async run(context, { limit, ...filter }) {
    const caller = await requireGranted(context, lists.decisions.scope);
    return structured(await lists.decisions.read(context.kernel, { ...withoutUnset(filter), limit }, caller));
  },
});
