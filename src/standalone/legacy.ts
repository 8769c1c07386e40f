/**
 * Conversions for the production types that the kernel types replace.
 *
 * Owns: five of the eight rows. The other three are the bridges themselves: ToolResult is tool-result-to-signal.ts,
 * ProblemDetails is error-to-problem-details.ts (the HTTP view of KernelError), and JSONRPCRequest stays the external
 * protocol, bridged both ways here. Never: used inside the kernel; hosts that migrate call it.
 */
import { z } from "zod";
import { processingError } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject } from "../contract/json.ts";
import { KernelError, raise } from "../contract/kernel-error.ts";
import { type ModuleRef, moduleRef } from "../contract/module-ref.ts";
import { fail, metricsOf, ok, partial, type Result, skip } from "../contract/result.ts";
import { RpcRequest } from "../contract/rpc.ts";
import { ambientSignals, type Signal, type SignalFactory } from "../contract/signal.ts";
import type { DataBody, FileBody } from "../contract/signal-body.ts";

/** A file as older messages name it. */
export const FileReference = z.object({
  file_id: z.string(),
  file_type: z.string(),
  path: z.string().nullable().default(null),
});
export type FileReference = z.infer<typeof FileReference>;

/** Data as older messages carry it. */
export const DataPayload = z.object({ data: z.unknown(), schema: z.string().default("DataPayload") });
export type DataPayload = z.infer<typeof DataPayload>;

/** At least one of the three is there. */
export const ToolOutput = z
  .object({
    text: z.string().nullish(),
    data: DataPayload.nullish(),
    files: z.array(FileReference).readonly().default([]),
  })
  .refine(({ text, data, files }) => text != null || data != null || files.length > 0, "expected text, data or files");
export type ToolOutput = z.infer<typeof ToolOutput>;

/** The output of a node as older messages tell it. */
export const NodeOutput = z.object({
  node: z.string().min(1),
  status: z.enum(["success", "partial", "error", "skipped"]),
  output: ToolOutput.nullish(),
  error: z.union([KernelError, z.string()]).nullish(),
  duration_ms: z.number().default(0),
  token_count: z.int().default(0),
});
export type NodeOutput = z.infer<typeof NodeOutput>;

export type LegacyOptions = {
  readonly origin?: ModuleRef;
  readonly parentId?: string | null;
  readonly signals?: SignalFactory;
};

const bridgeRef = moduleRef(0, "bridge", "legacy");

/** Makes one to three Signals: TEXT, DATA, and the files: FILE for one, DATA list[FileReference] for several. */
export function toolOutputToSignals(
  output: ToolOutput,
  traceId: string,
  options: LegacyOptions = {},
): readonly Signal[] {
  const { origin = bridgeRef, parentId = null, signals = ambientSignals } = options;
  const common = { parentId, tags: { source_type: "tool" } };
  const made: Signal[] = [];
  if (output.text != null) made.push(signals.createTextSignal(output.text, origin, traceId, null, common));
  if (output.data != null) {
    const { data, schema } = output.data;
    made.push(signals.createDataSignal(data, schema, origin, traceId, null, common));
  }
  const [file, ...more] = output.files;
  if (file === undefined) return made;
  if (more.length > 0) {
    made.push(signals.createDataSignal(output.files, "list[FileReference]", origin, traceId, null, common));
  } else made.push(signals.createFileSignal(file.file_id, file.file_type, file.path, origin, traceId, common));
  return made;
}

/** Makes the Result that replaces a node's output. A node that failed without an error gets a processing error. */
export function nodeOutputToResult(node: NodeOutput, traceId: string, options: LegacyOptions = {}): Result {
  const origin = options.origin ?? moduleRef(4, "node", node.node);
  const { duration_ms, token_count } = node;
  const metrics = metricsOf(origin, { duration_ms, token_count });
  const signals = node.output == null ? [] : toolOutputToSignals(node.output, traceId, { ...options, origin });
  switch (node.status) {
    case "success":
      return ok(signals, metrics);
    case "skipped":
      return skip(describe(node), metrics);
    case "partial":
      return signals.length > 0
        ? partial(signals, toError(node, origin), metrics)
        : fail(toError(node, origin), metrics);
    case "error":
      return fail(toError(node, origin), metrics);
  }
}

function toError(node: NodeOutput, origin: ModuleRef): KernelError {
  return typeof node.error === "object" && node.error !== null ? node.error : processingError(describe(node), origin);
}

function describe({ error, node, status }: NodeOutput): string {
  return typeof error === "string" ? error : `node ${node}: ${status}`;
}

/** Makes the DATA body that replaces the wrapper class. */
export function dataPayloadToBody({ data, schema }: DataPayload): DataBody {
  return { data, schema, ...(Array.isArray(data) && { count: data.length }) };
}

/** Makes the FILE body that replaces the wrapper class. */
export function fileReferenceToBody({ file_id, file_type, path }: FileReference): FileBody {
  return { file_id, file_type, path };
}

/** The part of a Signal that a log may show (IOEnvelope). */
export type LogView = Pick<Signal, "id" | "kind" | "origin" | "trace_id" | "tags">;

/** Returns the Signal's metadata without its body. */
export function toLogView({ id, kind, origin, trace_id, tags }: Signal): LogView {
  return { id, kind, origin, trace_id, tags };
}

/** Makes a DATA Signal with schema JSONRPCRequest of the external request. */
export function jsonrpcRequestToSignal(request: RpcRequest, traceId: string, options: LegacyOptions = {}): Signal {
  const { origin = bridgeRef, parentId = null, signals = ambientSignals } = options;
  return signals.createDataSignal({ ...request }, "JSONRPCRequest", origin, traceId, null, { parentId });
}

/** Returns the request, with equal id, method and params. Throws an input KernelErrorException for any other Signal. */
export function signalToJsonrpcRequest(signal: Signal): RpcRequest {
  const { data, schema } = signal.body;
  const parsed = schema === "JSONRPCRequest" && isPlainObject(data) ? RpcRequest.safeParse(data) : null;
  if (parsed?.success) return parsed.data;
  const detail = { signal_id: signal.id, schema: typeof schema === "string" ? schema : null };
  const message = "the signal does not carry a JSON-RPC request";
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, bridgeRef, { detail }));
}
