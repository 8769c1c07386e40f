/**
 * Clients of one guard that reach for what belongs to another: sessions, streams, tasks, gates and results. What
 * belongs to a caller is read by this caller only, and does not exist for anybody else, to the byte of the answer.
 */
import type { Client } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, openGuard, refusalOf, textOf } from "./guard-fixture.ts";
import { hostileServer } from "./start-guard.ts";

const Anything = z.looseObject({});
const unknownId = "wf_01JZ0000000000000000000000";
const unknownSession = "8d7c0a52-5a0e-4d50-9a70-3c5d3a1f0b11";
const act = (readOnlyHint: boolean) => ({
  tools: [{ name: "act", inputSchema: { type: "object" }, annotations: { readOnlyHint } }],
});

/** A guard with the clients of `own`, whose things are reached for: `admin` is of the same tenant, `foreign` is not. */
async function prepare() {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const { server, called } = hostileServer(made.path, act(false));
  const g = await openGuard({ command: process.execPath, args: server, env: {} }, { answersGates: true });
  onTestFinished(() => g[Symbol.asyncDispose]());
  return { g, called };
}

const strangers = ["admin", "support", "foreign"] as const;

/** What a request about a task is told, with the id of the task taken out. */
async function askTask(client: Client, method: string, taskId: string): Promise<string> {
  const params = { taskId, inputResponses: {} };
  const told = await client.request({ method, params } as never, Anything).catch(({ code, message, data }) => ({
    code,
    message,
    data,
  }));
  return JSON.stringify(told).replaceAll(taskId, "ID");
}

async function beginTask(client: Client): Promise<string> {
  const params = { name: "act", arguments: {}, task: {} };
  const { task } = await client.request({ method: "tools/call", params } as never, Anything);
  return (task as { readonly taskId: string }).taskId;
}

const methods = ["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"];

it.each(strangers)("refuses %s the task of another client as one that there is not", async (who) => {
  const { g, called } = await prepare();
  const owner = await g.connect("own");
  const taskId = await beginTask(owner);
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  const stranger = await g.connect(who);
  for (const method of methods) {
    const told = await askTask(stranger, method, taskId);
    expect([method, told]).toEqual([method, await askTask(stranger, method, unknownId)]);
    expect(told).toContain("T4_WORKFLOW_NOT_FOUND");
  }
  for (const forged of ["wf_", `${taskId}x`, taskId.toLowerCase()])
    expect(await askTask(stranger, "tasks/get", forged)).toMatch(/T4_WORKFLOW_NOT_FOUND|-3260[02]/);
  const { tasks } = await stranger.request({ method: "tasks/list", params: {} } as never, Anything);
  expect(tasks).toEqual([]);
  expect((await g.t.kernel.workflow(taskId)).state).toBe("waiting_for_user");
  expect(called()).toEqual([]);
  await g.t.approve(taskId);
  expect(await askTask(stranger, "tasks/result", taskId)).toContain("T4_WORKFLOW_NOT_FOUND");
  expect(await askTask(owner, "tasks/result", taskId)).toContain("called act");
  const own = await owner.request({ method: "tasks/list", params: {} } as never, Anything);
  expect(own["tasks"]).toContainEqual(expect.objectContaining({ taskId, status: "completed" }));
  expect(called()).toEqual(["act"]);
});

it.each(strangers)("refuses %s the session of another client, its stream and its end", async (who) => {
  const { g } = await prepare();
  const accept = "application/json, text/event-stream";
  const hello = {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  };
  const post = (message: object, session: string | null, as: string) =>
    g.fetch(
      "/mcp",
      {
        method: "POST",
        headers: { accept, "content-type": "application/json", ...(session !== null && { "mcp-session-id": session }) },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      },
      as,
    );
  const begun = await post(hello, null, "own");
  const session = begun.headers.get("mcp-session-id") ?? expect.fail();
  await begun.text();
  const reach = async (method: string, id: string, as: string, more: object = {}) => {
    const headers = { accept, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25", ...more };
    const answer = await (method === "POST"
      ? post({ method: "tools/list", params: {} }, id, as)
      : g.fetch("/mcp", { method, headers }, as));
    return [answer.status, (await answer.text()).replaceAll(id, "ID")] as const;
  };
  const tries = [["POST"], ["GET"], ["GET", { "last-event-id": "1" }], ["DELETE"]] as const;
  for (const [method, more] of tries) {
    const told = await reach(method, session, who, more);
    expect([method, told]).toEqual([method, await reach(method, unknownSession, who, more)]);
    expect([told[0], told[1]]).toEqual([404, expect.stringContaining("T0_MCP_SESSION_UNKNOWN")]);
  }
  expect((await reach("POST", session, "own"))[0]).toBe(200);
  expect((await reach("DELETE", session, "own"))[0]).toBe(200);
  expect((await reach("POST", session, "own"))[0]).toBe(404);
});

it("lets the equal call of another client find neither the gate nor the result of the first", async () => {
  const { g, called } = await prepare();
  const [owner, other] = [await g.connect("own"), await g.connect("admin")];
  const waiting = call(owner, "act", { n: 1 });
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  const [first] = await g.t.kernel.gates();
  await g.t.clock.advance(50_000);
  expect(refusalOf(await waiting)).toMatchObject({ error: { code: "T0_GUARD_WAITING" } });
  await g.t.approve(first?.workflow_id ?? "");
  const theirs = call(other, "act", { n: 1 });
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  const [second] = await g.t.kernel.gates();
  expect(second?.workflow_id).not.toBe(first?.workflow_id);
  await g.t.clock.advance(50_000);
  const told = refusalOf(await theirs);
  expect(told).toMatchObject({ error: { code: "T0_GUARD_WAITING" } });
  expect(JSON.stringify(told)).not.toContain(first?.workflow_id);
  expect(textOf(await call(owner, "act", { n: 1 }))).toBe("called act 1");
  expect(called()).toEqual(["act 1"]);
});

it("makes no call by the reading operator of a tool that does not say it only reads", async () => {
  const { g, called } = await prepare();
  await (await g.connect("own")).listTools();
  const [{ intent } = expect.fail()] = await Promise.all(
    (await g.t.kernel.workflows()).map(({ workflow_id }) => g.t.kernel.workflow(workflow_id)),
  );
  const [{ digest: definition } = expect.fail()] = intent.inputs["tools"] as unknown as [{ digest: string }];
  const inputs = { server: "files", tool: "act", definition, arguments: {}, effect: "read" };
  const { error } = await g.t.run("Guard.Call", inputs);
  expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH" });
  expect(called()).toEqual([]);
});
