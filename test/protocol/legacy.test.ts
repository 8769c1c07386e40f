import { describe, expect, it } from "vitest";
import { isKernelError, type KernelErrorException } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { validateResult } from "../../src/contract/result.ts";
import { createSignal, createTextSignal, validateSignal } from "../../src/contract/signal.ts";
import { createRequest } from "../../src/protocol/envelope.ts";
import { errorToProblemDetails } from "../../src/protocol/error-to-problem-details.ts";
import { toolResultToSignal } from "../../src/protocol/tool-result-to-signal.ts";
import {
  DataPayload,
  dataPayloadToBody,
  FileReference,
  fileReferenceToBody,
  jsonrpcRequestToSignal,
  NodeOutput,
  nodeOutputToResult,
  signalToJsonrpcRequest,
  ToolOutput,
  toLogView,
  toolOutputToSignals,
} from "../../src/standalone/legacy.ts";
import { ref, throughJson, thrown } from "../contract/samples.ts";

const file = { file_id: "a.pdf", file_type: "pdf", path: null };
const kindsOf = (output: unknown) =>
  toolOutputToSignals(ToolOutput.parse(output), "cor_1").map((signal) => signal.kind);

describe("legacy rows", () => {
  it("[BRG-16] ToolOutput gives one to three valid Signals", () => {
    const whole = { text: "t", data: { data: [1] }, files: [file] };
    expect(kindsOf(whole)).toEqual(["text", "data", "file"]);
    expect(kindsOf({ ...whole, files: [file, file] })).toEqual(["text", "data", "data"]);
    expect(kindsOf({ text: "t" })).toEqual(["text"]);
    expect(kindsOf({ data: { data: null } })).toEqual(["data"]);
    expect(kindsOf({ files: [file] })).toEqual(["file"]);
    expect(ToolOutput.safeParse({}).success).toBe(false);
    for (const signal of toolOutputToSignals(ToolOutput.parse(whole), "cor_1", { parentId: "sig_1" })) {
      expect(validateSignal(signal)).toBe(signal);
      expect([signal.parent_id, signal.tags["source_type"]]).toEqual(["sig_1", "tool"]);
    }
  });

  it("[BRG-16] ToolResult goes through its bridge", () => {
    expect(toolResultToSignal({ content: [{ type: "text", text: "x" }] }, "t", "cor_1")).toHaveLength(1);
  });

  it("[BRG-16] NodeOutput gives a consistent Result of the same standing", () => {
    const error = kernelError("T4_TOOL_TIMEOUT", "late", ref);
    const rows = [
      [{ status: "success", output: { text: "t" } }, "ok"],
      [{ status: "partial", output: { text: "t" }, error: "half" }, "partial"],
      [{ status: "partial", error: "nothing at all" }, "error"],
      [{ status: "error", error }, "error"],
      [{ status: "error" }, "error"],
      [{ status: "skipped", error: "dormant" }, "skip"],
    ] as const;
    for (const [node, status] of rows) {
      const result = nodeOutputToResult(NodeOutput.parse({ node: "fetch", token_count: 7, ...node }), "cor_1");
      expect([node, result.status, result.metrics.token_count]).toEqual([node, status, 7]);
      expect(validateResult(result)).toBe(result);
    }
    expect(nodeOutputToResult(NodeOutput.parse({ node: "n", status: "error", error }), "cor_1").error).toEqual(error);
  });

  it("[BRG-16] DataPayload and FileReference become valid bodies", () => {
    const data = dataPayloadToBody(DataPayload.parse({ data: [1, 2], schema: "list[int]" }));
    expect(data).toEqual({ data: [1, 2], schema: "list[int]", count: 2 });
    const reference = fileReferenceToBody(FileReference.parse({ file_id: "a.pdf", file_type: "pdf" }));
    expect(reference).toEqual(file);
    expect(isKernelError(validateSignal(createSignal("data", data, ref, "t")))).toBe(false);
    expect(isKernelError(validateSignal(createSignal("file", reference, ref, "t")))).toBe(false);
  });

  it("[BRG-16] the log view has the metadata and not the body", () => {
    const signal = createTextSignal("secret", ref, "cor_1", { urgency: "low" });
    expect(Object.keys(toLogView(signal))).toEqual(["id", "kind", "origin", "trace_id", "tags"]);
    expect(JSON.stringify(toLogView(signal))).not.toContain("secret");
  });

  it("[BRG-16] a JSON-RPC request becomes a Signal and comes back equal", () => {
    for (const params of [{ a: [1] }, null]) {
      const request = createRequest("tools/call", params);
      const signal = jsonrpcRequestToSignal(request, "cor_1");
      expect(validateSignal(signal)).toBe(signal);
      expect(signalToJsonrpcRequest(signal)).toEqual(request);
    }
    const carrier = thrown(() => signalToJsonrpcRequest(createTextSignal("x", ref, "t")));
    expect((carrier as KernelErrorException).error.category).toBe("input");
  });

  it("[BRG-16] ProblemDetails is the HTTP view of a KernelError", () => {
    const problem = throughJson(errorToProblemDetails(kernelError("T5_POLICY_DENIED", "no", ref)));
    expect(problem).toMatchObject({ status: 403, title: "policy", detail: "no" });
  });
});
