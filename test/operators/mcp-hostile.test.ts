// MCP servers that lie, flood, hang or change their mind, against mcpOperators and a kernel on a virtual clock.
// Laws: a bad tool is left out and spoils no other; every listing, result and notice is bounded; nothing hangs.

import type { Tool } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { memoryArtifacts } from "../../src/adapters/memory-artifacts.ts";
import { type McpOperatorsOptions, mcpOperators } from "../../src/packages/operators/mcp/mcp-operators.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { refusal } from "../actors/fixture.ts";
import { intentType, never, planOf, type Scripted, scripted, text, tool } from "./mcp-fixture.ts";

const connect = (server: Scripted, more: Partial<McpOperatorsOptions> = {}) =>
  mcpOperators({ transport: server.transport, name: "Bad", effect: "read", ...more });

/** Calls the tool `t` once, with these arguments, and gives the step as it ended. */
async function callOnce(
  server: Scripted,
  {
    options = {},
    params = {},
    kernel = {},
  }: { options?: Partial<McpOperatorsOptions>; params?: object; kernel?: TestKernelOptions } = {},
) {
  await using mcp = await connect(server, { defaults: { retry: "NONE" }, ...options });
  const capabilities = [planOf(mcp.operators, { operator: "Bad.t", params: params as never })];
  await using t = await createTestKernel({ capabilities, limits: { maxReplans: 0 }, ...kernel });
  const { steps, workflow_id } = await t.run(intentType);
  const actions = await t.kernel.actions(workflow_id);
  return { step: steps[0], result: actions[0]?.result_payload };
}

describe("what a server lists", () => {
  it("two tools of one name are no operator, nor two whose names become the same", async () => {
    const server = scripted([tool("twice"), tool("ok"), tool("twice"), tool("a b"), tool("a/b")]);
    await using mcp = await connect(server);
    expect(mcp.operators.map(({ metadata }) => metadata.name)).toEqual(["Bad.ok"]);
    expect(mcp.leftOut.map(({ tool: name, reason }) => [name, reason])).toEqual(
      ["twice", "twice", "a b", "a/b"].map((name) => [name, "two tools have this name"]),
    );
  });

  it.each<[string, Partial<Tool>]>([
    [
      "a pattern that is none",
      { inputSchema: { type: "object", properties: { a: { type: "string", pattern: "(" } } } },
    ],
    [
      "a reference out of the document",
      { inputSchema: { type: "object", properties: { a: { $ref: "https://example.org/a" } } } },
    ],
    ["a dialect that nobody knows", { inputSchema: { $schema: "https://example.org/dialect", type: "object" } }],
    ["an output schema that is none", { outputSchema: { type: "object", properties: { a: { type: "nothing" } } } }],
    ["a description without end", { description: "x".repeat(200_000) }],
    ["a name without end", { name: "n".repeat(500) }],
  ])("a tool with %s is left out, with a reason, and the others stay", async (_what, wrong) => {
    await using mcp = await connect(scripted([tool("bad", wrong), tool("ok")]));
    expect(mcp.operators.map(({ metadata }) => metadata.name)).toEqual(["Bad.ok"]);
    expect(mcp.leftOut).toEqual([{ tool: expect.any(String), reason: expect.stringMatching(/./) }]);
  });

  it("one schema's id says nothing of another server's, nor of the same server's next listing", async () => {
    const withId = (type: string) =>
      tool("t", { inputSchema: { $id: "https://example.org/x", type: "object", properties: { a: { type } } } });
    await using first = await connect(scripted([withId("string")]));
    await using second = await connect(scripted([withId("number")]));
    expect([...first.leftOut, ...second.leftOut]).toEqual([]);
    expect(second.operator("t").input.safeParse({ a: 1 }).success).toBe(true);
    expect(first.operator("t").input.safeParse({ a: 1 }).success).toBe(false);
  });

  it("pages without end are refused at limits.maxPages, and the connection is closed", async () => {
    let page = 0;
    const list = () => {
      page += 1;
      return { tools: [tool(`t${page}`)], nextCursor: String(page) };
    };
    const server = scripted([], { "tools/list": list });
    const error = await refusal(connect(server, { limits: { maxPages: 5 } }));
    expect(error).toMatchObject({
      code: "T0_VALIDATION_PAYLOAD_TOO_LARGE",
      message: expect.stringContaining("maxPages"),
    });
    expect(page).toBe(5);
    await expect(server.tell({ method: "notifications/tools/list_changed" })).rejects.toThrow("Not connected");
  });

  it("all pages of a long listing are taken", async () => {
    const list = ({ cursor = "0" }: Readonly<Record<string, unknown>>) => {
      const next = Number(cursor) + 1;
      return { tools: [tool(`t${cursor}`)], ...(next < 7 ? { nextCursor: String(next) } : {}) };
    };
    await using mcp = await connect(scripted([], { "tools/list": list }));
    expect(mcp.operators).toHaveLength(7);
  });

  it("more tools than limits.maxTools are refused", async () => {
    const many = Array.from({ length: 20 }, (_, i) => tool(`t${i}`));
    const error = await refusal(connect(scripted(many), { limits: { maxTools: 19 } }));
    expect(error).toMatchObject({
      code: "T0_VALIDATION_PAYLOAD_TOO_LARGE",
      message: expect.stringContaining("maxTools"),
    });
  });

  it("a listing that is none is refused", async () => {
    expect((await refusal(connect(scripted([{ title: "no name" }])))).code).toBe("T4_OUTPUT_INVALID");
  });

  it("a server without tools gives no operators", async () => {
    const initialize = ({ protocolVersion }: Readonly<Record<string, unknown>>) => ({
      protocolVersion,
      capabilities: {},
      serverInfo: { name: "", version: "" },
    });
    await using mcp = await connect(scripted([], { initialize }));
    expect([mcp.operators, mcp.server]).toEqual([[], { name: "server", version: "1.0" }]);
  });

  it("a name of the server's own begins with Mcp. and holds only letters, digits and dashes", async () => {
    const initialize = ({ protocolVersion }: Readonly<Record<string, unknown>>) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "Git\n.Log", version: "9".repeat(500) },
    });
    await using mcp = await mcpOperators({ transport: scripted([tool("x.y")], { initialize }).transport });
    const [one] = mcp.operators;
    expect([one?.metadata.name, one?.metadata.version.length]).toEqual(["Mcp.Git_Log.x_y", 64]);
  });
});

describe("a server that does not answer", () => {
  it.each(["initialize", "tools/list"])("to %s is given up after limits.answerTimeoutMs", async (method) => {
    const error = await refusal(connect(scripted([], { [method]: never }), { limits: { answerTimeoutMs: 30 } }));
    expect(error).toMatchObject({ code: "T4_TOOL_TIMEOUT", retry_eligible: true });
  });

  it("because its transport never starts is given up as well", async () => {
    const transport = () => new Promise<never>(() => undefined);
    expect((await refusal(mcpOperators({ transport, limits: { answerTimeoutMs: 30 } }))).code).toBe("T4_TOOL_TIMEOUT");
  });

  it("because there is none cannot be reached, and trying again does not help", async () => {
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    const transport = () => new StdioClientTransport({ command: "/nowhere/to/be/found" });
    expect(await refusal(mcpOperators({ transport }))).toMatchObject({
      code: "T4_TOOL_EXECUTION_FAILED",
      retry_eligible: false,
    });
  });

  it("to a call is given up after the operator's timeout and told so; a reading call is repeated", async () => {
    const server = scripted([tool("t")]);
    server.answers["tools/call"] = () => (server.calls().length === 1 ? never() : text("at last"));
    const { step, result } = await callOnce(server, {
      options: { defaults: { timeoutSec: 3, retry: "STANDARD" } },
      // The server is in this process: nothing outside may answer for it.
      kernel: { clock: createVirtualClock(undefined, { patienceMs: 40 }) },
    });
    expect([step?.state, result]).toEqual(["succeeded", "at last"]);
    const [first] = server.calls();
    const cancelled = server.heard.find((m) => "method" in m && m.method === "notifications/cancelled");
    expect(cancelled).toMatchObject({ params: { requestId: first?.id } });
  });
});

describe("what a server answers", () => {
  const answering = (result: unknown, more: Partial<Tool> = {}) =>
    scripted([tool("t", more)], { "tools/call": () => result });

  it.each<[string, unknown]>([
    ["content that is no list", { content: "sunny" }],
    ["an item of no kind", { content: [{ type: "hologram" }] }],
    ["an image that is no base64", { content: [{ type: "image", data: "?!", mimeType: "image/png" }] }],
    ["a text that is none", { content: [{ type: "text", text: 7 }] }],
  ])("%s, as a result, is an invalid output, and the call is not made again", async (_what, result) => {
    const server = answering(result);
    const { step } = await callOnce(server, { options: { defaults: { retry: "AGGRESSIVE" } } });
    expect(step?.error?.code).toBe("T4_OUTPUT_INVALID");
    expect(server.calls()).toHaveLength(1);
  });

  it("a result larger than limits.maxResultChars is refused, and the call is not made again", async () => {
    const server = answering({ content: [{ type: "text", text: "x".repeat(5_000) }] });
    const options = { limits: { maxResultChars: 4_000 }, defaults: { retry: "AGGRESSIVE" } };
    const { step } = await callOnce(server, { options });
    expect(step?.error).toMatchObject({
      code: "T4_OUTPUT_INVALID",
      message: expect.stringContaining("maxResultChars"),
    });
    expect(server.calls()).toHaveLength(1);
  });

  it("structured content that violates its output schema is an invalid output; valid content is the data", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    const wrong = await callOnce(answering({ content: [], structuredContent: { n: "one" } }, { outputSchema }));
    expect(wrong.step?.error?.code).toBe("T4_OUTPUT_INVALID");
    const missing = await callOnce(answering(text("one"), { outputSchema }));
    expect(missing.step?.error?.code).toBe("T4_OUTPUT_INVALID");
    const right = await callOnce(answering({ content: [], structuredContent: { n: 1 } }, { outputSchema }));
    expect(right.result).toEqual({ n: 1 });
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const both = await callOnce(answering({ content: [image], structuredContent: { n: 1 } }, { outputSchema }));
    expect(both.result).toMatchObject({ data: { n: 1 }, files: [{ file_type: "image/png" }] });
  });

  it("a blob goes to the artifact store, and the ledger holds its name", async () => {
    const artifacts = memoryArtifacts();
    const blob = Buffer.from("secret bytes").toString("base64");
    const server = answering({ content: [{ type: "resource", resource: { uri: "file:///x.bin", blob } }] });
    const { result } = await callOnce(server, { kernel: { artifacts } });
    const [file] = (result as { files: { file_id: string }[] }).files;
    expect(Buffer.from((await artifacts.get(file?.file_id ?? "")) ?? []).toString()).toBe("secret bytes");
    expect(JSON.stringify(result)).not.toContain(blob);
  });

  it("progress without end is passed on limits.maxProgress times, a message to limits.maxProgressChars", async () => {
    const server = scripted([tool("t")]);
    server.answers["tools/call"] = async ({ _meta }) => {
      const { progressToken } = _meta as { readonly progressToken: number };
      for (let i = 1; i <= 50; i += 1) {
        const params = { progressToken, progress: i, total: 100, message: `${i} ${"x".repeat(100)}` };
        await server.tell({ method: "notifications/progress", params });
      }
      return text("done");
    };
    await using mcp = await connect(server, { limits: { maxProgress: 3, maxProgressChars: 5 } });
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, { operator: "Bad.t" })] });
    const { workflow_id } = await t.run(intentType);
    const streamed: { chunks: string[]; percent: number | null }[] = [];
    for await (const { event_type, payload } of t.kernel.events(workflow_id, { live: false }))
      if (event_type === "STEP_STREAMED") streamed.push(payload as never);
    expect(streamed.flatMap(({ chunks }) => chunks)).toEqual(["1 xxx\n", "2 xxx\n", "3 xxx\n"]);
    expect(streamed.at(-1)?.percent).toBe(3);
  });

  it("arguments that it refuses as malformed are mended once from its schema", async () => {
    const inputSchema: Tool["inputSchema"] = { type: "object", properties: { size: { type: "integer" } } };
    const server = scripted([tool("t", { inputSchema })]);
    server.answers["tools/call"] = ({ arguments: args }) => {
      if ("extra" in (args as object)) throw { code: -32602, message: "extra is unknown" };
      return text("mended");
    };
    const { result } = await callOnce(server, { params: { size: 1, extra: true } });
    expect(result).toBe("mended");
    expect(server.calls().map(({ params }) => params?.["arguments"])).toEqual([{ size: 1, extra: true }, { size: 1 }]);
  });

  it("a refusal that cannot be mended is not tried again", async () => {
    const server = scripted([tool("t")]);
    server.answers["tools/call"] = () => {
      throw { code: -32601, message: "no such method" };
    };
    const { step } = await callOnce(server, { options: { defaults: { retry: "AGGRESSIVE" } } });
    expect(step?.error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", detail: { rpc_code: -32601 } });
    expect(server.calls()).toHaveLength(1);
  });

  it("an error that calls itself the kernel's own is a tool's error like any other", async () => {
    const server = scripted([tool("t")]);
    const kernel = { code: "T5_POLICY_DENIED", category: "policy", severity: "fatal" };
    server.answers["tools/call"] = () => {
      throw { code: -32003, message: "denied", data: { kernel } };
    };
    expect((await callOnce(server)).step?.error?.code).toBe("T4_TOOL_EXECUTION_FAILED");
  });
});

describe("what a server asks", () => {
  it.each(["sampling/createMessage", "elicitation/create", "roots/list"])(
    "%s is declined: it was not offered",
    async (method) => {
      const server = scripted([tool("t")]);
      await using _mcp = await connect(server);
      const [initialize] = server.heard;
      expect(initialize).toMatchObject({ params: { capabilities: {} } });
      await server.tell({ method, id: 99, params: {} });
      await new Promise((resolve) => setImmediate(resolve));
      expect(server.heard.at(-1)).toMatchObject({ id: 99, error: { code: expect.any(Number) } });
    },
  );

  it("roots are given where the host names them", async () => {
    const server = scripted([tool("t")]);
    const roots = [{ uri: "file:///tmp/here", name: "here" }];
    await using _mcp = await connect(server, { roots });
    await server.tell({ method: "roots/list", id: 99, params: {} });
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.heard.at(-1)).toMatchObject({ id: 99, result: { roots } });
  });
});

describe("tools that change under way", () => {
  const list = (server: Scripted, tools: readonly unknown[]) => {
    server.answers["tools/list"] = () => ({ tools });
    return server.tell({ method: "notifications/tools/list_changed" });
  };

  it.each<[string, readonly unknown[]]>([
    ["was renamed", [tool("other")]],
    ["takes other arguments", [tool("t", { inputSchema: { type: "object", required: ["more"] } })]],
    ["says something else of its effect", [tool("t", { annotations: { destructiveHint: true } })]],
    ["is there twice", [tool("t"), tool("t")]],
  ])("a tool that %s is not called any more until the host has looked again", async (_what, tools) => {
    const server = scripted([tool("t")]);
    await using mcp = await connect(server);
    await using t = await createTestKernel({
      capabilities: [planOf(mcp.operators, { operator: "Bad.t" })],
      limits: { maxReplans: 0 },
    });
    expect((await t.run(intentType)).state).toBe("completed");
    await list(server, tools);
    const { steps } = await t.run(intentType);
    expect(steps[0]?.error?.code).toBe("T4_OPERATOR_UNKNOWN");
    expect(server.calls()).toHaveLength(1);
  });

  it("a tool whose description alone changed is called as before", async () => {
    const server = scripted([tool("t")]);
    await using mcp = await connect(server);
    await list(server, [tool("t", { description: "in other words" })]);
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, { operator: "Bad.t" })] });
    expect((await t.run(intentType)).state).toBe("completed");
  });

  it("refresh lists the added, changed and removed ones; a changed tool is a new version of its operator", async () => {
    const server = scripted([tool("same"), tool("t"), tool("gone")]);
    await using mcp = await connect(server);
    const before = mcp.operator("same");
    const changed = tool("t", { inputSchema: { type: "object", required: ["more"] } });
    await list(server, [tool("same"), changed, tool("new")]);
    expect(await mcp.refresh()).toEqual({ added: ["new"], changed: ["t"], removed: ["gone"] });
    expect(mcp.operator("same")).toBe(before);
    expect(mcp.operators.map(({ metadata: { name, version } }) => `${name}@${version}`)).toEqual([
      "Bad.same@1.2.0",
      "Bad.t@1.2.0.1",
      "Bad.new@1.2.0.1",
    ]);
    expect(() => mcp.operator("gone")).toThrow("T4_OPERATOR_UNKNOWN");
    expect(await mcp.refresh()).toEqual({ added: [], changed: [], removed: [] });
  });

  it("the new version runs in a kernel that had the old one", async () => {
    const server = scripted([tool("t")]);
    await using mcp = await connect(server);
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, { operator: "Bad.t" })] });
    await list(server, [tool("t", { inputSchema: { type: "object", properties: {} } })]);
    await mcp.refresh();
    t.kernel.registerOperator(mcp.operator("t"));
    expect((await t.run(intentType)).state).toBe("completed");
    expect(server.calls()).toHaveLength(1);
  });
});
