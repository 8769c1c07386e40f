/**
 * Answers of decided calls whose streams break over HTTP: the client that did not receive its result fetches it by the
 * same call or by resuming the stream, once, and the tool is called once.
 */
import { expect, it, onTestFinished } from "vitest";
import { requestWith } from "../../src/protocol/relayed-message.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, openGuard, textOf } from "./guard-fixture.ts";
import { hostileServer } from "./start-guard.ts";

const acts = { tools: [{ name: "act", inputSchema: { type: "object" } }] };
const version = { "mcp-protocol-version": "2025-11-25" };

async function open() {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const { server, called } = hostileServer(made.path, acts);
  const g = await openGuard({ command: process.execPath, args: server, env: {} });
  onTestFinished(() => g[Symbol.asyncDispose]());
  const client = await g.connect();
  const session = { "mcp-session-id": (client.transport as unknown as { sessionId: string }).sessionId };
  const gates = async (count: number) => {
    await expect.poll(() => g.t.kernel.gates()).toHaveLength(count);
    return (await g.t.kernel.gates())[0]?.workflow_id ?? "";
  };
  /** Calls without the client's help. Returns the reader of the answer's stream. */
  const begin = async () => {
    const headers = {
      ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
      ...{ ...version, ...session },
    };
    const body = JSON.stringify(requestWith("raw", { method: "tools/call", params: { name: "act", arguments: {} } }));
    const answer = await g.fetch("/mcp", { method: "POST", headers, body });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? expect.fail();
    const first = (await reader.read()).value ?? "";
    return { reader, event: /^id: (\S+)/m.exec(first)?.[1] ?? "" };
  };
  const resume = (event: string) =>
    g.fetch("/mcp", { headers: { accept: "text/event-stream", "last-event-id": event, ...version, ...session } });
  const approve = async (workflow: string) => {
    await g.t.approve(workflow);
    await expect.poll(async () => (await g.t.kernel.workflow(workflow)).state).toBe("completed");
  };
  return { g, client, called, gates, begin, resume, approve };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The result has been received: the same call is another one, which a person rejects. */
async function expectAnother({ g, client, called, gates }: Opened): Promise<void> {
  const another = call(client, "act");
  await g.t.reject(await gates(1));
  expect(await another).toMatchObject({ structuredContent: { error: { code: "T5_HUMAN_DENIED" } } });
  expect(called()).toEqual(["act"]);
}

it("finds the gate of a call whose stream broke while it waited", async () => {
  const opened = await open();
  const { client, gates, begin, approve } = opened;
  const { reader } = await begin();
  const workflow = await gates(1);
  await reader.cancel();
  const again = call(client, "act");
  await approve(workflow);
  expect(textOf(await again)).toBe("called act");
  await expectAnother(opened);
});

it("gives the result to the same call if its stream broke before the client took it", async () => {
  const opened = await open();
  const { client, gates, begin, approve } = opened;
  const { reader } = await begin();
  await approve(await gates(1));
  await reader.cancel();
  expect(textOf(await call(client, "act"))).toBe("called act");
  await expectAnother(opened);
});

it("gives the result to a client that resumes the stream, and then to nobody", async () => {
  const opened = await open();
  const { gates, begin, resume, approve } = opened;
  const { reader, event } = await begin();
  const workflow = await gates(1);
  await reader.cancel();
  await approve(workflow);
  let text = "";
  await expect.poll(async () => (text = await (await resume(event)).text())).toContain("called act");
  expect(text).toContain('"id":"raw"');
  await expectAnother(opened);
});

it("knows no event of another session", async () => {
  const { g, begin, gates } = await open();
  const { reader, event } = await begin();
  await gates(1);
  const other = await g.connect();
  const headers = { "mcp-session-id": (other.transport as unknown as { sessionId: string }).sessionId, ...version };
  const answer = await g.fetch("/mcp", {
    headers: { accept: "text/event-stream", "last-event-id": event, ...headers },
  });
  expect(answer.status).toBe(400);
  await reader.cancel();
});
