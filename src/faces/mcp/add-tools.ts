/**
 * tools/list and tools/call: the tools of the kernel and one for each capability, as they are registered now.
 *
 * 1.  The list is made anew each time; a client is notified if it has changed since.
 * 2.  Capabilities are listed for callers who may read workflows or begin one, as over HTTP; others see the kernel's
 *     own tools.
 * 3.  The tools that decide gates exist only on connections that may answer them, the tool that sends events only for
 *     callers who may send them.
 * 4.  A refusal of a tool is its result; a request that calls no tool is an error of the protocol.
 */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { commandScopes } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type JsonObject, NotJson, requireSafeJson } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { readCallMeta } from "./call-meta.ts";
import { abilitiesOf, type Declared, hasForms } from "./client-abilities.ts";
import { answersGates, isGranted, type McpContext } from "./mcp-context.ts";
import { errorOf, orProtocolError } from "./mcp-error.ts";
import { readQuestionState } from "./question-state.ts";
import { capabilityTools } from "./tools/capability-tools.ts";
import { listDecisions } from "./tools/decision-tools.ts";
import { giveGrant, grantTools } from "./tools/grant-tools.ts";
import { queueTools } from "./tools/queue-tools.ts";
import { scheduleTools } from "./tools/schedule-tools.ts";
import { nameStandIn, standInTools } from "./tools/stand-in-tools.ts";
import { type McpTool, refusal, type ToolAnswer } from "./tools/tool.ts";
import { decideGate, decideGates, emitEvent, readTokenUrl, workflowTools } from "./tools/workflow-tools.ts";

const toolsRef = moduleRef(0, "mcp", "tools");

export const listTools = async (context: McpContext): Promise<readonly McpTool[]> => [
  ...(await ownTools(context)),
  ...(await capabilityTools(context.kernel)),
];

async function ownTools(context: McpContext): Promise<readonly McpTool[]> {
  const withheld = new Set([
    ...(answersGates(context) ? [] : [decideGate, decideGates, giveGrant, nameStandIn]),
    ...((await isGranted(context, commandScopes.emit)) ? [] : [emitEvent, readTokenUrl]),
  ]);
  const own = [...workflowTools, ...grantTools, ...standInTools].filter((tool) => !withheld.has(tool));
  return [...own, listDecisions, ...queueTools, ...scheduleTools];
}

/** Finds a tool. @throws KernelErrorException T0_MCP_TOOL_UNKNOWN. */
export const findTool = async (context: McpContext, name: string): Promise<McpTool> =>
  toolIn(await listTools(context), name);

/** Returns the tool of this name. @throws KernelErrorException T0_MCP_TOOL_UNKNOWN. */
function toolIn(tools: readonly McpTool[], name: string): McpTool {
  const found = tools.find((tool) => tool.name === name);
  return found ?? raise(kernelError("T0_MCP_TOOL_UNKNOWN", `there is no tool ${name.slice(0, maxShown)}`, toolsRef));
}

const maxShown = 128;

/** Reads a tool's arguments. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function readToolArguments(raw: unknown, maxDepth: number): JsonObject {
  if (raw === undefined) return {};
  try {
    requireSafeJson(raw, maxDepth);
  } catch (thrown) {
    if (!(thrown instanceof NotJson)) throw thrown;
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `the arguments cannot be taken: ${thrown.message}`, toolsRef));
  }
  if (isPlainObject(raw)) return raw;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "arguments are an object", toolsRef));
}

export function addTools(server: Server, context: McpContext, declared: Declared): void {
  const { logger, limits } = context.options;
  let reported: string | null = null;
  server.setRequestHandler("tools/list", ({ params }) =>
    orProtocolError(logger, async () => {
      const tools = await listTools(context);
      reported = namesOf(tools);
      const shown = (await mayUse(context)) ? tools : await ownTools(context);
      const { items, nextCursor } = pageOf(shown, params?.cursor, limits.maxPage);
      return { tools: items.map(describeTool) as never, ...(nextCursor !== undefined && { nextCursor }) };
    }),
  );
  server.setRequestHandler("tools/call", async ({ params }, ctx): Promise<ToolAnswer> => {
    const tools = await listTools(context);
    const tool = await orProtocolError(logger, async () => toolIn(tools, params.name));
    readQuestionState(ctx, tool.name);
    const names = namesOf(tools);
    const isStale = reported !== null && reported !== names;
    reported = isStale ? names : reported;
    if (isStale) await server.sendToolListChanged();
    return callTool(context, tool, { raw: params.arguments, ctx, declared });
  });
}

const mayUse = async (context: McpContext): Promise<boolean> =>
  (await isGranted(context, "outcome:read")) || (await isGranted(context, "intent:submit"));

interface RawCall {
  readonly raw: unknown;
  readonly ctx: ServerContext;
  readonly declared: Declared;
}

async function callTool(context: McpContext, tool: McpTool, { raw, ctx, declared }: RawCall): Promise<ToolAnswer> {
  try {
    const args = readToolArguments(raw, context.options.limits.maxDepth);
    const meta = readCallMeta(ctx.mcpReq._meta);
    return await tool.call(context, args, {
      tool: tool.name,
      ctx,
      meta,
      hasForms: hasForms(abilitiesOf(ctx, declared)),
    });
  } catch (thrown) {
    if (ctx.mcpReq.signal.aborted) throw thrown;
    return refusal(errorOf(thrown, context.options.logger));
  }
}

const namesOf = (tools: readonly McpTool[]): string => tools.map(({ name }) => name).join(" ");

function describeTool({ name, title, description, inputSchema, outputSchema, annotations, begin }: McpTool): object {
  const execution = { taskSupport: begin === undefined ? "forbidden" : "optional" };
  return { name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations }, execution };
}

/**
 * Returns a page; a cursor is the name of the last listed tool. @throws KernelErrorException
 * T0_VALIDATION_SCHEMA_MISMATCH.
 */
function pageOf(tools: readonly McpTool[], cursor: string | undefined, maxPage: number) {
  const begin = cursor === undefined ? 0 : tools.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && begin === 0)
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the cursor is none that tools/list gave", toolsRef));
  const items = tools.slice(begin, begin + maxPage);
  return { items, nextCursor: begin + maxPage < tools.length ? items.at(-1)?.name : undefined };
}
