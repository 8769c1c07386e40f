/**
 * The protocol's own judge against our real server; `conformance-baseline.yml` says which scenarios do not apply, and
 * why.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { createKernel } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { fixtures, renamed } from "./conformance-kernel.ts";

const judge = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const baseline = fileURLToPath(new URL("conformance-baseline.yml", import.meta.url));

/** Scenarios that ask for tools which cannot be ours beside what they check of every server: that part must pass. */
const inPart = [
  "server-stateless: 24 passed, 4 failed",
  "caching: 7 passed, 1 failed",
  "tasks-lifecycle: 7 passed, 2 failed",
  "tasks-request-headers: 4 passed, 1 failed",
  "tasks-dispatch-and-envelope: 7 passed, 2 failed",
];

/** The answer, in which one tool has the name that the judge looks for. */
function rename(response: Response): Response {
  if (response.body === null) return response;
  const decoder = new TextDecoder();
  const toName = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, out) =>
      out.enqueue(
        new TextEncoder().encode(decoder.decode(chunk, { stream: true }).replaceAll(renamed.from, renamed.to)),
      ),
  });
  return new Response(response.body.pipeThrough(toName), response);
}

describe("the conformance suite", () => {
  it("passes for every scenario that applies to a server of workflows, in both eras of the protocol", async () => {
    using folder = makeTempFolder();
    await using kernel = await createKernel({ capabilities: fixtures });
    // Something to list and read.
    await kernel.submit({ ...testCaller, intent_hint: { intent_type: "test.simple.text" } });
    const mcp = createMcpHandler(kernel, { answersGates: true });
    const handle: typeof mcp.handle = async (...asked) => rename(await mcp.handle(...asked));
    const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": handle } });
    const server = await serveHttp(app, { port: 0 });
    const args = ["server", "--url", `${server.url}/mcp`, "--suite", "all", "--expected-failures", baseline];
    const child = spawn(process.execPath, [judge, ...args], { cwd: folder.path });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const [told, code] = await Promise.all([text(child.stdout), ended]);
    await mcp.close();
    await server.close();
    expect(told.slice(told.indexOf("=== SUMMARY"))).toMatch(/✓ server-initialize: [1-9]/);
    expect(
      inPart.filter((line) => !told.includes(line)),
      told,
    ).toEqual([]);
    expect(code, told).toBe(0);
  });
});
