/** Real processes: the command line over stdio, and a server that is started again in the middle of a task. */
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type ElicitResult, StreamableHTTPClientTransport, specTypeSchemas } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { launcher, makeRepository, startProcess } from "../cli/command-line.ts";
import { publishing } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { type ConnectOptions, call, makeClient, told, workflowOf } from "./mcp-fixture.ts";

const notes = "Repo_ReleaseNotes_Draft";

let folder: TempFolder;
beforeEach(() => {
  folder = makeTempFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** `countersign mcp` as a client starts it. */
async function connectStdio(options: ConnectOptions = {}) {
  const args = [launcher, "mcp", "--answer-gates", "--db", join(folder.path, "ledger.db"), "--principal", "ann"];
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folder.path, stderr: "pipe" });
  const client = makeClient(options);
  await client.connect(transport);
  return { client, transport };
}

describe("countersign mcp", () => {
  it("runs the release notes to their gate and, once decided, to their end", async () => {
    makeRepository(folder.path);
    const { client } = await connectStdio();
    expect(client.getServerVersion()).toMatchObject({ name: "countersign", version: expect.stringMatching(/^\d+\./) });
    const waiting = workflowOf(await call(client, notes, { repo: folder.path }));
    expect(waiting.state).toBe("waiting_for_user");
    const { workflow_id, gates } = waiting;
    const { gate_id, payload_digest } = gates[0] as (typeof gates)[number];
    await told(client, "decide-gate", { workflow_id, gate_id, payload_digest, decision: "approve" });
    const params = { taskId: workflow_id };
    const done = await client.request({ method: "tasks/result", params }, z.looseObject({}));
    expect(done).toMatchObject({ structuredContent: { state: "completed" } });
    expect(await told(client, "explain-workflow", { workflow_id })).toMatchObject({
      steps: expect.arrayContaining([expect.objectContaining({ approved_by: expect.stringContaining("ann") })]),
    });
    await client.close();
  });

  it("asks the person at the other end, also as 2026-07-28 has it", async () => {
    makeRepository(folder.path);
    const person = (): ElicitResult => ({ action: "decline" });
    const { client } = await connectStdio({ person, versionNegotiation: { mode: { pin: "2026-07-28" } } });
    expect(workflowOf(await call(client, notes, { repo: folder.path })).state).toBe("cancelled");
    await client.close();
  });

  it("writes nothing but protocol to stdout, and ends in peace when its input does", async () => {
    const child = startProcess(folder.path, "mcp", "--db", join(folder.path, "ledger.db"));
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    child.stdin.write(`not json\n${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    await once(reader, "line");
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(lines.map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc)).toEqual(lines.map(() => "2.0"));
  });
});

describe("a server that is started again", () => {
  async function open() {
    const { capability } = publishing();
    const kernel = await createKernel({
      ledger: sqliteLedger({ path: join(folder.path, "l.db") }),
      capabilities: [capability],
    });
    const mcp = createMcpHandler(kernel, { answersGates: true });
    const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": mcp.handle } });
    const server = await serveHttp(app, { port: 0 });
    const client = makeClient();
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const stop = async () => {
      await mcp.close();
      await server.close();
      await kernel.stop({ drainMs: 0 });
    };
    return { kernel, client, stop };
  }

  it("goes on with the task that another process began", async () => {
    const first = await open();
    const asked = { name: "Story_Note_Publish", arguments: {}, task: {} };
    const created = await first.client.request(
      { method: "tools/call", params: asked },
      specTypeSchemas.CreateTaskResult,
    );
    const { taskId } = created.task;
    await first.kernel.settled(taskId);
    await first.stop();
    const second = await open();
    const get = () => second.client.request({ method: "tasks/get", params: { taskId } }, specTypeSchemas.GetTaskResult);
    expect((await get()).status).toBe("input_required");
    const result = second.client.request({ method: "tasks/result", params: { taskId } }, z.looseObject({}));
    const { gates } = await told<{ gates: { payload_digest: string }[] }>(second.client, "list-gates");
    const payload_digest = gates[0]?.payload_digest;
    await told(second.client, "decide-gate", { workflow_id: taskId, decision: "approve", payload_digest });
    expect(await result).toMatchObject({ structuredContent: { state: "completed" } });
    expect((await get()).status).toBe("completed");
    await second.client.close();
    await second.stop();
  });
});

describe("countersign serve", () => {
  it("serves MCP at /mcp to who has the token", async () => {
    const child = startProcess(folder.path, "serve", "--port", "0", "--json", "--db", join(folder.path, "l.db"));
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const { url, token } = JSON.parse(line) as { url: string; token: string };
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const client = makeClient();
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain(notes);
    const stranger = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
    await expect(makeClient().connect(stranger)).rejects.toThrow();
    await client.close();
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
  });
});
