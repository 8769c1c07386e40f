/**
 * What an MCP connection cannot do: reach other tenants and sessions, pass its scopes, hang, grow, or leave anything
 * behind.
 */
import type { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { createMcpServer } from "../../src/faces/mcp/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { publishing } from "../gates/story.ts";
import { call, type McpUnderTest, makeClient, openMcp, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const accepts = { "content-type": "application/json", accept: "application/json, text/event-stream" };

interface Posted {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const post = (face: McpUnderTest, body: unknown, { as, headers = {} }: Posted = {}) =>
  face.fetch(
    "/mcp",
    {
      method: "POST",
      headers: { ...accepts, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    },
    as,
  );

const errorIn = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: number; data?: { kernel?: { code: string } } } };
  return [response.status, error.code, error.data?.kernel?.code];
};

/** The id of a session that was begun by hand. */
async function begin(face: McpUnderTest, as = "own"): Promise<string> {
  const response = await post(face, initialize, { as });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

/** The status of an answer that is read to its end. */
async function statusOf(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.text();
  return response.status;
}

const list = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };

describe("a session", () => {
  it("is its caller's, with the scopes it was begun with; to all others it is not there", async () => {
    const narrow = {
      token: "narrow",
      tenant_id: 1,
      principal: { type: "user", id: 1, role: "user" },
      scopes: ["outcome:read"],
    };
    await using face = await openMcp({}, {}, [narrow]);
    const id = await begin(face);
    const headers = { "mcp-session-id": id };
    expect((await post(face, list, { headers })).status).toBe(200);
    for (const as of ["foreign", "admin", "narrow"])
      expect(await errorIn(await post(face, list, { headers, as }))).toEqual([404, -32602, "T0_MCP_SESSION_UNKNOWN"]);
    const made = { "mcp-session-id": "0b9c5c3e-0000-4000-8000-000000000000" };
    expect(await errorIn(await post(face, list, { headers: made }))).toEqual([404, -32602, "T0_MCP_SESSION_UNKNOWN"]);
  });

  it("is bounded in number, and one more says so", async () => {
    await using face = await openMcp({}, { limits: { maxSessions: 2 } });
    await begin(face);
    await begin(face, "foreign");
    expect(await errorIn(await post(face, initialize))).toEqual([503, -32603, "T0_MCP_SESSION_LIMIT"]);
    expect(face.mcp.vitals().sessions).toBe(2);
  });

  it("of one principal leave others their place, also where many are begun at once", async () => {
    await using face = await openMcp({}, { limits: { maxSessionsPerCaller: 2 } });
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(face, initialize)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429]);
    expect(await errorIn(await post(face, initialize))).toEqual([429, -32603, "T0_MCP_CALLER_SESSION_LIMIT"]);
    expect((await post(face, initialize, { as: "admin" })).status).toBe(200);
    expect((await post(face, initialize, { as: "foreign" })).status).toBe(200);
  });

  it("ends by DELETE, after its idle time, and with the handler; no timer is left", async () => {
    await using face = await openMcp({}, { limits: { sessionIdleMs: 60_000 } });
    const timers = face.t.clock.pending();
    const [first, second] = [await begin(face), await begin(face)];
    const headers = { "mcp-session-id": first };
    expect(await statusOf(face.fetch("/mcp", { method: "DELETE", headers: { ...accepts, ...headers } }))).toBe(200);
    expect(await statusOf(post(face, list, { headers }))).toBe(404);
    await face.t.clock.advance(59_000);
    expect(await statusOf(post(face, list, { headers: { "mcp-session-id": second } }))).toBe(200);
    await face.t.clock.advance(59_000);
    expect(face.mcp.vitals().sessions).toBe(1);
    await face.t.clock.advance(2_000);
    expect(face.mcp.vitals().sessions).toBe(0);
    await begin(face);
    await face.mcp.close();
    expect([face.mcp.vitals().sessions, face.t.clock.pending()]).toEqual([0, timers]);
  });

  it("that somebody listens in is not idle; once nobody does, it is", async () => {
    await using face = await openMcp({}, { limits: { sessionIdleMs: 60_000 } });
    const headers = { ...accepts, "mcp-session-id": await begin(face) };
    const stream = await face.fetch("/mcp", { headers });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    await face.t.clock.advance(600_000);
    expect(face.mcp.vitals().sessions).toBe(1);
    await stream.body?.cancel();
    await face.t.clock.advance(61_000);
    expect(face.mcp.vitals().sessions).toBe(0);
  });

  it("that nobody could use is not kept", async () => {
    await using face = await openMcp();
    expect(await errorIn(await post(face, { ...initialize, params: {} }))).toEqual([
      400,
      -32602,
      "T0_VALIDATION_SCHEMA_MISMATCH",
    ]);
    expect((await post(face, initialize, { headers: { accept: "text/plain" } })).status).toBe(406);
    expect(face.mcp.vitals().sessions).toBe(0);
  });
});

describe("requests that are refused", () => {
  it.each<readonly [string, unknown, Posted, readonly unknown[]]>([
    ["[RPC-05] what is not JSON", "{", {}, [400, -32700, "T0_RPC_PARSE_FAILED"]],
    ["[RPC-05] what is no message", {}, {}, [400, -32600, "T0_RPC_REQUEST_INVALID"]],
    ["[RPC-05] a number", 1, {}, [400, -32600, "T0_RPC_REQUEST_INVALID"]],
    ["[RPC-05] another version", { ...list, jsonrpc: "1.0" }, {}, [400, -32600, "T0_RPC_REQUEST_INVALID"]],
    ["too much", { ...list, pad: "x".repeat(3000) }, {}, [413, -32602, "T0_VALIDATION_PAYLOAD_TOO_LARGE"]],
    ["another type", list, { headers: { "content-type": "text/plain" } }, [415, -32602, "T0_HTTP_MEDIA_TYPE"]],
    ["an encoded body", list, { headers: { "content-encoding": "gzip" } }, [415, -32602, "T0_HTTP_CONTENT_ENCODING"]],
    ["a request outside any session", list, {}, [400, -32602, "T0_VALIDATION_SCHEMA_MISMATCH"]],
  ])("%s", async (_what, body, posted, expected) => {
    await using face = await openMcp({}, { limits: { maxBodyBytes: 2000 } });
    expect(await errorIn(await post(face, body, posted))).toEqual(expected);
    expect(face.mcp.vitals().sessions).toBe(0);
  });

  it.each<readonly [string, unknown, readonly unknown[]]>([
    ["[RPC-05] a batch", [list, { ...list, id: 3 }], [400, -32600, "T0_RPC_REQUEST_INVALID"]],
    [
      "[RPC-05] what is too deep",
      { ...list, params: { _meta: JSON.parse(`${"[".repeat(80)}${"]".repeat(80)}`) } },
      [400, -32700, "T0_RPC_PARSE_FAILED"],
    ],
  ])("%s, in a session as well", async (_what, body, expected) => {
    await using face = await openMcp();
    const headers = { "mcp-session-id": await begin(face) };
    expect(await errorIn(await post(face, body, { headers }))).toEqual(expected);
  });

  it("come from a page of another origin, to another host, with an unknown version, or unauthenticated", async () => {
    await using face = await openMcp();
    for (const header of ["origin", "host"]) {
      const headers = { [header]: header === "host" ? "evil.example" : "http://evil.example" };
      expect((await post(face, initialize, { headers })).status).toBe(403);
    }
    const session = { "mcp-session-id": await begin(face) };
    expect((await post(face, list, { headers: { ...session, "mcp-protocol-version": "1999-01-01" } })).status).toBe(
      400,
    );
    expect((await post(face, initialize, { as: "" })).status).toBe(401);
    expect((await post(face, initialize, { as: "nobody" })).status).toBe(401);
  });

  it.each<readonly [string, string, object, string]>([
    ["an unknown tool", "tools/call", { name: "rm_rf" }, "T0_MCP_TOOL_UNKNOWN"],
    ["a cursor of nobody", "tools/list", { cursor: "../../etc" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a cursor of no workflow", "resources/list", { cursor: "%00" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["another address", "resources/read", { uri: "file:///etc/passwd" }, "T0_MCP_RESOURCE_UNKNOWN"],
    [
      "a view that is none",
      "resources/read",
      { uri: "countersign://workflows/wf_01KDVDNA0047C4FEZDQK8YZG0R/constructor" },
      "T0_MCP_RESOURCE_UNKNOWN",
    ],
    ["a path trick", "resources/subscribe", { uri: "countersign://workflows/../x" }, "T0_MCP_RESOURCE_UNKNOWN"],
    ["no workflow", "tasks/get", { taskId: "nothing" }, "T4_WORKFLOW_NOT_FOUND"],
  ])("%s: an error of the protocol, with a code", async (_what, method, params, code) => {
    await using face = await openMcp();
    const headers = { "mcp-session-id": await begin(face) };
    const response = await post(face, { jsonrpc: "2.0", id: 3, method, params }, { headers });
    const data = (await response.text()).split("\n").find((line) => line.startsWith("data: ")) ?? "data: {}";
    expect(JSON.parse(data.slice(6))).toMatchObject({ error: { code: -32602, data: { kernel: { code } } } });
  });

  it.each<readonly [string, string, object]>([
    ["no arguments where some are needed", "decide-gate", {}],
    ["one that is not there", "list-workflows", { tenant_id: 2 }],
    ["a wrong id", "read-workflow", { workflow_id: "7" }],
    [
      "a principal of one's own making",
      "cancel-workflow",
      { workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZG0R", principal: {} },
    ],
    ["a page beyond the limit", "list-gates", { limit: 1e6 }],
  ])("arguments, %s: a result that is an error, with what to do next", async (_what, tool, args) => {
    await using face = await openMcp();
    const result = await call(await face.connect(), tool, args);
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "T0_VALIDATION_SCHEMA_MISMATCH", next: expect.stringMatching(/./) } },
    });
  });
});

describe("tenants and scopes", () => {
  it("another tenant's workflow is not there, whichever way it is asked for", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const { workflow_id, gates } = workflowOf(await call(await face.connect(), name));
    const foreign = await face.connect("foreign");
    const ways: readonly (readonly [string, object])[] = [
      ["read-workflow", {}],
      ["read-outcomes", {}],
      ["explain-workflow", {}],
      ["retry-workflow", {}],
      ["cancel-workflow", {}],
      ["decide-gate", { decision: "approve", payload_digest: gates[0]?.payload_digest }],
    ];
    for (const [tool, args] of ways) {
      const result = await call(foreign, tool, { workflow_id, ...args });
      expect([tool, result.structuredContent]).toMatchObject([tool, { error: { code: "T4_WORKFLOW_NOT_FOUND" } }]);
    }
    const uri = `countersign://workflows/${workflow_id}`;
    for (const asked of [foreign.readResource({ uri }), foreign.subscribeResource({ uri })])
      await expect(asked).rejects.toMatchObject({ data: { kernel: { code: "T4_WORKFLOW_NOT_FOUND" } } });
    expect((await foreign.listResources()).resources).toEqual([]);
    expect((await call(foreign, "list-workflows")).structuredContent).toMatchObject({ workflows: [] });
    expect((await call(foreign, "list-gates")).structuredContent).toMatchObject({ gates: [] });
    expect((await face.t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
  });

  it("each tool needs its scope, of the credential and of the role", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const { workflow_id, gates } = workflowOf(await call(await face.connect(), name));
    const needs: Readonly<Record<string, string>> = {
      "submit-intent": "intent:submit",
      [name]: "intent:submit",
      "decide-gate": "gate:approve",
      "retry-workflow": "workflow:execute",
      "cancel-workflow": "workflow:execute",
    };
    const reader = await face.connect("reader");
    for (const [tool, needed] of Object.entries(needs)) {
      const given = tool === "decide-gate" ? { decision: "reject", payload_digest: gates[0]?.payload_digest } : {};
      const args = tool === name ? {} : tool === "submit-intent" ? { text: "x" } : { workflow_id, ...given };
      const result = await call(reader, tool, args);
      expect([tool, result.structuredContent]).toMatchObject([
        tool,
        { error: { code: "T5_AUTHZ_FORBIDDEN", detail: { needs: needed } } },
      ]);
    }
    expect((await call(reader, "read-workflow", { workflow_id })).isError).toBeUndefined();
    const stranger = await face.connect("stranger");
    const namesFor = async (client: Client) => (await client.listTools()).tools.map((tool) => tool.name);
    expect([await namesFor(reader), await namesFor(stranger)].map((names) => names.includes(name))).toEqual([
      true,
      false,
    ]);
    for (const tool of ["list-workflows", "list-gates", name])
      expect((await call(stranger, tool)).isError, tool).toBe(true);
    expect(await face.t.kernel.workflows()).toHaveLength(1);
  });
});

describe("what a connection leaves behind", () => {
  it("nothing: its waiting, its watching and its questions end with it", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const { workflow_id } = workflowOf(await call(await face.connect(), name));
    const { listeners } = face.t.kernel.vitals();
    const pending = face.t.clock.pending();
    const server = createMcpServer(face.t.kernel, { caller: testCaller, answersGates: true });
    const asked = Promise.withResolvers<void>();
    const client = makeClient({
      person: () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    await client.connect(near);
    await client.subscribeResource({ uri: `countersign://workflows/${workflow_id}` });
    const waiting = call(client, name).catch(() => "cut off");
    await asked.promise;
    expect(face.t.kernel.vitals().listeners).toBeGreaterThan(listeners);
    await client.close();
    expect(await waiting).toBe("cut off");
    await face.t.clock.settle();
    expect(face.t.kernel.vitals().listeners).toBe(listeners);
    expect(face.t.clock.pending()).toBe(pending);
  });
});
