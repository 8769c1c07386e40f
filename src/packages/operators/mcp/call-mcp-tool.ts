/**
 * One tool call over MCP: the kernel's request with its key, progress, cancellation and the result's form.
 *
 * Owns: the content of `_meta`, the bound on progress, and the form of a result. Never: checks arguments (the
 * operator's schema did), judges a result's meaning, keeps files: T0's bridge takes them.
 * 1.  A tool is called only while its server lists it as it was when the operator was made.
 * 2.  A server's result is bounded and has the form of a result, or the call has failed for good.
 * 3.  A rejection by a person at another kernel counts as one here: no other plan follows.
 * 4.  An abort is reported to the server: by notifications/cancelled, or by ending the stream that the call had to
 *     itself.
 */
import type { CallToolResult, Progress, Tool } from "@modelcontextprotocol/client";
import { z } from "zod";
import { digest } from "../../../contract/digest.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { idempotencyMeta, untilMeta } from "../../../contract/mcp.ts";
import { type ToolCallContext, type ToolClient, ToolResult } from "../../../contract/tool.ts";
import type { McpConnection } from "./connection.ts";
import type { McpLine } from "./line.ts";
import { mcpError, readCallFailure } from "./mcp-error.ts";
import type { McpClientLimits } from "./mcp-limits.ts";

/** Longer than any operator's timeout can be measured: the kernel's own ends a call. */
const unlimitedMs = 2 ** 31 - 1;

export interface McpTool {
  readonly connection: McpConnection;
  readonly limits: McpClientLimits;
  readonly tool: Tool;
  /** The fingerprint of the tool as it was when its operator was made. */
  readonly print: string;
  /** May be called again where nobody knows how a call ended. */
  readonly repeatable: boolean;
}

/**
 * Returns the parts of a tool that an operator depends on: its schemas and annotations. Descriptions for people may
 * change.
 */
export const fingerprint = ({ inputSchema, outputSchema, annotations }: Tool): string =>
  digest([inputSchema, outputSchema ?? null, annotations ?? null]);

/** Creates the client behind one tool's operator. It answers `tools/call` of that tool alone. */
export const mcpToolClient = (tool: McpTool): ToolClient => ({
  request: (_method, params, call) => callMcpTool(tool, params, call),
});

async function callMcpTool(known: McpTool, params: JsonObject, call: ToolCallContext | undefined): Promise<ToolResult> {
  const { tool, print, connection, repeatable } = known;
  let begun: McpLine | null = null;
  const work = async (line: McpLine): Promise<CallToolResult> => {
    requireSame(tool.name, print, line.tools);
    if (line.isBroken) throw mcpError("T4_TOOL_EXECUTION_FAILED", "the connection has just ended");
    begun = line;
    return send(known, line, { arguments: params["arguments"] as JsonObject, call });
  };
  try {
    return readResult(known, await connection.use(work, { signal: call?.signal }));
  } catch (thrown) {
    if (begun === null) throw thrown;
    throw readCallFailure((begun as McpLine).fault ?? thrown, {
      tool: tool.name,
      repeatable,
      aborted: call?.signal.aborted === true,
    });
  }
}

/** Checks the tool. @throws KernelErrorException T4_OPERATOR_UNKNOWN. */
function requireSame(tool: string, print: string, listed: readonly Tool[]): void {
  const [now, again] = listed.filter(({ name }) => name === tool);
  if (now !== undefined && again === undefined && fingerprint(now) === print) return;
  const what = now === undefined ? "has no such tool any more" : "says something else of it now";
  throw mcpError("T4_OPERATOR_UNKNOWN", `${tool} is not what it was: its MCP server ${what}`);
}

interface Sending {
  readonly arguments: JsonObject;
  readonly call: ToolCallContext | undefined;
}

function send({ tool, limits }: McpTool, { client }: McpLine, { arguments: args, call }: Sending) {
  // Outputs are checked by the operator's schema, after the call; the SDK's own check would look like a refused
  // request.
  const { outputSchema: _checkedLater, ...toolDefinition } = tool;
  const options = { toolDefinition, timeout: unlimitedMs };
  if (call === undefined) return client.callTool({ name: tool.name, arguments: args }, options);
  const _meta = { [idempotencyMeta]: call.idempotencyKey, [untilMeta]: "end" };
  return client.callTool(
    { name: tool.name, arguments: args, _meta },
    { ...options, signal: call.signal, onprogress: passOn(call, limits) },
  );
}

function passOn(call: ToolCallContext, { maxProgress, maxProgressChars }: McpClientLimits) {
  let left = maxProgress;
  return ({ progress, total, message }: Progress): void => {
    if (left === 0) return;
    left -= 1;
    if (total !== undefined && total > 0) call.report((100 * progress) / total);
    if (message !== undefined && message !== "") call.stream(`${message.slice(0, maxProgressChars)}\n`);
  };
}

const Denied = z.object({
  error: z.object({ code: z.enum(["T5_HUMAN_DENIED", "T5_GATE_EXPIRED"]), message: z.string() }),
});

/**
 * Refuses to continue after a person's denial. @throws KernelErrorException T5_HUMAN_DENIED, T5_GATE_EXPIRED. A server
 * that lies about it ends its caller's workflow, and no more.
 */
function requireNoDenial({ name }: Tool, { isError, structuredContent }: CallToolResult): void {
  const denied = isError === true ? Denied.safeParse(structuredContent).data : undefined;
  if (denied !== undefined) throw mcpError(denied.error.code, `${name}: ${denied.error.message.slice(0, 1_000)}`);
}

/** Reads a result. @throws KernelErrorException T4_OUTPUT_INVALID: the tool has been called. */
function readResult({ tool, limits }: McpTool, answer: CallToolResult): ToolResult {
  requireNoDenial(tool, answer);
  const { content, structuredContent, isError } = answer;
  const size = JSON.stringify([content, structuredContent]).length;
  if (size > limits.maxResultChars)
    throw mcpError(
      "T4_OUTPUT_INVALID",
      `${tool.name} answered with ${size} characters, more than limits.maxResultChars = ${limits.maxResultChars}`,
    );
  const parsed = ToolResult.safeParse({ content, structuredContent, isError });
  if (parsed.success) return parsed.data;
  throw mcpError("T4_OUTPUT_INVALID", `${tool.name} gave no tool result: ${z.prettifyError(parsed.error)}`);
}
