/** JSON-RPC 2.0 at /rpc: its errors, its notifications, its batches, and the same kernel behind it. */
import { describe, expect, it } from "vitest";
import { grantsScope } from "../../src/contract/auth-context.ts";
import { RpcCall } from "../../src/contract/rpc.ts";
import { rpcMethods } from "../../src/faces/http/rpc-methods.ts";
import { defaultRoles, RpcMessage } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { type EdgeUnderTest, openEdge, pathOf, tokens } from "./edge-fixture.ts";

interface Answer {
  readonly id: string | number | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { kernel?: { code: string } } };
}

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const publish = () => ({ capabilities: [publishing().capability] });
const request = (method: string, params?: object, id: string | number = "r1") => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params !== undefined && { params }),
});
const notification = (method: string, params: object) => ({ jsonrpc: "2.0", method, params });
const rpc = async <T = Answer>(edge: EdgeUnderTest, body: unknown, as = "own") => edge.ask<T>("/rpc", { body, as });

describe("/rpc", () => {
  it("[API-05] is described as what it takes: calls with any method's name, alone or in batches", () => {
    const calls = [...rpcMethods.keys()].map((method, id) => ({ jsonrpc: "2.0", id, method, params: {} }));
    expect(calls.length).toBeGreaterThan(5);
    for (const said of [...calls, calls]) expect(RpcCall.safeParse(said).error).toBeUndefined();
    for (const said of [[], { ...calls[0], method: "" }, {}]) expect(RpcCall.safeParse(said).success).toBe(false);
  });

  it("[API-07] submits, decides, reads outcomes and retries as the other addresses do", async () => {
    await using edge = await openEdge(publish());
    const submitted = await rpc(edge, request("kernel/submit", { ...testCaller, ...hint }));
    expect(submitted.status).toBe(200);
    RpcMessage.parse(submitted.body);
    const workflow_id = submitted.body.result?.["workflow_id"] as string;
    await edge.t.rest(workflow_id);
    const decided = await rpc(
      edge,
      request("kernel/gate", { workflow_id, gate_id: "gate-publish", decision: "approve" }, 7),
    );
    expect(decided.body).toMatchObject({ jsonrpc: "2.0", id: 7, result: { workflow_id, status: "resumed" } });
    expect((await edge.t.rest(workflow_id)).state).toBe("completed");
    const outcomes = await rpc(edge, request("kernel/outcomes", { workflow_id }));
    expect(outcomes.body.result).toEqual(JSON.parse(JSON.stringify(await edge.t.kernel.outcomes(workflow_id))));
    const retried = await rpc(edge, request("kernel/retry", { workflow_id, mode: "regenerate" }));
    expect(retried.body.result).toMatchObject({ status: "restarted" });
    const job = await rpc(edge, request("kernel/submit", { query: "unknown words" }));
    expect(job.body.error?.data?.kernel?.code).toMatch(/^T1_/);
  });

  it("decides several gates at once as POST /v1/kernel/decisions does, in the caller's name", async () => {
    await using edge = await openEdge(publish());
    const digestOf = async (id: string) => (await edge.t.rest(id)).gates[0]?.payload_digest;
    const ids = [(await edge.t.run(intent)).workflow_id, (await edge.t.run(intent)).workflow_id] as const;
    const decide = async (id: string) => ({
      decisions: [{ workflow_id: id, decision: "approve", payload: { payload_digest: await digestOf(id) } }],
    });
    const taken = { taken: 1, refused: 0, results: [{ ok: true, answer: { status: "resumed" } }] };
    const byRpc = await rpc(edge, request("kernel/decisions", await decide(ids[0])));
    expect(byRpc.body.result).toMatchObject(taken);
    const byRest = await edge.ask("/v1/kernel/decisions", { body: await decide(ids[1]) });
    expect([byRest.status, byRest.body]).toMatchObject([200, taken]);
    for (const id of ids) expect((await edge.t.rest(id)).state).toBe("completed");
    const other = { ...(await decide(ids[0])), principal: { type: "user", id: "somebody else" } };
    expect((await edge.ask("/v1/kernel/decisions", { body: other })).status).toBe(403);
    expect((await edge.ask("/v1/kernel/decisions", { body: { decisions: [{ workflow_id: ids[0] }] } })).status).toBe(
      400,
    );
  });

  it.each([
    ["no JSON", '{"jsonrpc":', -32700, null],
    ["no UTF-8", Uint8Array.of(0x22, 0xff, 0x22), -32700, null],
    ["a member that is named twice", '{"jsonrpc":"2.0","id":"a","id":"b","method":"kernel/gates"}', -32700, null],
    ["nothing", "", -32700, null],
    ["no UTF-16 inside", '{"jsonrpc":"2.0","id":"a","method":"\\ud800"}', -32700, null],
    ["an empty batch", [], -32600, null],
    ["a number in a batch", [1], -32600, null],
    ["a method that is no text", { jsonrpc: "2.0", id: "r1", method: 1 }, -32600, "r1"],
    ["a text", '"hello"', -32600, null],
    ["another version", { ...request("kernel/submit"), jsonrpc: "1.0" }, -32600, "r1"],
    ["an answer", { jsonrpc: "2.0", id: "r1", result: {} }, -32600, null],
    ["params by position", { ...request("kernel/submit"), params: [1] }, -32602, "r1"],
    ["an unknown method with params by position", { ...request("kernel/sing"), params: [1] }, -32601, "r1"],
    ["params that are a text", { ...request("kernel/submit"), params: "all" }, -32600, "r1"],
    ["an id that is an object", { ...request("kernel/submit"), id: { a: 1 } }, -32600, null],
    ["an id that is true", { ...request("kernel/submit"), id: true }, -32600, null],
    ["both a method and a result", { ...request("kernel/submit"), result: {} }, -32600, "r1"],
    ["a batch in a batch", [[request("kernel/submit")]], -32600, null],
    ["a list of workflows with a bad filter", request("kernel/workflows", { state: ["asleep"] }), -32602, "r1"],
    ["a page that is too long", request("kernel/gates", { limit: 501 }), -32602, "r1"],
    ["events after a text", request("kernel/events", { workflow_id: "wf_", after: "x" }), -32602, "r1"],
    ["an unknown method", request("kernel/sing"), -32601, "r1"],
    ["a method of objects", request("constructor"), -32601, "r1"],
    ["bad params", request("kernel/submit", { source: "owl" }), -32602, "r1"],
    ["no workflow", request("kernel/gate", { decision: "approve" }), -32602, "r1"],
    ["another tenant's name", request("kernel/submit", { ...hint, tenant_id: 2 }), -32600, "r1"],
  ])("[API-07] %s is answered with its code", async (_what, body, code, id) => {
    await using edge = await openEdge(publish());
    const told = await rpc(edge, body);
    const [answer = told.body] = Array.isArray(told.body) ? (told.body as Answer[]) : [];
    expect([told.status, answer.error?.code, answer.id]).toEqual([200, code, id]);
    expect(await edge.t.kernel.workflows()).toEqual([]);
  });

  it.each([["r1"], [""], [7], [-1], [0], [1.5], [9007199254740991], [null]])(
    "the id %j comes back as it was, type and all",
    async (id) => {
      await using edge = await openEdge(publish());
      const told = await rpc(edge, { ...request("kernel/workflows"), id });
      expect(told.body).toEqual({ jsonrpc: "2.0", id, result: { workflows: [], next: null } });
      const refused = await rpc(edge, { ...request("kernel/sing"), id });
      expect([refused.body.id, refused.body.error?.code]).toEqual([id, -32601]);
    },
  );

  it("reads by every method what the addresses read", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    await edge.t.run(intent);
    const result = async (method: string, params: object = {}) =>
      (await rpc(edge, request(method, params))).body.result;
    for (const [name, path] of [
      ["workflow", ""],
      ["outcomes", "/outcomes"],
      ["trace", "/trace"],
      ["explain", "/explain"],
      ["events", "/events"],
    ] as const)
      expect(await result(`kernel/${name}`, { workflow_id })).toEqual((await edge.ask(pathOf(workflow_id, path))).body);
    expect(await result("kernel/events", { workflow_id, after: 2, limit: 3 })).toEqual(
      (await edge.ask(pathOf(workflow_id, "/events?after=2&limit=3"))).body,
    );
    for (const [name, query, params] of [
      ["gates", "", {}],
      ["gates", `?workflow_id=${workflow_id}`, { workflow_id }],
      ["workflows", "?limit=1", { limit: 1 }],
      ["workflows", "?state=running,completed", { state: ["running", "completed"] }],
    ] as const)
      expect(await result(`kernel/${name}`, params)).toEqual((await edge.ask(`/v1/kernel/${name}${query}`)).body);
  });

  it("every command and view of a workflow is a method, under the scope that its address asks for", async () => {
    await using edge = await openEdge();
    const ones = [
      ["/workflows/:id", "workflow"],
      ["/schedules/:name", "schedule"],
    ] as const;
    const byName = new Map(
      edge.app.routes.flatMap(({ path, needs }) => {
        const [, name = ones.find(([end]) => path.endsWith(end))?.[1] ?? null] =
          /^\/v1\/kernel\/(?:workflows\/:id\/)?((?:schedules\/)?[\w-]+)$/.exec(path) ?? [];
        // A job is a submit whose answer waits; a method's does not, and neither streams nor is long.
        return name === null ||
          ["capabilities", "machines", "jobs", "evidence", "replay", "whatif", "doctor"].includes(name)
          ? []
          : [[`kernel/${name}`, needs] as const];
      }),
    );
    expect(Object.fromEntries([...rpcMethods].map(([name, { needs }]) => [name, needs]))).toEqual(
      Object.fromEntries(byName),
    );
  });

  it.each([...rpcMethods])(
    "%s: each role and credential gets what the table of roles and its own scopes allow",
    async (name, { needs }) => {
      await using edge = await openEdge(publish());
      const { workflow_id } = await edge.t.run(intent);
      const gate_id = "gate-publish";
      const params: Readonly<Record<string, object>> = {
        "kernel/submit": hint,
        "kernel/emit": { name: "order.paid", key: "o-1" },
        "kernel/fork": { workflow_id, at: "none" },
        "kernel/message": { workflow_id, text: "hello" },
        "kernel/token-url": { workflow_id, step_id: "none" },
        "kernel/gates": {},
        "kernel/workflows": {},
        "kernel/gate": { workflow_id, gate_id, decision: "reject" },
        "kernel/decisions": {
          decisions: [{ workflow_id, decision: "reject", payload: { payload_digest: "of nothing" } }],
        },
        "kernel/budgets": {},
        "kernel/queues": {},
        "kernel/schedules": {},
        "kernel/schedule": { name: "tea" },
        "kernel/schedules/set": { name: "tea", every_ms: 60_000, intent_type: "none" },
        "kernel/schedules/pause": { name: "tea" },
        "kernel/schedules/resume": { name: "tea" },
        "kernel/schedules/trigger": { name: "tea" },
        "kernel/schedules/delete": { name: "tea" },
        "kernel/schedules/backfill": { name: "tea", from: "2025-01-01T00:00:00Z", until: "2025-01-01T01:00:00Z" },
        "kernel/halt": { of: { capability: "Test.Other" }, reason: "the accounts are checked" },
        "kernel/limit": { name: "none", limits: { concurrency: 1 }, reason: "the bank is slow" },
        "kernel/grant": { workflow_id, gate_id, uses: 1 },
        "kernel/stand-in": { to: { id: "bo" }, until: "2026-01-02T00:00:00Z", reason: "away" },
        "kernel/end-stand-in": { stand_in_id: "stn_01JZ0000000000000000000000" },
        "kernel/revoke-grant": { grant_id: "grt_01JZ0000000000000000000000" },
        "kernel/lift": { halt_id: "hlt_01JZ0000000000000000000000" },
        "kernel/withdraw": { workflow_id, gate_id },
        "kernel/note": { workflow_id, gate_id, watch: true },
        "kernel/delegate": { workflow_id, gate_id, to: { id: "bo" }, expires_at: "2030-01-31T12:00:00.000Z" },
      };
      const turnedAway = ["T5_AUTHN_FAILED", "T5_AUTHZ_FORBIDDEN", "T5_IDENTITY_VIOLATION"];
      for (const { token, tenant_id, principal, scopes = ["*"] } of tokens.filter((one) => one.tenant_id === 1)) {
        const sent = params[name] ?? { workflow_id };
        const code = (await rpc(edge, request(name, sent), token)).body.error?.data?.kernel?.code ?? "";
        const may = grantsScope(scopes, needs) && grantsScope(defaultRoles[principal.role]?.scopes ?? [], needs);
        expect([tenant_id, token, turnedAway.includes(code)]).toEqual([1, token, !may]);
      }
    },
  );

  it("answers no notification, good or bad, and does what it says", async () => {
    await using edge = await openEdge(publish());
    for (const body of [notification("kernel/submit", hint), notification("kernel/sing", {})])
      expect(await edge.ask("/rpc", { body })).toMatchObject({ status: 204, body: {} });
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("answers a batch in its order, each message for itself, up to the limit", async () => {
    await using edge = await openEdge(publish(), { limits: { maxBatch: 4 } });
    const batch = [request("kernel/submit", hint, 1), notification("kernel/submit", hint), 5, request("sing", {}, "z")];
    const told = await rpc<Answer[]>(edge, batch);
    expect(told.body.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, undefined],
      [null, -32600],
      ["z", -32601],
    ]);
    expect(await edge.t.kernel.workflows()).toHaveLength(2);
    expect((await rpc(edge, [...batch, 6])).body).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await edge.t.kernel.workflows()).toHaveLength(2);
  });

  it("holds callers to their scopes, roles and tenants", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const code = async (as: string, method: string, params: object) =>
      (await rpc(edge, request(method, params), as)).body.error?.data?.kernel?.code;
    expect(await code("reader", "kernel/submit", hint)).toBe("T5_AUTHZ_FORBIDDEN");
    expect(await code("support", "kernel/submit", hint)).toBe("T5_AUTHZ_FORBIDDEN");
    expect(await code("foreign", "kernel/outcomes", { workflow_id })).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(await code("foreign", "kernel/gate", { workflow_id, gate_id: "gate-publish", decision: "approve" })).toBe(
      "T4_WORKFLOW_NOT_FOUND",
    );
    expect((await rpc(edge, request("kernel/submit", hint), "nobody's")).status).toBe(401);
    expect((await edge.ask("/rpc", { body: "{}", headers: { "content-type": "text/plain" } })).status).toBe(415);
  });
});
