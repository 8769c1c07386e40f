/**
 * An MCP tool result as Signals, one per content item.
 *
 * Owns: which content becomes TEXT, DATA or FILE, and the marks source_type tool and is_error. Never: puts file
 * content into a Signal: inline bytes go to putArtifact, and the Signal holds the reference.
 * 1.  All Signals of one result share trace_id and parent_id, in content order.
 * 2.  A failed result gives exactly one Signal; an empty one gives one empty TEXT.
 * 3.  The same bytes are kept once, however often a result holds them: structured content that repeats kept bytes
 *     names them. Bytes of a failed result are left out of its error text, which is bounded.
 */
import { sha256 } from "../contract/digest.ts";
import { capText } from "../contract/error.ts";
import { isPlainObject } from "../contract/json.ts";
import { type ModuleRef, moduleRef } from "../contract/module-ref.ts";
import { ambientSignals, type Signal, type SignalFactory } from "../contract/signal.ts";
import type { ToolContent, ToolResult } from "../contract/tool.ts";

/** Takes inline bytes and returns the reference under which they are kept. */
export type PutArtifact = (bytes: Uint8Array, mediaType: string) => Kept;

interface Kept {
  readonly file_id: string;
  readonly path: string | null;
}

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
  /** The kept bytes, by their base64 text. */
  readonly kept: Map<string, Kept>;
  readonly origin: ModuleRef;
  readonly traceId: string;
  readonly toolName: string;
  readonly common: { readonly tags: Readonly<Record<string, string>>; readonly parentId: string | null };
};

const bridgeRef = moduleRef(0, "bridge", "tool_result_to_signal");
const unknownType = "application/octet-stream";

/** Makes one to many Signals with tags source_type tool and tool. Never throws for a parsed ToolResult. */
export function toolResultToSignal(
  result: ToolResult,
  toolName: string,
  traceId: string,
  options: ToolResultOptions = {},
): readonly Signal[] {
  const { parentId = null, origin = bridgeRef, putArtifact = nameArtifact, signals = ambientSignals } = options;
  const tags = { source_type: "tool", tool: toolName, ...(result.isError === true && { is_error: "true" }) };
  const kept = new Map<string, Kept>();
  const bridge: Bridge = { signals, putArtifact, kept, origin, traceId, toolName, common: { tags, parentId } };
  if (result.isError === true) return [createText(bridge, describeError(result))];
  const items = result.content ?? [];
  // Bytes are kept before the data that may repeat them.
  for (const bytes of items.flatMap(bytesOf)) keep(bridge, bytes);
  const made = items.map((item) => convert(bridge, item));
  if (result.structuredContent !== undefined && !items.some((item) => item.type === "json")) {
    made.push(createData(bridge, result.structuredContent));
  }
  return made.length > 0 ? made : [createText(bridge, "")];
}

function describeError({ content = [], structuredContent }: ToolResult): string {
  const texts = content.flatMap((item) => (item.type === "text" ? [item.text] : []));
  const reported = structuredContent ?? content;
  return capText(
    texts.length > 0 ? texts.join("\n") : describeJson(nameBytes(reported, (text) => nameOf(decode(text)))),
  );
}

function describeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "it failed with what cannot be shown";
  }
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
        : createFile(bridge, item.data, item.mimeType);
    case "resource":
      return convertResource(bridge, item.resource);
    case "resource_link":
      return createReference(bridge, item.uri, item.mimeType);
  }
}

function createText({ signals, origin, traceId, common }: Bridge, text: string): Signal {
  return signals.createTextSignal(text, origin, traceId, common.tags, common);
}

function createData(bridge: Bridge, raw: unknown): Signal {
  const { signals, origin, traceId, common, toolName } = bridge;
  const data = nameBytes(raw, (text) => bridge.kept.get(text)?.file_id);
  return signals.createDataSignal(data, `tool/${toolName}`, origin, traceId, common.tags, common);
}

function convertFile(bridge: Bridge, file: Extract<ToolContent, { type: "file" }>): Signal {
  const fileType = file.file_type ?? file.mimeType ?? unknownType;
  if (file.data !== undefined) return createFile(bridge, file.data, fileType);
  const path = file.path ?? file.uri ?? null;
  const { signals, origin, traceId, common } = bridge;
  return signals.createFileSignal(file.file_id ?? path ?? "", fileType, path, origin, traceId, common);
}

type Resource = Extract<ToolContent, { type: "resource" }>["resource"];

function convertResource(bridge: Bridge, { uri, mimeType, text, blob }: Resource): Signal {
  if (text !== undefined) return createText(bridge, text);
  if (blob !== undefined) return createFile(bridge, blob, mimeType ?? unknownType);
  return createReference(bridge, uri, mimeType);
}

function createReference({ signals, origin, traceId, common }: Bridge, uri: string, mimeType = unknownType): Signal {
  return signals.createFileSignal(uri, mimeType, uri, origin, traceId, common);
}

function createFile(bridge: Bridge, base64: string, mediaType: string): Signal {
  const { file_id, path } = keep(bridge, { base64, mediaType });
  const { signals, origin, traceId, common } = bridge;
  return signals.createFileSignal(file_id, mediaType, path, origin, traceId, common);
}

/** Keeps bytes that were not kept yet, and returns their reference. */
function keep({ kept, putArtifact }: Bridge, { base64, mediaType }: Bytes): Kept {
  const known = kept.get(base64) ?? putArtifact(decode(base64), mediaType);
  kept.set(base64, known);
  return known;
}

interface Bytes {
  readonly base64: string;
  readonly mediaType: string;
}

function bytesOf(item: ToolContent): readonly Bytes[] {
  switch (item.type) {
    case "file":
      return item.data === undefined
        ? []
        : [{ base64: item.data, mediaType: item.file_type ?? item.mimeType ?? unknownType }];
    case "image":
    case "audio":
      return item.data === undefined ? [] : [{ base64: item.data, mediaType: item.mimeType }];
    case "resource": {
      const { blob, text, mimeType = unknownType } = item.resource;
      return blob === undefined || text !== undefined ? [] : [{ base64: blob, mediaType: mimeType }];
    }
    default:
      return [];
  }
}

/** Shorter than a name for it: not worth one. */
const minBytesChars = 96;
const base64Text = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Returns JSON in which texts of bytes are replaced by their names; a value without any is returned unchanged. */
function nameBytes(value: unknown, name: (base64: string) => string | undefined, left = 64): unknown {
  if (typeof value === "string")
    return value.length >= minBytesChars && base64Text.test(value) ? (name(value) ?? value) : value;
  if (left === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => nameBytes(item, name, left - 1));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, nameBytes(item, name, left - 1)]));
}

function decode(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

const nameOf = (bytes: Uint8Array): string => `sha256-${sha256(bytes)}`;
const nameArtifact = (bytes: Uint8Array): Kept => ({ file_id: nameOf(bytes), path: null });
