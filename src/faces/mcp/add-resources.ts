/**
 * Workflows as resources: `countersign://workflows/{id}`, and `/events`, `/outcomes`, `/explain` below it.
 *
 * 1.  Every read needs `outcome:read`; a workflow of another tenant does not exist for the caller.
 * 2.  Lists are pages of summaries, newest first.
 */

import type { Server } from "@modelcontextprotocol/server";
import { kernelError } from "../../contract/error-codes.ts";
import { WorkflowId } from "../../contract/ids.ts";
import { raise } from "../../contract/kernel-error.ts";
import { lastOfPage } from "../../contract/list-filter.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Caller } from "../../index.ts";
import { pageEvents } from "../../protocol/page-events.ts";
import { toMcpWorkflow } from "./describe-workflow.ts";
import { type McpContext, requireGranted } from "./mcp-context.ts";
import { orProtocolError } from "./mcp-error.ts";
import { watchWorkflow } from "./watch-workflow.ts";

const resourceRef = moduleRef(0, "mcp", "resources");
const base = "countersign://workflows";
const mimeType = "application/json";

export const uriOf = (workflowId: string): string => `${base}/${workflowId}`;

interface Address {
  readonly workflowId: string;
  readonly view: string;
  /** Events after this sequence. */
  readonly after: number;
}

type View = (context: McpContext, address: Address, caller: Caller) => Promise<object>;

const views: Readonly<Record<string, { readonly tells: string; readonly read: View }>> = {
  state: {
    tells: "Where a workflow stands",
    read: async ({ kernel }, { workflowId }, caller) => toMcpWorkflow(await kernel.workflow(workflowId, caller)),
  },
  events: { tells: "What its ledger holds", read: readEvents },
  outcomes: {
    tells: "What it has produced",
    read: ({ kernel }, { workflowId }, caller) => kernel.outcomes(workflowId, caller),
  },
  explain: {
    tells: "Why it did what it did",
    read: ({ kernel }, { workflowId }, caller) => kernel.explain(workflowId, caller),
  },
};

/** Reads an address. @throws KernelErrorException T0_MCP_RESOURCE_UNKNOWN. */
export function readAddress(uri: string): Address {
  const [, workflowId = "", view = "state", after = "0"] =
    /^countersign:\/\/workflows\/([\w-]{1,64})(?:\/([a-z]{1,16}))?(?:\?after=(\d{1,15}))?$/.exec(uri) ?? [];
  if (WorkflowId.safeParse(workflowId).success && Object.hasOwn(views, view))
    return { workflowId, view, after: Number(after) };
  const detail = { uri: uri.slice(0, 256) };
  return raise(kernelError("T0_MCP_RESOURCE_UNKNOWN", "there is no such resource", resourceRef, { detail }));
}

export function addResources(server: Server, context: McpContext): void {
  const { logger } = context.options;
  server.setRequestHandler("resources/list", ({ params }) =>
    orProtocolError(logger, () => list(context, params?.cursor)),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: Object.entries(views).map(([name, { tells }]) => ({
      uriTemplate: name === "state" ? `${base}/{id}` : `${base}/{id}/${name}${name === "events" ? "{?after}" : ""}`,
      name: `workflow-${name}`,
      description: tells,
      mimeType,
    })),
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) =>
    orProtocolError(logger, async () => {
      const text = JSON.stringify(await readResource(context, uri));
      return { contents: [{ uri, mimeType, text }] };
    }),
  );
  server.setRequestHandler("completion/complete", ({ params: { argument } }) =>
    orProtocolError(logger, async () => ({ completion: await completeId(context, argument) })),
  );
  addSubscriptions(server, context);
}

async function readResource(context: McpContext, uri: string): Promise<object> {
  const address = readAddress(uri);
  const caller = await requireGranted(context, "outcome:read");
  return (views[address.view] as { readonly read: View }).read(context, address, caller);
}

async function readEvents({ kernel, options }: McpContext, { workflowId, after }: Address, caller: Caller) {
  const { maxPage: limit, maxPageChars: maxChars } = options.limits;
  const found = kernel.events(workflowId, { after, live: false }, caller);
  return { workflow_id: workflowId, ...(await pageEvents(found, { limit, maxChars })) };
}

async function list(context: McpContext, cursor: string | undefined) {
  const limit = context.options.limits.maxPage;
  if (cursor !== undefined && !WorkflowId.safeParse(cursor).success)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the cursor is none that resources/list gave", resourceRef));
  const after = cursor === undefined ? {} : { after: cursor };
  const found = await context.kernel.workflows({ ...after, limit }, await requireGranted(context, "outcome:read"));
  const resources = found.map(({ workflow_id, intent_type, title, state, updated_at }) => ({
    uri: uriOf(workflow_id),
    name: workflow_id,
    title: `${intent_type}: ${state}`,
    description: title,
    mimeType,
    annotations: { lastModified: updated_at },
  }));
  const last = lastOfPage(found, limit)?.workflow_id;
  return { resources, ...(last !== undefined && { nextCursor: last }) };
}

/** Ids that begin so, newest first. */
async function completeId(context: McpContext, { name, value }: { readonly name: string; readonly value: string }) {
  if (name !== "id" || value.length > 64) return { values: [], hasMore: false };
  const limit = context.options.limits.maxPage;
  const found = await context.kernel.workflows({ text: value, limit }, await requireGranted(context, "outcome:read"));
  const values = found.map(({ workflow_id }) => workflow_id).filter((id) => id.startsWith(value));
  return { values, hasMore: values.length === limit };
}

/** Adds subscriptions: each watched address is followed once; all watching ends with the connection. */
function addSubscriptions(server: Server, context: McpContext): void {
  const { logger, limits } = context.options;
  const watched = new Map<string, AbortController>();
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) =>
    orProtocolError(logger, async () => {
      if (!watched.has(uri)) await watch(uri);
      return {};
    }),
  );
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    watched.get(uri)?.abort();
    watched.delete(uri);
    return {};
  });
  const closed = server.onclose;
  server.onclose = () => {
    for (const stop of watched.values()) stop.abort();
    watched.clear();
    closed?.();
  };

  async function watch(uri: string): Promise<void> {
    if (watched.size >= limits.maxSubscriptions) refuseWatching(limits.maxSubscriptions);
    const { workflowId } = readAddress(uri);
    const stop = new AbortController();
    watched.set(uri, stop);
    const forget = (): unknown => watched.get(uri) === stop && watched.delete(uri);
    try {
      const tell = () => server.sendResourceUpdated({ uri });
      const caller = await requireGranted(context, "outcome:read");
      await watchWorkflow({ context, caller, workflowId, signal: stop.signal, tell, onEnd: forget });
    } catch (thrown) {
      forget();
      throw thrown;
    }
  }
}

export function refuseWatching(maxSubscriptions: number): never {
  const message = `${maxSubscriptions} resources are watched, as many as may be`;
  return raise(kernelError("T0_HTTP_STREAM_LIMIT", message, resourceRef, { detail: { maxSubscriptions } }));
}
