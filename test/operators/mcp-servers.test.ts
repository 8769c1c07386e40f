// Tools of published MCP servers, as child processes, through the whole kernel: policy, gate, ledger, artifacts. Laws:
// what a person approves is what the server gets; what policy denies it never hears of; nothing is left after close.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { memoryArtifacts } from "../../src/adapters/memory-artifacts.ts";
import { sha256 } from "../../src/contract/digest.ts";
import { definePolicySet } from "../../src/define/define-policy-set.ts";
import { type McpOperators, mcpOperators } from "../../src/packages/operators/mcp/mcp-operators.ts";
import {
  createTestKernel,
  type TestKernel,
  type TestKernelOptions,
  testCaller,
} from "../../src/testing/test-kernel.ts";
import { intentType, planOf, type RealServer, realServer } from "./mcp-fixture.ts";
import { makeTempFolder, type TempFolder } from "./temp-folder.ts";

/** A process may take its time to start on a busy machine. */
const spawnTimeoutMs = 60_000;

type Steps = Parameters<typeof planOf> extends [unknown, ...infer S] ? S : never;

const kernelOf = (mcp: McpOperators, steps: Steps, more: TestKernelOptions = {}): Promise<TestKernel> =>
  createTestKernel({ capabilities: [planOf(mcp.operators, ...steps)], limits: { maxReplans: 0 }, ...more });

/** The state in which the workflow rests, without moving time: a child process answers in its own. */
async function settle(t: TestKernel): Promise<Awaited<ReturnType<TestKernel["rest"]>>> {
  return t.kernel.settled(await t.submit(intentType));
}

/** What the calls of a workflow gave, in the order of their steps. */
const resultsOf = async (t: TestKernel, workflowId: string): Promise<readonly unknown[]> =>
  (await t.kernel.actions(workflowId)).map(({ result_payload }) => result_payload);

describe("the file system server", () => {
  let folder: TempFolder;
  let server: RealServer;
  let files: McpOperators;
  beforeAll(async () => {
    folder = makeTempFolder();
    server = realServer("server-filesystem", folder.path);
    files = await mcpOperators({ transport: server.transport, name: "Files", trustAnnotations: true });
  }, spawnTimeoutMs);
  afterAll(async () => {
    await files.close();
    folder[Symbol.dispose]();
    expect(server.alive()).toEqual([]);
  });
  const at = (name: string) => join(folder.path, name);

  it("each of its tools is an operator under the host's prefix and the server's version, by its annotations", () => {
    const named = new Map(files.operators.map(({ metadata }) => [metadata.name, metadata]));
    expect(files.leftOut).toEqual([]);
    expect(named.get("Files.read_text_file")).toMatchObject({ effect: "read", kind: "tool", version: "0.2.0" });
    expect(named.get("Files.write_file")).toMatchObject({
      effect: "final_write",
      idempotent: true,
      risk_level: "high",
    });
    expect(named.get("Files.edit_file")).toMatchObject({ effect: "final_write", idempotent: false });
    expect([...named.keys()].every((name) => name.startsWith("Files."))).toBe(true);
  });

  it("[OPR-05] a file is written after a person approved that very payload, and read without asking", async () => {
    const payload = { path: at("letter.txt"), content: "Dear Bo" };
    await using t = await kernelOf(files, [
      { operator: "Files.write_file", params: payload },
      { operator: "Files.read_text_file", params: { path: payload.path } },
    ]);
    const waiting = await settle(t);
    expect(waiting.state).toBe("waiting_for_user");
    expect(existsSync(payload.path)).toBe(false);
    expect(server.calls()).toEqual([]);
    const [gate] = await t.kernel.gates({ workflow_id: waiting.workflow_id });
    expect(gate?.payload).toEqual(payload);
    await t.approve(waiting.workflow_id, gate?.gate_id, { payload_digest: gate?.payload_digest });
    const done = await t.kernel.settled(waiting.workflow_id);
    expect(done.state).toBe("completed");
    expect(readFileSync(payload.path, "utf8")).toBe("Dear Bo");
    expect((await resultsOf(t, done.workflow_id))[1]).toEqual({ content: "Dear Bo" });
    expect(server.calls().map(({ params }) => params?.["arguments"])).toEqual([payload, { path: payload.path }]);
    expect((await t.kernel.replay(waiting.workflow_id)).identical).toBe(true);
  });

  it("what policy denies is never heard of by the server", async () => {
    const before = server.heard.length;
    const rule = { name: "no-files", stages: ["action"], when: {}, decision: "DENY", reason: "not today" };
    const rules = definePolicySet({ version: "1", rules: [rule] });
    const steps: Steps = [{ operator: "Files.read_text_file", params: { path: at("letter.txt") } }];
    await using t = await kernelOf(files, steps, { policies: [rules] });
    const { steps: ended } = await settle(t);
    expect(ended[0]).toMatchObject({ state: "failed", error: { code: "T5_POLICY_DENIED" } });
    expect(server.heard.length).toBe(before);
  });

  it("arguments that its schema refuses are refused here", async () => {
    const before = server.heard.length;
    await using t = await kernelOf(files, [{ operator: "Files.read_text_file", params: { path: 7 } }]);
    const { steps } = await settle(t);
    expect(steps[0]?.error?.code).toBe("T4_PARAMS_INVALID");
    expect(server.heard.length).toBe(before);
  });

  it("a tool that says isError fails with its own words, and what may not be repeated is not tried again", async () => {
    writeFileSync(at("a.txt"), "a");
    const before = server.calls().length;
    const params = { source: at("a.txt"), destination: join(folder.path, "..", "b.txt") };
    await using t = await kernelOf(files, [{ operator: "Files.move_file", params }]);
    const { workflow_id } = await settle(t);
    await t.approve(workflow_id);
    const { steps } = await t.kernel.settled(workflow_id);
    expect(steps[0]?.error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", message: /outside allowed/ });
    expect(server.calls().length - before).toBe(1);
    expect(existsSync(params.source)).toBe(true);
  });
});

describe("the server of everything", () => {
  let server: RealServer;
  let all: McpOperators;
  beforeAll(async () => {
    server = realServer("server-everything");
    all = await mcpOperators({ transport: server.transport, name: "All", trustAnnotations: true });
  }, spawnTimeoutMs);
  afterAll(async () => {
    await all.close();
    expect(server.alive()).toEqual([]);
  });

  it("[BRG-05] text, structured content and an image come back as text, data and an artifact", async () => {
    const artifacts = memoryArtifacts();
    const steps: Steps = [
      { operator: "All.echo", params: { message: "hello" } },
      { operator: "All.get-sum", params: { a: 2, b: 40 } },
      { operator: "All.get-structured-content", params: { location: "Chicago" } },
      { operator: "All.get-tiny-image" },
    ];
    await using t = await kernelOf(all, steps, { artifacts });
    const { state, workflow_id } = await settle(t);
    expect(state).toBe("completed");
    const results = await resultsOf(t, workflow_id);
    const [echo, sum, weather, image] = results;
    expect(echo).toBe("Echo: hello");
    expect(sum).toContain("42");
    expect(weather).toMatchObject({ temperature: expect.any(Number), conditions: expect.any(String) });
    const [file] = (image as { files: { file_id: string; file_type: string }[] }).files;
    expect(file?.file_type).toBe("image/png");
    const bytes = (await artifacts.get(file?.file_id ?? "")) as Uint8Array;
    expect(file?.file_id).toBe(`sha256-${sha256(bytes)}`);
    expect([...bytes.slice(1, 4)]).toEqual([..."PNG"].map((c) => c.charCodeAt(0)));
    expect(JSON.stringify(results)).not.toContain(Buffer.from(bytes).toString("base64"));
  });

  it("what can be called as a task only is left out, and said so", () => {
    expect(all.leftOut).toEqual([{ tool: "simulate-research-query", reason: "it can be called as a task only" }]);
  });

  it("progress is in the ledger while the tool runs, and a cancelled workflow cancels the call", async () => {
    const slow = { operator: "All.trigger-long-running-operation", params: { duration: 100, steps: 1000 } };
    await using t = await kernelOf(all, [slow]);
    const id = await t.submit(intentType);
    for await (const event of t.kernel.events(id)) {
      const { percent } = event.payload as { readonly percent?: number };
      if (event.event_type === "STEP_STREAMED" && percent !== undefined && percent > 0) break;
    }
    await t.kernel.cancel(id, testCaller);
    expect((await t.kernel.settled(id)).state).toBe("cancelled");
    const called = server.calls().at(-1);
    expect(called?.params?.["_meta"]).toMatchObject({ "countersign/idempotency-key": expect.any(String) });
    expect(server.heard.at(-1)).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: called?.id },
    });
  });
});

describe("the SDK's own server over HTTP", () => {
  const seen: { era: string; key: unknown }[] = [];
  const cancelled = Promise.withResolvers<void>();
  const handler = createMcpHandler(({ era }) => {
    const server = new McpServer({ name: "sdk", version: "3.1.0" });
    const double = { inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ twice: z.number() }) };
    server.registerTool("double", { ...double, annotations: { readOnlyHint: true } }, ({ n }, { mcpReq }) => {
      seen.push({ era, key: mcpReq._meta?.["countersign/idempotency-key"] });
      return { content: [], structuredContent: { twice: 2 * n } };
    });
    server.registerTool("wait", { annotations: { readOnlyHint: true } }, async ({ mcpReq }) => {
      const params = { progressToken: mcpReq._meta?.progressToken ?? 0, progress: 1, total: 4, message: "waiting" };
      await mcpReq.notify({ method: "notifications/progress", params });
      await new Promise<void>((resolve) => mcpReq.signal.addEventListener("abort", () => resolve(), { once: true }));
      cancelled.resolve();
      return { content: [] };
    });
    return server;
  });
  afterAll(() => handler.close());
  const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init));
  const transport = () => new StreamableHTTPClientTransport(new URL("http://sdk.invalid/mcp"), { fetch });

  it.each([
    ["auto", "modern"],
    ["legacy", "legacy"],
  ] as const)(
    "asked for %s speaks the %s protocol; structured content is the step's data, the key arrives",
    async (negotiation, era) => {
      await using mcp = await mcpOperators({ transport, name: "Sdk", trustAnnotations: true, negotiation });
      expect(mcp.server).toEqual({ name: "sdk", version: "3.1.0" });
      await using t = await kernelOf(mcp, [{ operator: "Sdk.double", params: { n: 21 } }]);
      const { workflow_id } = await settle(t);
      const [action] = await t.kernel.actions(workflow_id);
      expect(action?.result_payload).toEqual({ twice: 42 });
      expect(seen.at(-1)).toEqual({ era, key: action?.idempotency_key });
    },
  );

  it("streams progress, and a cancelled workflow ends the request that the tool works for", async () => {
    await using mcp = await mcpOperators({ transport, name: "Sdk", trustAnnotations: true, negotiation: "auto" });
    await using t = await kernelOf(mcp, [{ operator: "Sdk.wait" }]);
    const id = await t.submit(intentType);
    for await (const { event_type, payload } of t.kernel.events(id))
      if (event_type === "STEP_STREAMED") {
        expect(payload).toMatchObject({ percent: 25, chunks: ["waiting\n"] });
        break;
      }
    await t.kernel.cancel(id, testCaller);
    await cancelled.promise;
    expect((await t.kernel.settled(id)).state).toBe("cancelled");
  });
});
