/**
 * The answer of a call that was not made, or that waits: an error of the kernel as a tool result.
 *
 * 1.  A tool that states the schema of its output has no other structured content: clients check it by that schema,
 *     and refuse what does not fit. The error is then in `_meta`.
 */
import type { KernelError } from "../../contract/kernel-error.ts";
import { refusal, type ToolAnswer } from "../mcp/tools/tool.ts";

/** The member of a refusal's `_meta` that holds the error, where structured content is the tool's own. */
export const refusalMeta = "countersign/refusal";

/** Returns the refusal; `hasSchema` says whether the tool states the schema of its output. */
export function refuseCall(error: KernelError, hasSchema: boolean): ToolAnswer {
  const refused = refusal(error);
  if (!hasSchema) return refused;
  const { structuredContent, ...answer } = refused;
  return { ...answer, _meta: { [refusalMeta]: structuredContent } } as ToolAnswer;
}
