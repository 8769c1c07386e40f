// MCP servers that send without end: progress, logs, notices, requests, answers to nothing.
// Law: what a server sends during a call is bounded, and the call ends as any call whose connection broke.

import { describe, expect, it } from "vitest";
import { type McpOperatorsOptions, mcpOperators } from "../../src/packages/operators/mcp/mcp-operators.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { refusal } from "../actors/fixture.ts";
import { intentType, planOf, type Scripted, scripted, text, tool } from "./mcp-fixture.ts";

const connect = (server: Scripted, more: Partial<McpOperatorsOptions> = {}) =>
  mcpOperators({ transport: server.transport, name: "Bad", effect: "read", limits: { maxMessages: 100 }, ...more });

describe("a server that floods", () => {
  it.each<[string, (progressToken: unknown, i: number) => Parameters<Scripted["tell"]>[0]]>([
    ["progress", (progressToken, i) => ({ method: "notifications/progress", params: { progressToken, progress: i } })],
    ["log messages", () => ({ method: "notifications/message", params: { level: "info", data: "x" } })],
    ["changed lists", () => ({ method: "notifications/tools/list_changed" })],
    ["notices that nobody knows", () => ({ method: "notifications/odd" })],
    ["requests", (_token, i) => ({ method: "ping", id: i, params: {} })],
    ["answers to nothing", (_token, i) => ({ id: 1_000_000 + i, result: {} }) as never],
  ])("loses its connection at limits.maxMessages for %s, and the next call makes another", async (_what, flood) => {
    const server = scripted([tool("t")]);
    let sent = 0;
    server.answers["tools/call"] = async ({ _meta }) => {
      if (server.calls().length > 1) return text("calm");
      const { progressToken } = _meta as { readonly progressToken: number };
      for (; sent < 50_000; sent += 1) await server.tell(flood(progressToken, sent));
      return text("flooded");
    };
    const told: Error[] = [];
    await using mcp = await connect(server, { defaults: { retry: "STANDARD" }, onError: (error) => told.push(error) });
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, { operator: "Bad.t" })] });
    const { steps, workflow_id } = await t.run(intentType);
    const [action] = await t.kernel.actions(workflow_id);
    expect([steps[0]?.state, action?.result_payload, server.connections()]).toEqual(["succeeded", "calm", 2]);
    expect([sent, told.filter(({ message }) => message.includes("limits.maxMessages")).length]).toEqual([101, 1]);
  });

  it("a flood in a call that may not be repeated leaves it in doubt, and says why", async () => {
    const server = scripted([tool("t")]);
    server.answers["tools/call"] = async () => {
      for (let i = 0; i < 200; i += 1) await server.tell({ method: "notifications/odd" });
      return text("flooded");
    };
    await using mcp = await connect(server, { effect: "write_draft" });
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, { operator: "Bad.t" })] });
    const { state, workflow_id } = await t.run(intentType);
    expect([state, await t.kernel.gates({ workflow_id })]).toMatchObject(["waiting_for_user", [{ kind: "in_doubt" }]]);
    expect(JSON.stringify(await t.kernel.actions(workflow_id))).toContain("limits.maxMessages");
  });

  it("a flood before the tools are listed is refused, and the connection is closed", async () => {
    const list = async () => {
      for (let i = 0; i < 200; i += 1) await server.tell({ method: "notifications/odd" });
    };
    const server = scripted([], { "tools/list": list });
    const error = await refusal(connect(server));
    expect(error).toMatchObject({
      code: "T4_TOOL_EXECUTION_FAILED",
      message: expect.stringContaining("limits.maxMessages"),
    });
  });

  it("messages of one call do not count against the next", async () => {
    const server = scripted([tool("t")]);
    server.answers["tools/call"] = async () => {
      for (let i = 0; i < 60; i += 1) await server.tell({ method: "notifications/odd" });
      return text("done");
    };
    await using mcp = await connect(server);
    await using t = await createTestKernel({
      capabilities: [planOf(mcp.operators, { operator: "Bad.t" }, { operator: "Bad.t" })],
    });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(server.connections()).toBe(1);
  });
});
