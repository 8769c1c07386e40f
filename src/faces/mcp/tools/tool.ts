/**
 * A tool of this server: its description for clients, and its function.
 *
 * Owns: the form of results.
 * 1.  Every result has structured content that follows the tool's output schema; an error is `error` in it, which every
 *     output schema allows in place of all else.
 */
import type { CallToolResult, InputRequiredResult, ServerContext, ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { JsonObject } from "../../../contract/json.ts";
import type { KernelError } from "../../../contract/kernel-error.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import { McpError } from "../../../contract/mcp.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { describeError, toMcpError } from "../../../protocol/tell-error.ts";
import type { CallMeta } from "../call-meta.ts";
import type { McpContext } from "../mcp-context.ts";

export interface ToolCall {
  /** The tool that is called. */
  readonly tool: string;
  readonly ctx: ServerContext;
  /** Whether the client can put a form to a person. */
  readonly hasForms: boolean;
  readonly meta: CallMeta;
}

/** The key of a call, how long it waits, and the signal that aborts when its client cancels it or disconnects. */
export interface CallTerms extends CallMeta {
  readonly signal: AbortSignal;
}

export const termsOf = ({ mcpReq }: ServerContext, meta: CallMeta): CallTerms => ({ ...meta, signal: mcpReq.signal });

export type ToolAnswer = CallToolResult | InputRequiredResult;

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
  readonly annotations: ToolAnnotations;
  /** Gives the result. @throws KernelErrorException, which becomes a result with `isError`. */
  readonly call: (context: McpContext, args: JsonObject, call: ToolCall) => Promise<ToolAnswer>;
  /** Begins the work as a task; short tools have none. */
  readonly begin?: (context: McpContext, args: JsonObject, terms: CallTerms) => Promise<string>;
}

const toolRef = moduleRef(0, "mcp", "call_tool");
const errorSchema = z.toJSONSchema(McpError, { unrepresentable: "any" });

/** Returns an input schema for clients; its root is an object, as MCP requires. */
export const asObject = (json: JsonObject): JsonObject =>
  json["type"] === "object" ? json : { ...json, type: "object" };

export const inputSchemaOf = (schema: z.ZodType): JsonObject =>
  asObject(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonObject);

/** Returns the schema of a tool's structured content: its own record, or an error. */
export function outputSchemaOf(schema: z.ZodType): JsonObject {
  const { $schema, required = [], properties, ...rest } = z.toJSONSchema(schema, { unrepresentable: "any" });
  const { $schema: _, ...error } = errorSchema;
  const choice = { anyOf: [{ required }, { required: ["error"] }] };
  return { $schema, ...rest, type: "object", properties: { error, ...properties }, ...choice };
}

/** Reads arguments with a schema. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function readArguments<S extends z.ZodType>(schema: S, args: JsonObject): z.output<S> {
  return readRequest(schema, args, { what: "arguments", source: toolRef });
}

/** Returns structured content with its JSON as text, for clients that support only text. */
export function structured(content: object, texts: readonly string[] = [JSON.stringify(content)]): CallToolResult {
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent: content as Record<string, unknown>,
  };
}

export function refusal(error: KernelError): CallToolResult {
  const reported = toMcpError(error);
  return { ...structured({ error: reported }, [describeError(reported)]), isError: true };
}
