/**
 * Follows a workflow's events and reports each change, once for each new event.
 *
 * 1.  It ends with its signal, with the workflow, or with its receiver; nothing of it is left then.
 */
import type { Caller } from "../../index.ts";
import type { McpContext } from "./mcp-context.ts";

export interface Watching {
  readonly context: McpContext;
  readonly caller: Caller;
  readonly workflowId: string;
  readonly signal: AbortSignal;
  readonly tell: () => unknown;
  readonly onEnd: () => unknown;
}

/** Resolves when it watches. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND. */
export async function watchWorkflow(watching: Watching): Promise<void> {
  const { context, caller, workflowId } = watching;
  const { sequence } = await context.kernel.workflow(workflowId, caller);
  void follow(watching, sequence);
}

async function follow({ context, caller, workflowId, signal, tell, onEnd }: Watching, after: number): Promise<void> {
  try {
    for await (const _ of context.kernel.channel("events", workflowId, { after, signal }, caller)) await tell();
  } catch (thrown) {
    if (!signal.aborted)
      context.options.logger?.warn({ thrown, workflowId }, "a watched workflow is no longer followed");
  } finally {
    onEnd();
  }
}
