/**
 * The MCP face over a kernel, spoken to by the official client.
 * Owns: clients over HTTP without a socket, a person who answers questions, short ways to read results. Never: asserts
 * anything.
 */
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type ElicitRequest,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createHttpApp, type HttpApp, type StaticToken } from "../../src/faces/http/index.ts";
import {
  createMcpHandler,
  type McpHandler,
  type McpHandlerOptions,
  type McpWorkflow,
} from "../../src/faces/mcp/index.ts";
import type { Kernel } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { tokens } from "../http/edge-fixture.ts";

export const origin = "http://127.0.0.1:1";

export interface McpUnderTest extends AsyncDisposable {
  readonly t: TestKernel;
  readonly mcp: McpHandler;
  readonly app: HttpApp;
  /** A request to the app, as `token`. */
  readonly fetch: (path: string, init?: RequestInit, token?: string) => Promise<Response>;
  readonly connect: (as?: string, options?: ConnectOptions) => Promise<Client>;
}

export interface ConnectOptions extends ClientOptions {
  /** Who answers questions; without one the client offers no elicitation. */
  readonly person?: (asked: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>;
}

/** An app with MCP at /mcp; requests go to its `fetch`, no socket is opened. */
export function openApp(kernel: Kernel, options: McpHandlerOptions = {}, more: readonly StaticToken[] = []) {
  const mcp = createMcpHandler(kernel, options);
  return { mcp, ...mountAt(kernel, mcp.handle, more) };
}

/** An app with this handler at /mcp, and clients of it, which `closeClients` closes. */
export function mountAt(kernel: Kernel, handle: McpHandler["handle"], more: readonly StaticToken[] = []) {
  const app = createHttpApp(kernel, { tokens: [...tokens, ...more], mounts: { "/mcp": handle } });
  const fetchPath = (path: string, init: RequestInit = {}, token = "own"): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (token !== "") headers.set("authorization", `Bearer ${token}`);
    if (!headers.has("host")) headers.set("host", "127.0.0.1");
    return app.fetch(new Request(new URL(path, origin), { ...init, headers }));
  };
  const clients: Client[] = [];
  return {
    app,
    fetch: fetchPath,
    async connect(as = "own", given: ConnectOptions = {}): Promise<Client> {
      const client = makeClient(given);
      clients.push(client);
      const asked = (url: string | URL, init?: RequestInit) => fetchPath(String(url), init, as);
      await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", origin), { fetch: asked }));
      return client;
    },
    async closeClients(): Promise<void> {
      for (const client of clients) await client.close();
    },
  };
}

export async function openMcp(
  kernelOptions: TestKernelOptions = {},
  options: McpHandlerOptions = {},
  more: readonly StaticToken[] = [],
): Promise<McpUnderTest> {
  const t = await createTestKernel(kernelOptions);
  const face = openApp(t.kernel, { clock: t.clock, answersGates: true, ...options }, more);
  return {
    t,
    ...face,
    async [Symbol.asyncDispose]() {
      await face.closeClients();
      await face.mcp.close();
      await t[Symbol.asyncDispose]();
    },
  };
}

/** A client; who has a person shows forms, unless the options say what it can ask. */
export function makeClient({ person, ...options }: ConnectOptions = {}): Client {
  const capabilities = { ...(person !== undefined && { elicitation: { form: {} } }), ...options.capabilities };
  const client = new Client({ name: "test", version: "1" }, { ...options, capabilities });
  if (person !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => person(params));
  return client;
}

export const call = async (client: Client, name: string, args: object = {}): Promise<CallToolResult> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;

/** The structured content of a call. */
export const told = async <T = Readonly<Record<string, unknown>>>(client: Client, name: string, args: object = {}) =>
  (await call(client, name, args)).structuredContent as T;

export const workflowOf = ({ structuredContent }: CallToolResult): McpWorkflow => structuredContent as McpWorkflow;
