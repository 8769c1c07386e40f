/**
 * Tool calls and tool results, in MCP's shapes.
 *
 * Owns: the request's name and arguments, and the content items a tool may answer with. Never: translates them;
 * protocol/signal-to-tool-call.ts and protocol/tool-result-to-signal.ts do.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";

/** The params of an MCP tools/call. */
export const ToolCallRequest = z.object({ name: z.string().min(1), arguments: JsonObject }).readonly();
export type ToolCallRequest = z.infer<typeof ToolCallRequest>;

export const TextContent = z.object({ type: z.literal("text"), text: z.string() });

/** Structured content, under `data`; `json` is read as well. */
export const JsonContent = z
  .object({ type: z.literal("json"), data: z.unknown(), json: z.unknown() })
  .partial({ data: true, json: true })
  .refine((item) => item.data !== undefined || item.json !== undefined, "expected data");

/** A reference (file_id, path or uri), or inline bytes as base64 under `data`. */
export const FileContent = z
  .object({
    type: z.literal("file"),
    file_id: z.string().optional(),
    file_type: z.string().optional(),
    path: z.string().nullish(),
    uri: z.string().optional(),
    data: z.base64().optional(),
    mimeType: z.string().optional(),
  })
  .refine(
    (file) => [file.file_id, file.path, file.uri, file.data].some((at) => at != null),
    "expected a reference or data",
  );

/** Inline bytes as base64 (MCP), or a reference under uri. */
export const ImageContent = z
  .object({
    type: z.enum(["image", "audio"]),
    data: z.base64().optional(),
    uri: z.string().optional(),
    mimeType: z.string(),
  })
  .refine((image) => image.data !== undefined || image.uri !== undefined, "expected data or uri");

/** An embedded MCP resource: text, base64 bytes (blob), or neither: then uri alone. */
export const ResourceContent = z.object({
  type: z.literal("resource"),
  resource: z.object({
    uri: z.string(),
    mimeType: z.string().optional(),
    text: z.string().optional(),
    blob: z.base64().optional(),
  }),
});

export const ResourceLinkContent = z.object({
  type: z.literal("resource_link"),
  uri: z.string(),
  mimeType: z.string().optional(),
});

export const ToolContent = z.union([
  TextContent,
  JsonContent,
  FileContent,
  ImageContent,
  ResourceContent,
  ResourceLinkContent,
]);
export type ToolContent = z.infer<typeof ToolContent>;

/** The answer of a tool. */
export const ToolResult = z
  .object({
    content: z.array(ToolContent).readonly().default([]),
    /** Any JSON, though most tools give an object. */
    structuredContent: z.unknown().optional(),
    isError: z.boolean().optional(),
  })
  .readonly();
export type ToolResult = z.infer<typeof ToolResult>;

/** The operator call that a request is made for: a client passes on the parts that its protocol can carry. */
export interface ToolCallContext {
  readonly idempotencyKey: string;
  /** Fires when no caller waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Progress in percent. */
  readonly report: (percent: number) => void;
  /** A piece of text for people to read while the call runs. */
  readonly stream: (chunk: string) => void;
}

/**
 * A client of a tool server: sends one JSON-RPC request and returns its result, or throws (with `code` and `data` if
 * the server answered with an error). A broken connection is a throw like any other; a KernelErrorException keeps its
 * code, and T4_ACTION_IN_DOUBT means that it is unknown whether the request took effect. `call` is missing if a request
 * belongs to no operator call.
 */
export interface ToolClient {
  /** Sends a JSON-RPC request, such as `tools/call`, and gives its result. */
  readonly request: (method: string, params: JsonObject, call?: ToolCallContext) => Promise<unknown>;
}
