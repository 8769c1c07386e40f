/** The tools that list what a tenant has, a page at a time. */
import type { z } from "zod";
import type { List } from "../../../api/operation.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { requireGranted } from "../mcp-context.ts";
import { type McpTool, structured } from "./tool.ts";
import { makeTool, page, readsOnly, type ToolDescription } from "./workflow-tools.ts";

type TenantFilter = z.ZodObject<{ readonly tenant_id: z.ZodType; readonly limit: z.ZodType }>;

/** Makes the tool of a list, whose tenant is the caller's. */
export const listTool = <Filter extends TenantFilter, Page extends object>(
  list: List<Filter, Page>,
  told: ToolDescription,
): McpTool =>
  makeTool({
    operation: list,
    ...told,
    annotations: readsOnly,
    input: (list.filter as TenantFilter).omit({ tenant_id: true }).extend({ limit: page.limit }),
    async run(context, { limit, ...filter }) {
      const caller = await requireGranted(context, list.scope);
      return structured(await list.read(context.kernel, { ...withoutUnset(filter), limit } as never, caller));
    },
  });
