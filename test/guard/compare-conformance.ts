/**
 * Runs the protocol's own judge against MCP servers as they are and through a guard, and prints the scenarios whose
 * results differ: `npm run conformance:guard`.
 * The servers: `server-everything` of the protocol (2025-11-25), and the server of test/mcp (both eras).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createGuard } from "../../src/faces/guard/create-guard.ts";
import { createGuardHandler } from "../../src/faces/guard/guard-front.ts";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { createKernel, type Kernel } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { fixtures } from "../mcp/conformance-kernel.ts";
import { allowing } from "./allowing.ts";

const packages = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const folder = mkdtempSync(join(tmpdir(), "countersign-conformance-"));

type Results = ReadonlyMap<string, string>;

/** Returns the line of each scenario, by its name. */
async function judge(url: string): Promise<Results> {
  const args = [join(packages, "conformance/dist/index.js"), "server", "--url", url, "--suite", "all"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const told = await text(child.stdout);
  return new Map(
    [...told.matchAll(/^[✓✗] ([\w-]+): (\d+ passed, \d+ failed)/gm)].map(([, name = "", is = ""]) => [name, is]),
  );
}

async function serve(kernel: Kernel, handle: ReturnType<typeof createMcpHandler>["handle"]) {
  const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": handle } });
  const server = await serveHttp(app, { port: 0 });
  return { url: `${server.url}/mcp`, close: () => server.close() };
}

async function compare(name: string, url: string): Promise<void> {
  const bare = await judge(url);
  const guard = createGuard({
    upstreams: { server: { url } },
    waitMs: 5_000,
    timeoutSec: 30,
    maxResultChars: 4_000_000,
    strict: false,
    consoleUrl: () => "http://127.0.0.1/",
    version: "1",
  });
  await using kernel = await createKernel({ capabilities: guard.packages, policies: [allowing()] });
  const handler = createGuardHandler(guard, kernel);
  const front = await serve(kernel, handler.handle);
  const guarded = await judge(front.url);
  await handler.close();
  await front.close();
  const names = [...new Set([...bare.keys(), ...guarded.keys()])];
  const others = names.filter((one) => bare.get(one) !== guarded.get(one));
  process.stdout.write(
    `${name}: ${names.length} scenarios, ${names.length - others.length} with the same result; checks passed: `,
  );
  process.stdout.write(`${sumOf(bare)} alone, ${sumOf(guarded)} guarded\n`);
  for (const one of others) process.stdout.write(`  ${one}: alone ${bare.get(one)}; guarded ${guarded.get(one)}\n`);
}

/** Returns the number of checks that passed. */
function sumOf(results: Results): number {
  return [...results.values()].reduce((sum, line) => sum + Number.parseInt(line, 10), 0);
}

const everything = spawn(process.execPath, [join(packages, "server-everything/dist/index.js"), "streamableHttp"], {
  env: { PORT: "3917" },
  stdio: ["ignore", "ignore", "pipe"],
});
await once(everything.stderr, "data");

await compare("server-everything", "http://127.0.0.1:3917/mcp");
everything.kill();

const upstream = await createKernel({ capabilities: fixtures });
await upstream.submit({ ...testCaller, intent_hint: { intent_type: "test.simple.text" } });
const face = createMcpHandler(upstream, { answersGates: true });
const own = await serve(upstream, face.handle);
await compare("the server of test/mcp", own.url);
await face.close();
await own.close();
await upstream.stop();
rmSync(folder, { recursive: true });
