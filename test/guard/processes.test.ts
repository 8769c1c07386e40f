/** `countersign guard` as a client starts it, killed and started again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, onTestFinished } from "vitest";
import { launcher } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, refusalOf, textOf } from "./guard-fixture.ts";

const server = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
const approver = "an-approver-of-this-test";

async function start(folder: string, wait: number) {
  const guard = ["guard", "--db", "guard.db", "--port", "0", "--wait", String(wait), "--approver-token", approver];
  const args = [launcher, ...guard, "--", process.execPath, server, folder];
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folder, stderr: "pipe" });
  const lines = Promise.withResolvers<string>();
  transport.stderr?.on("data", (chunk: Buffer) => {
    const [, url] = /console {2}(http:\/\/[\d.:]+)/.exec(String(chunk)) ?? [];
    if (url !== undefined) lines.resolve(url);
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const url = await lines.promise;
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${approver}`, "content-type": "application/json" };
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(`${url}${path}`, init)).json()) as { readonly gates?: readonly Gate[] };
  };
  return { client, transport, ask };
}

interface Gate {
  readonly gate_id: string;
  readonly workflow_id: string;
}

it("ends with the code of a server that does not start", async () => {
  using folder = makeTempFolder();
  const guard = [launcher, "guard", "--db", "guard.db", "--port", "0", "--", "no-such-program"];
  const child = spawn(process.execPath, guard, { cwd: folder.path, stdio: ["pipe", "ignore", "pipe"] });
  onTestFinished(() => void child.kill());
  const [told, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect([code, told]).toEqual([1, expect.stringContaining("T0_GUARD_UPSTREAM_GONE")]);
});

it("makes an approved call once, though the guard is killed while its person decides", async () => {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const folder = realpathSync(made.path);
  const file = join(folder, "out.txt");
  const args = { path: file, content: "once" };
  const first = await start(folder, 1);
  const told = await call(first.client, "write_file", args);
  expect(refusalOf(told)).toMatchObject({ error: { code: "T0_GUARD_WAITING" } });
  process.kill(first.transport.pid ?? 0, "SIGKILL");
  const second = await start(folder, 30);
  const waiting = call(second.client, "write_file", args);
  waiting.catch(() => undefined);
  const gates = async () => (await second.ask("/v1/kernel/gates")).gates ?? [];
  await expect.poll(gates, { timeout: 10_000 }).toHaveLength(1);
  const [gate] = (await gates()) as [Gate];
  expect(existsSync(file)).toBe(false);
  await second.ask(`/v1/kernel/workflows/${gate.workflow_id}/gate`, { gate_id: gate.gate_id, decision: "approve" });
  expect(textOf(await waiting)).toContain("Successfully wrote");
  expect(readFileSync(file, "utf8")).toBe("once");
  expect(await gates()).toEqual([]);
});
