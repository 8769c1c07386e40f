/**
 * A guard in this process before a real server, spoken to by the official client over HTTP without a socket.
 * Owns: the guard, its kernel and its clients. Never: asserts anything.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { createGuard } from "../../src/faces/guard/create-guard.ts";
import { createGuardHandler } from "../../src/faces/guard/guard-front.ts";
import type { UpstreamPlace } from "../../src/faces/guard/upstream.ts";
import type { McpHandlerOptions } from "../../src/faces/mcp/index.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/index.ts";
import { mountAt } from "../mcp/mcp-fixture.ts";

export { call } from "../mcp/mcp-fixture.ts";

/** A package's server over stdio. */
export const program = (name: string, ...args: readonly string[]): UpstreamPlace => ({
  command: process.execPath,
  args: [`node_modules/@modelcontextprotocol/${name}/dist/index.js`, ...args],
  env: {},
});

const isPlace = (place: object): place is UpstreamPlace => "command" in place || "url" in place;

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
  const face = mountAt(t.kernel, handler.handle);
  return {
    t,
    handler,
    ...face,
    async [Symbol.asyncDispose]() {
      await face.closeClients();
      await handler.close();
      await t[Symbol.asyncDispose]();
    },
  };
}

/** The error of a refused call: where the tool states the schema of its output, it has no other structured content. */
export const refusalOf = ({ structuredContent, _meta }: CallToolResult): unknown =>
  structuredContent ?? _meta?.["countersign/refusal"];

export const textOf = ({ content }: CallToolResult): string =>
  content.map((one) => (one.type === "text" ? one.text : one.type)).join("\n");
