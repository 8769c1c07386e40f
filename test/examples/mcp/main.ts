/**
 * The kernel as an MCP server over HTTP, and the official client that calls a tool of it as an agent would. `npm start`
 */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createKernel } from "countersign";
import { createHttpApp, serveHttp } from "countersign/http";
import { createMcpHandler, type McpWorkflow } from "countersign/mcp";
import { person, refund, request } from "../shop/refund.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const mcp = createMcpHandler(kernel); // gates are not answered over MCP unless `answersGates` says so
const agent = { token: "agent", tenant_id: 1, principal: { type: "agent", id: "bot", role: "user" } } as const;
const app = createHttpApp(kernel, { tokens: [agent], mounts: { "/mcp": mcp.handle } });
const server = await serveHttp(app, { port: 0 });

const client = new Client({ name: "an-agent", version: "1.0" });
const requestInit = { headers: { authorization: "Bearer agent" } };
await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.url), { requestInit }));
console.log((await client.listTools()).tools.map(({ name }) => name).join(" "));
const called = await client.callTool({ name: "Shop_Refund", arguments: request.intent_hint.inputs });
const asked = called.structuredContent as McpWorkflow;
console.log("the agent is told:", asked.state);

// A person answers, on another face.
const [gate] = await kernel.gates({ workflow_id: asked.workflow_id }, person("bo"));
const payload = { payload_digest: gate?.payload_digest };
await kernel.decideGate(asked.workflow_id, { ...person("bo"), gate_id: gate?.gate_id, decision: "approve", payload });
console.log("then:", (await kernel.settled(asked.workflow_id)).state);
await client.close();
await mcp.close();
await server.close();
