// What becomes of a call whose MCP server is lost, hangs or fails in the middle of it.
// Laws: a call that reads is made again on a new connection; one that may have taken effect is never guessed about.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import {
  type McpOperators,
  type McpOperatorsOptions,
  mcpOperators,
} from "../../src/packages/operators/mcp/mcp-operators.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { intentType, never, planOf, realServer, type Scripted, scripted, text, tool } from "./mcp-fixture.ts";

const connect = (
  server: { readonly transport: McpOperatorsOptions["transport"] },
  more: Partial<McpOperatorsOptions> = {},
) => mcpOperators({ transport: server.transport, name: "Far", effect: "read", ...more });

/** May take effect, may not be repeated, and needs no gate of its own. */
const writes = { effect: "write_draft" } as const;

/**
 * For servers in this process: what they do not answer at once they never answer, so a clock waits for nothing outside.
 */
const clockOfOneProcess = () => createVirtualClock(undefined, { patienceMs: 40 });

const kernelOf = (mcp: McpOperators, ...names: readonly string[]): Promise<TestKernel> =>
  createTestKernel({
    capabilities: [planOf(mcp.operators, ...names.map((name) => ({ operator: `Far.${name}` })))],
    limits: { maxReplans: 0 },
    clock: clockOfOneProcess(),
  });

const keysOf = (server: Scripted): readonly unknown[] =>
  server.calls().map(({ params: { _meta } = {} }) => _meta?.["countersign/idempotency-key"]);

/** The first call of the server never ends; the later ones do. */
const hangOnce = (server: Scripted): void => {
  server.answers["tools/call"] = () => (server.calls().length === 1 ? never() : text("second time"));
};

async function dropDuringCall(server: Scripted, t: TestKernel): Promise<string> {
  const called = server.next("tools/call");
  const id = await t.submit(intentType);
  await called;
  await server.drop();
  return id;
}

describe("a connection lost in the middle of a call", () => {
  it.each(["read", "none"] as const)(
    "whose effect is %s: the kernel makes the call again, on a new one",
    async (effect) => {
      const server = scripted([tool("t")]);
      hangOnce(server);
      await using mcp = await connect(server, { effect });
      await using t = await kernelOf(mcp, "t");
      const id = await dropDuringCall(server, t);
      const { state, steps } = await t.rest(id);
      expect([state, steps[0]?.output_text, server.connections()]).toEqual(["completed", "second time", 2]);
      expect(new Set(keysOf(server)).size).toBe(1);
      expect(await t.types(id)).toContain("ACTION_RETRY_SCHEDULED");
      expect((await t.kernel.replay(id)).identical).toBe(true);
    },
  );

  it("that is idempotent by the host's word: made again under the same key", async () => {
    const server = scripted([tool("t")]);
    hangOnce(server);
    await using mcp = await connect(server, { tools: { t: { ...writes, idempotent: true } } });
    await using t = await kernelOf(mcp, "t");
    expect((await t.rest(await dropDuringCall(server, t))).state).toBe("completed");
    expect(keysOf(server)).toHaveLength(2);
    expect(new Set(keysOf(server)).size).toBe(1);
  });

  it("that may have taken effect: a person is asked, and nothing is called meanwhile", async () => {
    const server = scripted([tool("t")]);
    hangOnce(server);
    await using mcp = await connect(server, { tools: { t: writes } });
    await using t = await kernelOf(mcp, "t");
    const id = await dropDuringCall(server, t);
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(await t.kernel.gates({ workflow_id: id })).toMatchObject([{ kind: "in_doubt", operator: "Far.t" }]);
    expect(server.calls()).toHaveLength(1);
    await t.approve(id, "gate-s1_doubt1", { resolution: "retry" });
    expect((await t.rest(id)).state).toBe("completed");
    expect([server.calls().length, server.connections()]).toEqual([2, 2]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("that a person says was done: it is not called again", async () => {
    const server = scripted([tool("t")]);
    hangOnce(server);
    await using mcp = await connect(server, { tools: { t: writes } });
    await using t = await kernelOf(mcp, "t");
    const id = await dropDuringCall(server, t);
    await t.rest(id);
    await t.approve(id, "gate-s1_doubt1", { resolution: "done", result: "it is there" });
    expect(await t.rest(id)).toMatchObject({ state: "completed", steps: [{ output_text: "it is there" }] });
    expect(server.calls()).toHaveLength(1);
  });
});

describe("a connection lost between calls", () => {
  it("costs nothing: an unrepeatable call is made on a new one, after the tools were listed again", async () => {
    const server = scripted([tool("t")]);
    await using mcp = await connect(server, { tools: { t: writes } });
    await server.drop();
    await using t = await kernelOf(mcp, "t");
    expect((await t.run(intentType)).state).toBe("completed");
    const methods = server.heard.map((message) => ("method" in message ? message.method : ""));
    expect(methods.slice(-3)).toEqual(["notifications/initialized", "tools/list", "tools/call"]);
    expect([server.calls().length, server.connections()]).toEqual([1, 2]);
  });

  it("that cannot be made again fails the attempts, and is no doubt: nothing was called", async () => {
    const server = scripted([tool("t")]);
    let tries = 0;
    const transport = () => {
      tries += 1;
      if (tries > 1) throw new Error("the house is empty");
      return server.transport();
    };
    await using mcp = await connect({ transport }, { tools: { t: writes } });
    await server.drop();
    await using t = await kernelOf(mcp, "t");
    const { state, steps } = await t.run(intentType);
    expect([state, tries]).toEqual(["failed", 4]);
    expect(steps[0]?.error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", message: /the house is empty/ });
    expect(server.calls()).toEqual([]);
  });

  it("a transport that was given as it is serves once", async () => {
    const server = scripted([tool("t")]);
    await using mcp = await connect({ transport: server.transport() });
    await server.drop();
    await using t = await kernelOf(mcp, "t");
    const { steps } = await t.run(intentType);
    expect(steps[0]?.error?.message).toMatch(/give a function/);
    expect(await t.types((await t.kernel.workflows())[0]?.workflow_id ?? "")).not.toContain("ACTION_RETRY_SCHEDULED");
  });

  it("calls side by side open one new connection together", async () => {
    const server = scripted([tool("a"), tool("b"), tool("c")]);
    await using mcp = await connect(server);
    await server.drop();
    const steps = ["a", "b", "c"].map((name) => ({ operator: `Far.${name}`, depends_on: [] }));
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, ...steps)] });
    expect((await t.run(intentType)).state).toBe("completed");
    expect([server.calls().length, server.connections()]).toEqual([3, 2]);
  });
});

describe("a call that its timeout ends", () => {
  it("and that may have taken effect is asked about; the server was told to stop", async () => {
    const server = scripted([tool("t")]);
    hangOnce(server);
    await using mcp = await connect(server, { tools: { t: { ...writes, timeoutSec: 5 } } });
    await using t = await kernelOf(mcp, "t");
    const { state, workflow_id } = await t.run(intentType);
    expect(state).toBe("waiting_for_user");
    expect(await t.kernel.gates()).toMatchObject([{ kind: "in_doubt" }]);
    expect(server.heard.at(-1)).toMatchObject({ method: "notifications/cancelled" });
    expect([server.calls().length, server.connections()]).toEqual([1, 1]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("leaves the connection to the calls beside it and after it", async () => {
    const server = scripted([tool("a"), tool("b")]);
    const answer = Promise.withResolvers<unknown>();
    server.answers["tools/call"] = ({ name }) => (name === "a" ? never() : answer.promise);
    const tools = { a: { timeoutSec: 5, retry: "NONE" }, b: { timeoutSec: 500 } };
    await using mcp = await connect(server, { tools });
    const steps = ["a", "b"].map((name) => ({ operator: `Far.${name}`, depends_on: [] }));
    const capabilities = [planOf(mcp.operators, ...steps)];
    await using t = await createTestKernel({ capabilities, limits: { maxReplans: 0 }, clock: clockOfOneProcess() });
    const id = await t.submit(intentType);
    await t.clock.advance(6_000);
    answer.resolve(text("b is fine"));
    const { steps: ended } = await t.rest(id);
    expect(ended.map(({ state, output_text, error }) => [state, error?.code ?? output_text])).toEqual([
      ["failed", "T4_TOOL_TIMEOUT"],
      ["succeeded", "b is fine"],
    ]);
    await mcp.refresh();
    expect(server.connections()).toBe(1);
  });

  it("before it was sent is no doubt", async () => {
    const server = scripted([tool("t")]);
    await using mcp = await connect(server, { tools: { t: { ...writes, timeoutSec: 5, retry: "NONE" } } });
    await server.drop();
    server.answers["initialize"] = never;
    await using t = await kernelOf(mcp, "t");
    expect((await t.run(intentType)).error?.code).toBe("T4_TOOL_TIMEOUT");
    expect(server.calls()).toEqual([]);
  });
});

describe("a tool that fails", () => {
  const failing = (answer: () => unknown) => scripted([tool("t")], { "tools/call": answer });
  const internal = () => {
    throw { code: -32603, message: "it broke" };
  };
  const isError = () => ({ ...text("it broke"), isError: true });

  it.each([
    ["an error response", internal],
    ["isError", isError],
  ])("with %s is tried again if it reads, and not if it may have done half of it", async (_how, answer) => {
    for (const [stance, calls] of [
      [{ effect: "read" }, 3],
      [writes, 1],
    ] as const) {
      const server = failing(answer);
      await using mcp = await connect(server, { tools: { t: stance } });
      await using t = await kernelOf(mcp, "t");
      const { error } = await t.run(intentType);
      expect(error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", message: "it broke" });
      expect(server.calls()).toHaveLength(calls);
    }
  });
});

describe("over HTTP", () => {
  /** A server behind `fetch`: plain JSON answers, and `answer` in place of calls. */
  const behindFetch = (answer: (call: number) => Response | Promise<never>) => {
    let calls = 0;
    let sessions = 0;
    const json = (id: unknown, result: unknown, headers = {}) =>
      Response.json({ jsonrpc: "2.0", id, result }, { headers });
    const answerTo = (body: { readonly id?: number; readonly method: string }): Response | Promise<never> => {
      if (body.method === "initialize") {
        sessions += 1;
        const serverInfo = { name: "far", version: "1.0.0" };
        const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
        return json(body.id, result, { "mcp-session-id": `s${sessions}` });
      }
      if (body.method === "tools/list") return json(body.id, { tools: [tool("t")] });
      if (body.method !== "tools/call") return new Response(null, { status: 202 });
      calls += 1;
      return calls === 1 ? answer(calls) : json(body.id, text("done"));
    };
    const fetch = async (_url: unknown, init?: { readonly method?: string; readonly body?: unknown }) =>
      init?.method === "POST" ? answerTo(JSON.parse(String(init.body))) : new Response(null, { status: 405 });
    const transport = () =>
      new StreamableHTTPClientTransport(new URL("http://far.invalid/mcp"), { fetch: fetch as never });
    return { transport, calls: () => calls, sessions: () => sessions };
  };
  const refused = (code: string) => () =>
    Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code } }));

  it.each<[string, () => Response | Promise<never>, { state: string; calls: number; sessions: number }]>([
    [
      "a session that is gone",
      () => new Response("gone", { status: 404 }),
      { state: "completed", calls: 2, sessions: 2 },
    ],
    ["a server that is not there", refused("ECONNREFUSED"), { state: "completed", calls: 2, sessions: 2 }],
    [
      "a server that is busy",
      () => new Response("later", { status: 429 }),
      { state: "completed", calls: 2, sessions: 2 },
    ],
    ["a key that is wrong", () => new Response("who?", { status: 403 }), { state: "failed", calls: 1, sessions: 1 }],
    ["a line that was cut", refused("ECONNRESET"), { state: "waiting_for_user", calls: 1, sessions: 1 }],
    ["a bad gateway", () => new Response("", { status: 502 }), { state: "waiting_for_user", calls: 1, sessions: 1 }],
  ])("%s, met by a call that may not be repeated", async (_what, answer, expected) => {
    const server = behindFetch(answer);
    await using mcp = await connect(server, { tools: { t: writes } });
    await using t = await kernelOf(mcp, "t");
    const { state } = await t.run(intentType);
    expect({ state, calls: server.calls(), sessions: server.sessions() }).toEqual(expected);
  });
});

describe("close", () => {
  it("ends calls under way and those to come, and nothing is connected any more", async () => {
    const server = scripted([tool("t")]);
    hangOnce(server);
    const mcp = await connect(server);
    await using t = await kernelOf(mcp, "t");
    const called = server.next("tools/call");
    const id = await t.submit(intentType);
    await called;
    await mcp.close();
    const { error } = await t.rest(id);
    expect(error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", message: /was closed/, retry_eligible: false });
    await expect(mcp.refresh()).rejects.toMatchObject({ error: { code: "T4_TOOL_EXECUTION_FAILED" } });
    expect(server.connections()).toBe(1);
  });
});

describe("close, while a connection is being opened", () => {
  it("ends the wait for it at once", async () => {
    const server = scripted([tool("t")]);
    const opening = Promise.withResolvers<void>();
    const transport = () => {
      if (server.connections() === 0) return server.transport();
      opening.resolve();
      return never();
    };
    const mcp = await connect({ transport });
    await server.drop();
    const refreshing = mcp.refresh();
    await opening.promise;
    await mcp.close();
    await expect(refreshing).rejects.toMatchObject({ error: { message: expect.stringContaining("was closed") } });
  });
});

describe("a child process that is killed in the middle of a call", () => {
  const slow = { operator: "Far.trigger-long-running-operation", params: { duration: 2, steps: 20 } };

  /** Submits, kills the process at its first progress, and waits for an event of this type. */
  async function killUnderWay(t: TestKernel, kill: () => void, until: string): Promise<string> {
    const id = await t.submit(intentType);
    let killed = false;
    for await (const { event_type } of t.kernel.events(id)) {
      if (event_type === "STEP_STREAMED" && !killed) {
        killed = true;
        kill();
      }
      if (event_type === until || event_type === "WORKFLOW_COMPLETED") break;
    }
    return id;
  }

  it("is started again by the next attempt of a call that reads; after close none is left", async () => {
    const server = realServer("server-everything");
    const mcp = await connect(server, { trustAnnotations: true });
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, slow)] });
    const id = await killUnderWay(t, server.kill, "ACTION_RETRY_SCHEDULED");
    await t.clock.advance(2_000);
    const { state, steps } = await t.kernel.settled(id);
    expect([state, server.started()]).toEqual(["completed", 2]);
    expect(steps[0]?.output_text).toContain("completed");
    await mcp.close();
    expect(server.alive()).toEqual([]);
  });

  it("leaves a call that may have taken effect to a person", async () => {
    const server = realServer("server-everything");
    const tools = { "trigger-long-running-operation": { ...writes, idempotent: false } };
    await using mcp = await connect(server, { tools });
    await using t = await createTestKernel({ capabilities: [planOf(mcp.operators, slow)] });
    const id = await killUnderWay(t, server.kill, "GATE_OPENED");
    expect(await t.kernel.gates({ workflow_id: id })).toMatchObject([{ kind: "in_doubt" }]);
    expect([server.calls().length, server.alive()]).toEqual([1, []]);
  });
});
