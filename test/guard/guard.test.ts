/** The guard before a real filesystem server: what passes, what waits for a person, and how the same call goes on. */
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { learningRules } from "../../src/faces/guard/learning-rules.ts";
import { proposeRules } from "../../src/faces/guard/propose-rules.ts";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { definePolicySet } from "../../src/index.ts";
import { readYaml } from "../../src/protocol/read-yaml.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { fixtures } from "../mcp/conformance-kernel.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { allowing } from "./allowing.ts";
import { call, openGuard, program, refusalOf, textOf } from "./guard-fixture.ts";

const anything = z.looseObject({});
interface Tasked {
  readonly task: { readonly taskId: string };
}

function folder(): string {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  writeFileSync(join(made.path, "a.txt"), "hello");
  return realpathSync(made.path);
}

it("passes the tools and a reading call of the server on", async () => {
  const path = folder();
  await using g = await openGuard(program("server-filesystem", path));
  const client = await g.connect();
  expect(client.getServerVersion()?.name).toBe("secure-filesystem-server");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("write_file");
  const read = await call(client, "read_text_file", { path: join(path, "a.txt") });
  expect(textOf(read)).toBe("hello");
  const [run] = await g.t.kernel.workflows();
  expect(run).toMatchObject({ state: "completed", title: "files: read_text_file" });
});

it("lets a writing call wait for a person, and the same call find its gate and its result, once", async () => {
  const path = folder();
  const file = join(path, "b.txt");
  await using g = await openGuard(program("server-filesystem", path));
  const client = await g.connect();
  const args = { path: file, content: "new" };
  const waiting = call(client, "write_file", args);
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  await g.t.clock.advance(50_000);
  const told = await waiting;
  expect(told.structuredContent).toBeUndefined();
  const workflow_id = (await g.t.kernel.gates())[0]?.workflow_id ?? "";
  expect(refusalOf(told)).toMatchObject({
    error: {
      code: "T0_GUARD_WAITING",
      detail: { workflow_id, gates: [{ link: expect.stringContaining(workflow_id) }] },
    },
  });
  await g.t.approve(workflow_id);
  const done = await call(client, "write_file", args);
  expect(textOf(done)).toContain("Successfully wrote");
  expect(readFileSync(file, "utf8")).toBe("new");
  const again = call(client, "write_file", args);
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  expect((await g.t.kernel.gates())[0]?.workflow_id).not.toBe(workflow_id);
  await g.t.reject((await g.t.kernel.gates())[0]?.workflow_id ?? "");
  expect(refusalOf(await again)).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
});

it("takes the same call of a colleague for another one, with a gate of its own and no result of others", async () => {
  const file = join(folder(), "c.txt");
  await using g = await openGuard(program("server-filesystem", join(file, "..")));
  const [one, colleague] = [await g.connect(), await g.connect("admin")];
  const args = { path: file, content: "x" };
  const waiting = call(one, "write_file", args);
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  await g.t.clock.advance(50_000);
  expect(refusalOf(await waiting)).toMatchObject({ error: { code: "T0_GUARD_WAITING" } });
  const [first] = await g.t.kernel.gates();
  await g.t.approve(first?.workflow_id ?? "");
  const theirs = call(colleague, "write_file", args);
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  const [second] = await g.t.kernel.gates();
  expect(second?.workflow_id).not.toBe(first?.workflow_id);
  await g.t.reject(second?.workflow_id ?? "");
  expect(refusalOf(await theirs)).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
  expect(textOf(await call(one, "write_file", args))).toContain("Successfully wrote");
});

it("asks the person at the client in a form, where the guard lets people decide over MCP", async () => {
  const file = join(folder(), "c.txt");
  await using g = await openGuard(program("server-filesystem", join(file, "..")), { answersGates: true });
  const asked: string[] = [];
  const client = await g.connect("own", {
    capabilities: { elicitation: { form: {} } },
    person: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { decision: "approve" } };
    },
  });
  expect(textOf(await call(client, "write_file", { path: file, content: "x" }))).toContain("Successfully wrote");
  expect(asked).toEqual([expect.stringContaining("write_file")]);
});

it("gives a client that opens addresses that of the gate, and waits for the decision there", async () => {
  const file = join(folder(), "d.txt");
  await using g = await openGuard(program("server-filesystem", join(file, "..")));
  const client = await g.connect("own", {
    capabilities: { elicitation: { url: {} } },
    async person(params) {
      const [, workflow] = /#\/w\/(\w+)\/g\//.exec((params as { url: string }).url) ?? [];
      await g.t.approve(workflow ?? "");
      return { action: "accept" };
    },
  });
  expect(textOf(await call(client, "write_file", { path: file, content: "x" }))).toContain("Successfully wrote");
});

it("makes a task of a call that asks for one, which waits for its person", async () => {
  const file = join(folder(), "e.txt");
  await using g = await openGuard(program("server-filesystem", join(file, "..")));
  const client = await g.connect();
  const params = { name: "write_file", arguments: { path: file, content: "x" }, task: {} };
  const { task } = (await client.request({ method: "tools/call", params } as never, anything)) as never as Tasked;
  await expect.poll(() => g.t.kernel.gates()).toHaveLength(1);
  const looked = await client.request({ method: "tasks/get", params: { taskId: task.taskId } } as never, anything);
  expect(looked).toMatchObject({ status: "input_required" });
  await g.t.approve(task.taskId);
  const done = await client.request({ method: "tasks/result", params: { taskId: task.taskId } } as never, anything);
  expect(done).toMatchObject({ content: [{ text: expect.stringContaining("Successfully wrote") }] });
});

it("decides by the tool and its arguments, as rules of a file say", async () => {
  const path = folder();
  const rules = [
    allowing({ values: [{ path: "tool", any: ["write_*"] }] }),
    definePolicySet({
      version: "2",
      rules: [
        {
          name: "secrets",
          stages: ["action"],
          when: { values: [{ path: "arguments.path", any: [join(path, "secret*")] }] },
          decision: "DENY",
          reason: "secrets are nobody's",
        },
      ],
    }),
  ];
  await using g = await openGuard(program("server-filesystem", path), {}, { policies: rules });
  const client = await g.connect();
  expect(textOf(await call(client, "write_file", { path: join(path, "f"), content: "x" }))).toContain("Successfully");
  const denied = await call(client, "write_file", { path: join(path, "secret.txt"), content: "x" });
  expect(refusalOf(denied)).toMatchObject({ error: { code: "T5_POLICY_DENIED" } });
  expect(existsSync(join(path, "secret.txt"))).toBe(false);
});

it("passes prompts, resources, completions, logging, progress and sampling in both directions", async () => {
  await using g = await openGuard(program("server-everything", "stdio"), {}, { policies: [allowing()] });
  const client = await g.connect("own", { capabilities: { sampling: {}, roots: {} } });
  client.setRequestHandler("sampling/createMessage", () => ({
    model: "m",
    role: "assistant",
    content: { type: "text", text: "a sampled answer" },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work", name: "work" }] }));
  const [prompts, resources] = [await client.listPrompts(), await client.listResources()];
  expect([prompts.prompts.length, resources.resources.length].every((count) => count > 0)).toBe(true);
  const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
  const completed = await client.complete({ ref, argument: { name: "department", value: "S" } });
  expect(completed.completion.values.length).toBeGreaterThan(0);
  const sampled = await call(client, "trigger-sampling-request", { prompt: "hello", maxTokens: 5 });
  expect(textOf(sampled)).toContain("a sampled answer");
  const progress: number[] = [];
  const long = { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } };
  await client.callTool(long, { onprogress: ({ progress: at }) => void progress.push(at) });
  expect(progress.length).toBeGreaterThan(0);
  expect(textOf(await call(client, "get-roots-list"))).toContain("file:///work");
  await expect(call(client, "no-such-tool")).resolves.toMatchObject({ isError: true });
});

it("lets nobody else's same call find a gate, nor anybody fetch another one's task", async () => {
  const file = join(folder(), "g.txt");
  await using g = await openGuard(program("server-filesystem", join(file, "..")));
  const [one, other] = [await g.connect(), await g.connect("foreign")];
  const params = { name: "write_file", arguments: { path: file, content: "x" } };
  const { task } = (await one.request(
    { method: "tools/call", params: { ...params, task: {} } } as never,
    anything,
  )) as never as Tasked;
  const fetched = other.request({ method: "tasks/get", params: { taskId: task.taskId } } as never, anything);
  await expect(fetched).rejects.toMatchObject({ data: { kernel: { code: "T4_WORKFLOW_NOT_FOUND" } } });
});

it("stands before several servers, whose names are prefixes, so that none takes another one's tool", async () => {
  const path = folder();
  const servers = { files: program("server-filesystem", path), all: program("server-everything", "stdio") };
  await using g = await openGuard(servers, {}, { policies: [allowing()] });
  const client = await g.connect("own", { capabilities: { roots: {}, sampling: {} } });
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: `file://${path}`, name: "work" }] }));
  client.setRequestHandler("sampling/createMessage", () => ({
    model: "m",
    role: "assistant",
    content: { type: "text", text: "a sampled answer" },
  }));
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["files__read_text_file", "all__echo"]));
  expect(textOf(await call(client, "files__read_text_file", { path: join(path, "a.txt") }))).toBe("hello");
  expect(textOf(await call(client, "all__echo", { message: "hi" }))).toContain("hi");
  const asked = await call(client, "all__trigger-sampling-request", { prompt: "hello", maxTokens: 5 });
  expect(textOf(asked)).toContain("a sampled answer");
  expect((await client.listPrompts()).prompts.every(({ name }) => name.startsWith("all__"))).toBe(true);
  const [resource] = (await client.listResources()).resources;
  expect((await client.readResource({ uri: resource?.uri ?? "" })).contents.length).toBeGreaterThan(0);
  await client.setLoggingLevel("debug");
  for (const method of ["constructor", "sing"])
    await expect(client.request({ method } as never, anything)).rejects.toMatchObject({ code: -32601 });
  expect((await call(client, "echo", { message: "hi" })).structuredContent).toMatchObject({
    error: { code: "T0_MCP_TOOL_UNKNOWN" },
  });
});

it("refuses requests without a session before several servers, under the id that they have", async () => {
  await using g = await openGuard({
    a: program("server-everything", "stdio"),
    b: program("server-everything", "stdio"),
  });
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  for (const id of [7, "seven"]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list", params: { _meta } });
    const headers = {
      ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    };
    const answer = await g.fetch("/mcp", { method: "POST", headers, body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ id, error: { data: { supported: ["2025-11-25"] } } });
  }
});

it("serves clients of 2026-07-28 without a session where one server is behind, over HTTP", async () => {
  const upstream = await createTestKernel({ capabilities: fixtures });
  const face = createMcpHandler(upstream.kernel);
  const app = createHttpApp(upstream.kernel, { authenticate: () => testCaller, mounts: { "/mcp": face.handle } });
  const server = await serveHttp(app, { port: 0 });
  {
    await using g = await openGuard({ url: `${server.url}/mcp` }, {}, { policies: [allowing()] });
    const client = await g.connect("own", { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("test_simple_text");
    expect(textOf(await call(client, "test_simple_text"))).toContain("This is a simple text response");
    expect(g.handler.vitals()).toEqual({ sessions: 0, streams: 0 });
  }
  await face.close();
  await server.close();
  await upstream[Symbol.asyncDispose]();
});

it("asks nobody while it learns, and proposes rules that let the writing tools that were called", async () => {
  const path = folder();
  await using g = await openGuard(program("server-filesystem", path), {}, { policies: [learningRules] });
  const client = await g.connect();
  await call(client, "write_file", { path: join(path, "h.txt"), content: "x" });
  await call(client, "read_text_file", { path: join(path, "h.txt") });
  const text = await proposeRules(g.t.kernel, testCaller);
  expect(text).toContain('# reads, and is called at once: "files: read_text_file, 1 calls, 0 without a result"');
  const { rules } = definePolicySet(await readYaml(text));
  expect(rules.map(({ name, lifts }) => [name, lifts])).toEqual([["allow.files.write_file", "default.final_write"]]);
});
