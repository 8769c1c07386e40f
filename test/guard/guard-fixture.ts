/**
 * A guard in this process before a real server, spoken to by the official client over HTTP without a socket.
 * Owns: the guard, its kernel and its clients. Never: asserts anything.
 */
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type ElicitRequest,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createGuard } from "../../src/faces/guard/create-guard.ts";
import { createGuardHandler } from "../../src/faces/guard/guard-front.ts";
import type { UpstreamPlace } from "../../src/faces/guard/upstream.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import type { McpHandlerOptions } from "../../src/faces/mcp/index.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { tokens } from "../http/edge-fixture.ts";
import { origin } from "../mcp/mcp-fixture.ts";

/** A package's server over stdio. */
export const program = (name: string, ...args: readonly string[]): UpstreamPlace => ({
  command: process.execPath,
  args: [`node_modules/@modelcontextprotocol/${name}/dist/index.js`, ...args],
  env: {},
});

const isPlace = (place: object): place is UpstreamPlace => "command" in place || "url" in place;

export interface Connecting extends ClientOptions {
  readonly as?: string;
  readonly person?: (asked: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>;
}

export async function openGuard(
  place: UpstreamPlace | Readonly<Record<string, UpstreamPlace>>,
  { strict = false, ...options }: McpHandlerOptions & { readonly strict?: boolean } = {},
  kernelOptions: TestKernelOptions = {},
) {
  const guard = createGuard({
    upstreams: isPlace(place) ? { files: place } : place,
    waitMs: 50_000,
    timeoutSec: 60,
    maxResultChars: 1_000_000,
    strict,
    consoleUrl: () => "http://127.0.0.1:8790/",
    version: "1",
  });
  const t = await createTestKernel({ ...kernelOptions, capabilities: [...guard.packages] });
  const handler = createGuardHandler(guard, t.kernel, { clock: t.clock, ...options });
  const app = createHttpApp(t.kernel, { tokens, mounts: { "/mcp": handler.handle } });
  const clients: Client[] = [];
  return {
    t,
    handler,
    async connect({ as = "own", person, ...given }: Connecting = {}): Promise<Client> {
      const client = new Client({ name: "test", version: "1" }, given);
      if (person !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => person(params));
      clients.push(client);
      const fetch = (url: string | URL, init: RequestInit = {}): Promise<Response> => {
        const headers = new Headers(init.headers);
        headers.set("authorization", `Bearer ${as}`);
        headers.set("host", "127.0.0.1");
        return app.fetch(new Request(url, { ...init, headers }));
      };
      await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", origin), { fetch }));
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await handler.close();
      await t[Symbol.asyncDispose]();
    },
  };
}

export const call = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> =>
  (await client.callTool({ name, arguments: args })) as CallToolResult;

export const textOf = ({ content }: CallToolResult): string =>
  content.map((one) => (one.type === "text" ? one.text : one.type)).join("\n");
