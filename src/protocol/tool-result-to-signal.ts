// An MCP tool result as Signals, one per content item (seed 000, tool_result_to_signal; C-45, A-12).
// Owns: which content becomes TEXT, DATA or FILE, and the marks source_type tool and is_error.
// Never: puts file content into a Signal: inline bytes go to putArtifact, and the Signal holds the reference.
// Invariants
// 1. All Signals of one result share trace_id and parent_id, in content order.
// 2. A failed result gives exactly one Signal; an empty one gives one empty TEXT.

import { sha256 } from "../contract/digest.ts";
import { type ModuleRef, moduleRef } from "../contract/module-ref.ts";
import { ambientSignals, type Signal, type SignalFactory } from "../contract/signal.ts";
import type { ToolContent, ToolResult } from "../contract/tool.ts";

/** Takes inline bytes and returns the reference under which they are kept. */
export type PutArtifact = (
  bytes: Uint8Array,
  mediaType: string,
) => { readonly file_id: string; readonly path: string | null };

/**
 * `parentId`: the id of the Signal that made the call. `putArtifact`: without it inline bytes are named by their digest
 * and not kept. `signals`: the factories to draw from.
 */
export type ToolResultOptions = {
  readonly parentId?: string | null;
  readonly origin?: ModuleRef;
  readonly putArtifact?: PutArtifact;
  readonly signals?: SignalFactory;
};

type Bridge = {
  readonly signals: SignalFactory;
  readonly putArtifact: PutArtifact;
  readonly origin: ModuleRef;
  readonly traceId: string;
  readonly toolName: string;
  readonly common: { readonly tags: Readonly<Record<string, string>>; readonly parentId: string | null };
};

const bridgeRef = moduleRef(0, "bridge", "tool_result_to_signal");
const unknownType = "application/octet-stream";

/** One to many Signals with tags source_type tool and tool. Throws nothing for a parsed ToolResult. */
export function toolResultToSignal(
  result: ToolResult,
  toolName: string,
  traceId: string,
  options: ToolResultOptions = {},
): readonly Signal[] {
  const { parentId = null, origin = bridgeRef, putArtifact = nameArtifact, signals = ambientSignals } = options;
  const tags = { source_type: "tool", tool: toolName, ...(result.isError === true && { is_error: "true" }) };
  const bridge: Bridge = { signals, putArtifact, origin, traceId, toolName, common: { tags, parentId } };
  if (result.isError === true) return [createText(bridge, describeError(result))];
  const items = result.content ?? [];
  const made = items.map((item) => convert(bridge, item));
  if (result.structuredContent !== undefined && !items.some((item) => item.type === "json")) {
    made.push(createData(bridge, result.structuredContent));
  }
  return made.length > 0 ? made : [createText(bridge, "")];
}

function describeError({ content = [], structuredContent }: ToolResult): string {
  const texts = content.flatMap((item) => (item.type === "text" ? [item.text] : []));
  return texts.length > 0 ? texts.join("\n") : JSON.stringify(structuredContent ?? content);
}

function convert(bridge: Bridge, item: ToolContent): Signal {
  switch (item.type) {
    case "text":
      return createText(bridge, item.text);
    case "json":
      return createData(bridge, item.data === undefined ? item.json : item.data);
    case "file":
      return convertFile(bridge, item);
    case "image":
    case "audio":
      return item.data === undefined
        ? createReference(bridge, item.uri ?? "", item.mimeType)
        : storeBytes(bridge, decode(item.data), item.mimeType);
    case "resource":
      return convertResource(bridge, item.resource);
    case "resource_link":
      return createReference(bridge, item.uri, item.mimeType);
  }
}

function createText({ signals, origin, traceId, common }: Bridge, text: string): Signal {
  return signals.createTextSignal(text, origin, traceId, common.tags, common);
}

function createData({ signals, origin, traceId, common, toolName }: Bridge, data: unknown): Signal {
  return signals.createDataSignal(data, `tool/${toolName}`, origin, traceId, common.tags, common);
}

function convertFile(bridge: Bridge, file: Extract<ToolContent, { type: "file" }>): Signal {
  const fileType = file.file_type ?? file.mimeType ?? unknownType;
  if (file.data !== undefined) return storeBytes(bridge, decode(file.data), fileType);
  const path = file.path ?? file.uri ?? null;
  const { signals, origin, traceId, common } = bridge;
  return signals.createFileSignal(file.file_id ?? path ?? "", fileType, path, origin, traceId, common);
}

type Resource = Extract<ToolContent, { type: "resource" }>["resource"];

function convertResource(bridge: Bridge, { uri, mimeType, text, blob }: Resource): Signal {
  if (text !== undefined) return createText(bridge, text);
  if (blob !== undefined) return storeBytes(bridge, decode(blob), mimeType ?? unknownType);
  return createReference(bridge, uri, mimeType);
}

function createReference({ signals, origin, traceId, common }: Bridge, uri: string, mimeType = unknownType): Signal {
  return signals.createFileSignal(uri, mimeType, uri, origin, traceId, common);
}

function storeBytes(bridge: Bridge, bytes: Uint8Array, mediaType: string): Signal {
  const { file_id, path } = bridge.putArtifact(bytes, mediaType);
  const { signals, origin, traceId, common } = bridge;
  return signals.createFileSignal(file_id, mediaType, path, origin, traceId, common);
}

function decode(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

function nameArtifact(bytes: Uint8Array): { readonly file_id: string; readonly path: null } {
  return { file_id: `sha256-${sha256(bytes)}`, path: null };
}
