/** Requests of strangers to a guard over HTTP: each is answered with a coded error or passed on, and nothing hangs. */
import { expect, it } from "vitest";
import { requestWith } from "../../src/protocol/relayed-message.ts";
import { allowing } from "./allowing.ts";
import { call, openGuard, program, textOf } from "./guard-fixture.ts";

const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const listing = JSON.stringify(requestWith(1, { method: "tools/list", params: {} }));

const refused: readonly (readonly [string, string])[] = [
  ["a batch", `[${listing},${listing}]`],
  ["a name twice in one object", '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}'],
  ["deep nesting", `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(500)}1${"}".repeat(500)}}`],
  ["the id null", '{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{}}'],
  ["a request before initialize", listing],
  ["two megabytes", JSON.stringify(requestWith(1, { method: "ping", params: { text: "x".repeat(2_000_000) } }))],
];

it.each(refused)("refuses %s, and goes on", async (_what, body) => {
  await using g = await openGuard(program("server-everything", "stdio"), {}, { policies: [allowing()] });
  const answer = await g.fetch("/mcp", { method: "POST", headers, body });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(await answer.json()).toMatchObject({ error: { code: expect.any(Number) } });
  const client = await g.connect();
  expect(textOf(await call(client, "echo", { message: "hi" }))).toContain("hi");
});

const names = ["__proto__", "constructor", "\u0435cho", "echo\u200b", "x".repeat(10_000), ""];

it.each(names)("takes no tool for another one by the name %j", async (name) => {
  await using g = await openGuard(program("server-everything", "stdio"), {}, { policies: [allowing()] });
  const client = await g.connect();
  const answer = await call(client, name, { message: "hi" });
  expect(answer).toMatchObject({ structuredContent: { error: { code: "T0_MCP_TOOL_UNKNOWN" } } });
  expect(JSON.stringify(answer).length).toBeLessThan(2_000);
});
