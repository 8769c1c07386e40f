/**
 * Tasks: a workflow as a handle, in the words of 2025-11-25 (over the SDK's schemas) and of the extension of
 * 2026-07-28.
 */
import { type Client, type ElicitResult, specTypeSchemas } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { counted, publishing, step, story } from "../gates/story.ts";
import { call, type McpUnderTest, openMcp, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
const Anything = z.looseObject({});

const begin = async (client: Client) =>
  (
    await client.request(
      { method: "tools/call", params: { name, arguments: {}, task: {} } },
      specTypeSchemas.CreateTaskResult,
    )
  ).task;
const get = (client: Client, taskId: string) =>
  client.request({ method: "tasks/get", params: { taskId } }, specTypeSchemas.GetTaskResult);
const cancel = (client: Client, taskId: string) =>
  client.request({ method: "tasks/cancel", params: { taskId } }, specTypeSchemas.GetTaskResult);
const result = (client: Client, taskId: string) =>
  client.request({ method: "tasks/result", params: { taskId } }, Anything);

/** A request of 2026-07-28, by a client that knows tasks and forms. */
async function ask<T = Readonly<Record<string, unknown>>>(
  face: Pick<McpUnderTest, "fetch">,
  method: string,
  params: Readonly<Record<string, unknown>>,
  { as = "own", extensions = { "io.modelcontextprotocol/tasks": {} } as object } = {},
): Promise<{ readonly result?: T; readonly error?: { readonly code: number; readonly data?: unknown } }> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, extensions },
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": String(params["name"] ?? params["taskId"]),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
  const response = await face.fetch("/mcp", { method: "POST", headers, body }, as);
  return (await response.json()) as never;
}

interface Detailed {
  readonly taskId: string;
  readonly status: string;
  readonly resultType: string;
  readonly ttlMs: number | null;
  readonly inputRequests?: Readonly<
    Record<string, { readonly method: string; readonly params: { readonly message: string } }>
  >;
  readonly result?: { readonly isError?: boolean; readonly structuredContent: unknown };
}

const detailed = async (face: McpUnderTest, taskId: string): Promise<Detailed> =>
  (await ask<Detailed>(face, "tasks/get", { taskId })).result as Detailed;

async function beginModern(face: McpUnderTest): Promise<Detailed> {
  return (await ask<Detailed>(face, "tools/call", { name, arguments: {} })).result as Detailed;
}

describe("a task of 2025-11-25", () => {
  it("begins at once, waits as input_required, asks the person when its result is wanted, and completes", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const person = (): ElicitResult => ({ action: "accept", content: { decision: "approve" } });
    const client = await face.connect("own", { person });
    const task = await begin(client);
    expect(task).toMatchObject({ taskId: expect.stringMatching(/^wf_/), ttl: null });
    await face.t.rest(task.taskId);
    expect((await get(client, task.taskId)).status).toBe("input_required");
    const ended = await result(client, task.taskId);
    expect(ended).toMatchObject({
      structuredContent: { state: "completed" },
      _meta: { "io.modelcontextprotocol/related-task": { taskId: task.taskId } },
    });
    expect((await get(client, task.taskId)).status).toBe("completed");
    const { tasks } = await client.request({ method: "tasks/list", params: {} }, specTypeSchemas.ListTasksResult);
    expect(tasks.map(({ taskId, status }) => [taskId, status])).toEqual([[task.taskId, "completed"]]);
  });

  it("whose client puts no questions waits for whoever decides, and its waiting ends with its request", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { taskId } = await begin(client);
    await face.t.rest(taskId);
    const idle = face.t.kernel.vitals().listeners;
    const pending = result(client, taskId);
    await face.t.clock.settle();
    await face.t.approve(taskId);
    expect(await pending).toMatchObject({ structuredContent: { state: "completed" } });
    const { taskId: other } = await begin(client);
    await face.t.rest(other);
    const stop = new AbortController();
    const given = client.request({ method: "tasks/result", params: { taskId: other } }, Anything, {
      signal: stop.signal,
    });
    await face.t.clock.settle();
    expect(face.t.kernel.vitals().listeners).toBeGreaterThan(idle);
    stop.abort();
    await expect(given).rejects.toThrow();
    await face.t.clock.settle();
    expect(face.t.kernel.vitals().listeners).toBe(idle);
  });

  it("takes its question back when somebody else has decided", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const asked = Promise.withResolvers<void>();
    const person = (): Promise<ElicitResult> => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    const client = await face.connect("own", { person });
    const { taskId } = await begin(client);
    const idle = face.t.kernel.vitals().listeners;
    const pending = result(client, taskId);
    await asked.promise;
    await face.t.approve(taskId);
    expect(await pending).toMatchObject({ structuredContent: { state: "completed" } });
    expect(face.t.kernel.vitals().listeners).toBe(idle);
  });

  it("asks anew where what was shown has changed before the answer came", async () => {
    const gate = { quorum: { approvals: 2 }, approvers: [{ id: 1 }, { id: "bo" }] };
    const send = counted("Note.Send", { effect: "write_draft" });
    const capability = story([send], [step("only", send, { gate, params: { to: "board" } })]);
    await using face = await openMcp({ capabilities: [capability] });
    const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "user" } };
    const shown: string[] = [];
    const client = await face.connect("own", {
      async person({ message }) {
        const revise = { ...bo, decision: "approve", payload: { edit: { to: "wall" } } } as const;
        if (shown.push(message) === 1) await face.t.kernel.decideGate(taskId, revise);
        return { action: "accept", content: { decision: "approve" } };
      },
    });
    const { taskId } = await begin(client);
    expect(await result(client, taskId)).toMatchObject({ structuredContent: { state: "completed" } });
    expect(shown.map((message) => /"to":"(\w+)"/.exec(message)?.[1])).toEqual(["board", "wall"]);
    expect(send.calls.map(({ input }) => input)).toEqual([{ to: "wall" }]);
  });

  it("is cancelled with its workflow, once", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { taskId } = await begin(client);
    await face.t.rest(taskId);
    expect((await cancel(client, taskId)).status).toBe("cancelled");
    expect((await face.t.kernel.workflow(taskId)).state).toBe("cancelled");
    await expect(cancel(client, taskId)).rejects.toMatchObject({ code: -32602 });
  });

  it("of work that failed has failed, and its result says why", async () => {
    const bad = counted("Note.Bad", {}, () => {
      throw new Error("broken");
    });
    await using face = await openMcp({ capabilities: [story([bad], [step("only", bad)])] });
    const client = await face.connect();
    const { taskId } = await begin(client);
    await face.t.rest(taskId);
    expect((await get(client, taskId)).status).toBe("failed");
    expect(await result(client, taskId)).toMatchObject({ isError: true, structuredContent: { error: {} } });
  });

  it("is not for tools that answer at once", async () => {
    await using face = await openMcp();
    const client = await face.connect();
    const asked = client.request({ method: "tools/call", params: { name: "list-gates", task: {} } }, Anything);
    await expect(asked).rejects.toMatchObject({ data: { kernel: { code: "T0_MCP_TASK_REFUSED" } } });
  });

  it("whose gate expires has ended as the gate says", async () => {
    const { capability } = publishing({ gate: { expiry: { after_ms: 60_000, action: "deny" } } });
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { taskId } = await begin(client);
    await face.t.rest(taskId);
    expect((await get(client, taskId)).status).toBe("input_required");
    await face.t.clock.advance(61_000);
    expect((await get(client, taskId)).status).toBe("cancelled");
  });
});

const approval = { action: "accept", content: { decision: "approve" } };

describe("a task of the extension", () => {
  it("shows its gate as a question, takes the answer by tasks/update, and carries its result", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const created = await beginModern(face);
    expect(created).toMatchObject({ resultType: "task", ttlMs: null, taskId: expect.stringMatching(/^wf_/) });
    await face.t.rest(created.taskId);
    const waiting = await detailed(face, created.taskId);
    expect(waiting.status).toBe("input_required");
    const [[key, question] = ["", undefined]] = Object.entries(waiting.inputRequests ?? {});
    expect(question).toMatchObject({ method: "elicitation/create" });
    expect(question?.params.message).toContain("Note.Publish");
    const inputResponses = { [key]: { action: "accept", content: { decision: "approve" } } };
    expect((await ask(face, "tasks/update", { taskId: created.taskId, inputResponses })).result).toMatchObject({
      resultType: "complete",
    });
    await face.t.rest(created.taskId);
    expect(await detailed(face, created.taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { state: "completed" } },
    });
    expect(publish.calls).toHaveLength(1);
  });

  it("passes over answers to what is not asked", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const { taskId } = await beginModern(face);
    await face.t.rest(taskId);
    await ask(face, "tasks/update", { taskId, inputResponses: { "gate-publish": approval, constructor: approval } });
    expect((await detailed(face, taskId)).status).toBe("input_required");
    expect(publish.calls).toEqual([]);
  });

  it("binds an answer to what was shown: of a payload that was changed since, it decides nothing", async () => {
    const gate = { quorum: { approvals: 2 }, approvers: [{ id: 1 }, { id: "bo" }] };
    const send = counted("Note.Send", { effect: "write_draft" });
    const capability = story([send], [step("only", send, { gate, params: { to: "board" } })]);
    await using face = await openMcp({ capabilities: [capability] });
    const { taskId } = await beginModern(face);
    await face.t.rest(taskId);
    const keyNow = async () => Object.keys((await detailed(face, taskId)).inputRequests ?? {})[0] ?? "";
    const shown = await keyNow();
    const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "user" } };
    await face.t.kernel.decideGate(taskId, { ...bo, decision: "approve", payload: { edit: { to: "wall" } } });
    await ask(face, "tasks/update", { taskId, inputResponses: { [shown]: approval } });
    expect((await detailed(face, taskId)).status).toBe("input_required");
    expect(await keyNow()).not.toBe(shown);
    await ask(face, "tasks/update", { taskId, inputResponses: { [await keyNow()]: approval } });
    await face.t.rest(taskId);
    expect(send.calls.map(({ input }) => input)).toEqual([{ to: "wall" }]);
  });

  it("is nobody's but its tenant's, and asks for the scopes that its commands ask for", async () => {
    const { capability } = publishing();
    const reader = {
      token: "looker",
      tenant_id: 1,
      principal: { type: "user", id: 1, role: "user" },
      scopes: ["outcome:read"],
    };
    await using face = await openMcp({ capabilities: [capability] }, {}, [reader]);
    const { taskId } = await beginModern(face);
    await face.t.rest(taskId);
    const [key = ""] = Object.keys((await detailed(face, taskId)).inputRequests ?? {});
    const inputResponses = { [key]: { action: "accept", content: { decision: "approve" } } };
    for (const [method, params] of [
      ["tasks/get", { taskId }],
      ["tasks/update", { taskId, inputResponses }],
      ["tasks/cancel", { taskId }],
    ] as const) {
      const foreign = await ask(face, method, params, { as: "foreign" });
      expect([method, foreign.error?.data]).toMatchObject([method, { kernel: { code: "T4_WORKFLOW_NOT_FOUND" } }]);
      const looked = await ask(face, method, params, { as: "looker" });
      if (method !== "tasks/get") expect(looked.error?.data).toMatchObject({ kernel: { code: "T5_AUTHZ_FORBIDDEN" } });
    }
    expect((await face.t.kernel.workflow(taskId)).state).toBe("waiting_for_user");
  });

  it("is never forced on a client that does not know it", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const waiting = await ask(face, "tools/call", { name, arguments: {} }, { extensions: {} });
    expect(waiting.result).toMatchObject({ resultType: "input_required" });
    const refused = await ask(face, "tasks/get", { taskId: "wf_x" }, { extensions: {} });
    expect(refused.error?.code).toBe(-32021);
  });
});

describe("tasks and workflows", () => {
  it("are one: what an ordinary call began is a task as well", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { workflow_id } = workflowOf(await call(client, name));
    expect((await get(client, workflow_id)).status).toBe("input_required");
  });
});
