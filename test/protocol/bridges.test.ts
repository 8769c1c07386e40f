import { describe, expect, it } from "vitest";
import {
  createError,
  ErrorCategory,
  isKernelError,
  type KernelError,
  KernelErrorException,
  wrapError,
} from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { HttpSuccess, JobRequest, JobResponse, ProblemDetails } from "../../src/contract/http.ts";
import { fail, metricsOf, ok, partial, skip } from "../../src/contract/result.ts";
import { RpcErrorObject, RpcNotification } from "../../src/contract/rpc.ts";
import { reviveSignal, type Signal, validateSignal } from "../../src/contract/signal.ts";
import { ToolCallRequest, ToolResult } from "../../src/contract/tool.ts";
import { errorToJsonrpcError } from "../../src/protocol/error-to-jsonrpc-error.ts";
import { errorToProblemDetails } from "../../src/protocol/error-to-problem-details.ts";
import { httpRequestToSignal } from "../../src/protocol/http-request-to-signal.ts";
import { resultToHttpResponse } from "../../src/protocol/result-to-http-response.ts";
import { signalToNotification } from "../../src/protocol/signal-to-notification.ts";
import { signalToToolCall, trySignalToToolCall } from "../../src/protocol/signal-to-tool-call.ts";
import { toolResultToSignal } from "../../src/protocol/tool-result-to-signal.ts";
import { countingFactory, ref, throughJson, thrown } from "../contract/samples.ts";

const { signals: make } = countingFactory();
const metrics = metricsOf(ref);
const call = make.createSignal(
  "data",
  { tool: "search", args: { q: 1 }, data: { q: 1 }, schema: "ToolCall" },
  ref,
  "cor_1",
);
const png = Buffer.from([137, 80, 78, 71, 0, 255]).toString("base64");
const content = [
  { type: "text", text: "found" },
  { type: "json", data: [1, 2] },
  { type: "file", file_id: "a.pdf", file_type: "pdf", path: "/tmp/a.pdf" },
  { type: "image", data: png, mimeType: "image/png" },
];
const mixed = ToolResult.parse({ content });
const errorOf = (category: ErrorCategory, severity: KernelError["severity"] = "degraded") =>
  createError("T4_SOME_THING", category, severity, `${category} went wrong`, ref, false, { a: 1, list: [1, { b: 2 }] });

describe("bridge table", () => {
  it("[BRG-02] each of the seven bridges maps a sample to its output schema", () => {
    const error = errorOf("external");
    expect(ToolCallRequest.safeParse(signalToToolCall(call)).success).toBe(true);
    for (const signal of toolResultToSignal(mixed, "t", "cor_1")) expect(validateSignal(signal)).toBe(signal);
    expect(HttpSuccess.safeParse(resultToHttpResponse(ok([call], metrics))).success).toBe(true);
    expect(ProblemDetails.safeParse(resultToHttpResponse(fail(error, metrics))).success).toBe(true);
    const job = { trace_id: "cor_1", depth: 2 };
    expect(JobResponse.safeParse(resultToHttpResponse(ok([call], metrics), { job })).success).toBe(true);
    expect(isKernelError(validateSignal(httpRequestToSignal({ query: "q" }, "cor_1")))).toBe(false);
    expect(RpcNotification.safeParse(signalToNotification(call)).success).toBe(true);
    expect(ProblemDetails.safeParse(errorToProblemDetails(error)).success).toBe(true);
    expect(RpcErrorObject.safeParse(errorToJsonrpcError(error)).success).toBe(true);
  });

  it("[SIG-15] bridges draw one id per Signal they make", () => {
    const { signals, drawn } = countingFactory();
    expect(toolResultToSignal(mixed, "t", "cor_1", { signals })).toHaveLength(4);
    expect(drawn()).toBe(4);
    httpRequestToSignal({ query: "q" }, "cor_1", { signals });
    httpRequestToSignal({ a: 1 }, "cor_1", { signals });
    expect(drawn()).toBe(6);
  });
});

describe("signalToToolCall", () => {
  it("[BRG-03] reads the tool and its arguments", () => {
    expect(signalToToolCall(call)).toStrictEqual({ name: "search", arguments: { q: 1 } });
  });

  it("[BRG-04] any other Signal raises an input error and never yields a request", () => {
    const bad = [
      make.createTextSignal("x", ref, "t"),
      make.createDataSignal({}, "X", ref, "t"),
      make.createSignal("data", { tool: "x", data: 1, schema: "X" }, ref, "t"),
      make.createSignal("data", { tool: "", args: {}, data: 1, schema: "X" }, ref, "t"),
      make.createSignal("data", { tool: "x", args: [], data: 1, schema: "X" }, ref, "t"),
      make.createSignal("command", { tool: "x", args: {}, action: "retry", target: ref }, ref, "t"),
    ];
    for (const signal of bad) {
      const carrier = thrown(() => signalToToolCall(signal));
      expect(carrier).toBeInstanceOf(KernelErrorException);
      expect((carrier as KernelErrorException).error.category).toBe("input");
      expect(trySignalToToolCall(signal)).toEqual((carrier as KernelErrorException).error);
    }
  });
});

describe("toolResultToSignal", () => {
  it("[BRG-05] splits content into Signals in content order, each valid", () => {
    const made = toolResultToSignal(mixed, "t", "cor_1");
    expect(made.map((signal) => signal.kind)).toEqual(["text", "data", "file", "file"]);
    for (const signal of made) expect(validateSignal(signal)).toBe(signal);
    expect(made[0]!.body).toEqual({ text: "found" });
    expect(made[1]!.body).toEqual({ data: [1, 2], schema: "tool/t", count: 2 });
    expect(made[2]!.body).toEqual({ file_id: "a.pdf", file_type: "pdf", path: "/tmp/a.pdf" });
  });

  it("[BRG-06] a failed result is exactly one Signal with the text, marked as an error", () => {
    const result = ToolResult.parse({
      isError: true,
      content: [
        { type: "text", text: "no" },
        { type: "text", text: "disk" },
      ],
    });
    const [signal, ...rest] = toolResultToSignal(result, "t", "cor_1");
    expect(rest).toEqual([]);
    expect([signal!.kind, signal!.body["text"], signal!.tags["is_error"]]).toEqual(["text", "no\ndisk", "true"]);
    const bare = toolResultToSignal(ToolResult.parse({ isError: true, structuredContent: { why: 1 } }), "t", "cor_1");
    expect(bare.map((one) => one.body["text"])).toEqual(['{"why":1}']);
    for (const ordinary of toolResultToSignal(mixed, "t", "cor_1"))
      expect(ordinary.tags).not.toHaveProperty("is_error");
  });

  it("[BRG-07] all Signals share trace, parent and source_type tool", () => {
    for (const result of [mixed, ToolResult.parse({ isError: true }), ToolResult.parse({ content: [] })]) {
      const made = toolResultToSignal(result, "t", "cor_1", { parentId: call.id });
      expect(made.length).toBeGreaterThan(0);
      for (const signal of made) {
        expect([signal.trace_id, signal.parent_id, signal.tags["source_type"]]).toEqual(["cor_1", call.id, "tool"]);
      }
    }
  });

  it("(C-45) inline bytes go to the artifact store and never into the Signal", () => {
    const kept: [Uint8Array, string][] = [];
    const putArtifact = (bytes: Uint8Array, mediaType: string) => {
      kept.push([bytes, mediaType]);
      return { file_id: `art-${kept.length}`, path: null };
    };
    const inline = ToolResult.parse({
      content: [
        { type: "image", data: png, mimeType: "image/png" },
        { type: "file", data: png, mimeType: "x/y" },
        { type: "resource", resource: { uri: "a://b", blob: png } },
      ],
    });
    const made = toolResultToSignal(inline, "t", "cor_1", { putArtifact });
    expect(made.map((signal) => signal.body["file_id"])).toEqual(["art-1", "art-1", "art-1"]);
    expect(made.map((signal) => signal.body["file_type"])).toEqual(["image/png", "x/y", "application/octet-stream"]);
    expect(kept.map(([, mediaType]) => mediaType)).toEqual(["image/png"]);
    for (const [bytes] of kept) expect(bytes).toEqual(new Uint8Array([137, 80, 78, 71, 0, 255]));
    for (const signal of [...made, ...toolResultToSignal(inline, "t", "cor_1")]) {
      expect(JSON.stringify(signal)).not.toContain(png);
    }
  });

  it("[BRG-05] MCP resources, links and structured content have Signals too", () => {
    const result = ToolResult.parse({
      content: [
        { type: "resource", resource: { uri: "a://b", text: "inside" } },
        { type: "resource", resource: { uri: "a://c" } },
        { type: "resource_link", uri: "a://d", mimeType: "text/plain" },
      ],
      structuredContent: { rows: 2 },
    });
    const made = toolResultToSignal(result, "t", "cor_1");
    expect(made.map((signal) => signal.kind)).toEqual(["text", "file", "file", "data"]);
    expect(made[3]!.body["data"]).toEqual({ rows: 2 });
  });
});

describe("HTTP", () => {
  it("[BRG-08] ok and partial give the signals as data, error gives problem details without data", () => {
    const error = errorOf("external");
    for (const result of [ok([call], metrics), partial([call], error, metrics)]) {
      const body = throughJson(resultToHttpResponse(result)) as { data: unknown };
      expect(body.data).toEqual(throughJson([call]));
    }
    expect(resultToHttpResponse(partial([call], error, metrics))).toMatchObject({
      error: errorToProblemDetails(error),
    });
    const problem = resultToHttpResponse(fail(error, metrics));
    expect(problem).toEqual(errorToProblemDetails(error));
    expect(problem).not.toHaveProperty("data");
    expect(resultToHttpResponse(skip("dormant", metrics))).toMatchObject({
      status: "skip",
      data: [],
      reason: "dormant",
    });
    expect(resultToHttpResponse({ ...fail(error, metrics), error: null })).toMatchObject({ status: 500 });
  });

  it("[BRG-09] type, title, status and detail follow the error", () => {
    const statuses = { input: 400, processing: 500, external: 502, resource: 429, policy: 403 };
    for (const category of ErrorCategory.options) {
      const problem = errorToProblemDetails(errorOf(category), { instance: "cor_1" });
      expect(problem).toMatchObject({ title: category, detail: `${category} went wrong`, status: statuses[category] });
      expect(problem.type).toContain("T4_SOME_THING");
      expect(problem.instance).toBe("cor_1");
    }
  });

  it("[BRG-09] a catalogue row sets the status, but not for a wrapped error of another category", () => {
    expect(errorToProblemDetails(kernelError("T4_WORKFLOW_NOT_FOUND", "m", ref)).status).toBe(404);
    expect(errorToProblemDetails(kernelError("T5_IN_FLIGHT_LIMIT", "m", ref)).extensions.next).toMatch(/Try again/);
    const denied = wrapError("T7_ESCALATION_UNHANDLED", kernelError("T5_POLICY_DENIED", "m", ref), ref);
    expect(errorToProblemDetails(denied).status).toBe(403);
  });

  it("[BRG-10] extensions carry the whole cause chain, outermost first", () => {
    const three = wrapError("T7_C_C", wrapError("T4_B_B", errorOf("external"), ref), ref);
    const codes = errorToProblemDetails(three).extensions.chain.map((link) => link.code);
    expect(codes).toEqual(["T7_C_C", "T4_B_B", "T4_SOME_THING"]);
  });

  it("[BRG-11] the hint is -1 for fatal, the configured delay for what may be sent again, else none", () => {
    const hint = (severity: KernelError["severity"], retry_eligible = true) =>
      errorToProblemDetails({ ...errorOf("external", severity), retry_eligible }, { retryAfterSec: 5 });
    expect(hint("fatal").retry_after).toBe(-1);
    expect(hint("transient").retry_after).toBe(5);
    expect(hint("transient", false)).not.toHaveProperty("retry_after");
    expect(hint("degraded")).not.toHaveProperty("retry_after");
  });

  it("[BRG-13] a JobRequest is a TEXT Signal with the job's metadata as tags", () => {
    const request = JobRequest.parse({ query: "q", job_type: "research", depth: 2, max_steps: 5 });
    const signal = httpRequestToSignal(request, "cor_1");
    expect([signal.kind, signal.body, signal.trace_id, signal.parent_id]).toEqual([
      "text",
      { text: "q" },
      "cor_1",
      null,
    ]);
    expect(signal.tags).toMatchObject({ job_type: "research", depth: "2", max_steps: "5", source_type: "user" });
    expect(signal.origin).toMatchObject({ tier: 0, module: "gateway" });
    expect(Object.keys(httpRequestToSignal({ query: "q" }, "cor_1").tags)).not.toContain("depth");
  });

  it("[BRG-13] a JobRequest with bad values is an input error, not data", () => {
    for (const bad of [{ query: "" }, { query: "q", depth: "deep" }, { query: "q", max_steps: 0 }]) {
      const carrier = thrown(() => httpRequestToSignal(bad, "cor_1"));
      expect((carrier as KernelErrorException).error.category).toBe("input");
    }
  });

  it("[BRG-14] any other structured body is a DATA Signal with a schema name", () => {
    const submit = { tenant_id: 1, principal: { type: "user", id: 2 }, input: { mode: "data", query: "q" } };
    const signal = httpRequestToSignal(submit, "cor_1", { schema: "SubmitRequest" });
    expect(signal.body).toEqual({ data: submit, schema: "SubmitRequest" });
    expect(signal.tags["source_type"]).toBe("user");
    for (const body of [submit, [1, 2], { query: "q", other: 1 }, { query: 1 }, "text", null]) {
      const made = httpRequestToSignal(body, "cor_1");
      expect([made.kind, typeof made.body["schema"], made.body["data"]]).toEqual(["data", "string", body]);
      expect(validateSignal(made)).toBe(made);
    }
  });
});

describe("JSON-RPC", () => {
  it("[BRG-12] the code follows the category, and data has every key of detail", () => {
    const codes = { input: -32602, processing: -32603, external: -32003, resource: -32603, policy: -32600 };
    for (const category of ErrorCategory.options) {
      const error = errorOf(category);
      const { code, message, data } = errorToJsonrpcError(error);
      expect([code, message]).toEqual([codes[category], error.message]);
      expect(data).toMatchObject(error.detail);
    }
  });

  it("(C-21) data.kernel tells a policy denial from a bad request", () => {
    const denied = errorToJsonrpcError(kernelError("T5_POLICY_DENIED", "m", ref, { detail: { kernel: "mine" } }));
    expect(denied.data).toEqual({ kernel: { code: "T5_POLICY_DENIED", category: "policy", severity: "fatal" } });
  });

  it("[BRG-15] a notification has no id, and its params rebuild the Signal", () => {
    const samples: readonly Signal[] = [call, make.createStreamSignal(new Uint8Array([1]), 0, true, ref, "cor_1")];
    for (const signal of samples) {
      const notification = signalToNotification(signal);
      expect(notification).toMatchObject({ jsonrpc: "2.0", method: `kernel/signal/${signal.kind}` });
      expect(notification).not.toHaveProperty("id");
      expect(reviveSignal(throughJson(notification.params))).toStrictEqual(signal);
    }
  });
});
