/**
 * The protocol's own judge of MCP servers, as they are and through a guard.
 * The servers: `server-everything` of the protocol (2025-11-25), and the server of test/mcp (both eras).
 * Owns: the servers and the guard. Never: asserts anything.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createGuard } from "../../src/faces/guard/create-guard.ts";
import { createGuardHandler } from "../../src/faces/guard/guard-front.ts";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createMcpHandler } from "../../src/faces/mcp/index.ts";
import { createKernel, type Kernel } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { freePort } from "../free-port.ts";
import { fixtures } from "../mcp/conformance-kernel.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { allowing } from "./allowing.ts";

const packages = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");

/** The numbers of checks of one scenario. */
interface Checks {
  readonly passed: number;
  readonly failed: number;
}

/** The checks of one scenario, alone and through a guard; null where the judge did not run it. */
export interface Compared {
  readonly name: string;
  readonly alone: Checks | null;
  readonly guarded: Checks | null;
}

/** Returns the checks of each scenario, by its name. */
async function judge(url: string): Promise<ReadonlyMap<string, Checks>> {
  using folder = makeTempFolder();
  const args = [join(packages, "conformance/dist/index.js"), "server", "--url", url, "--suite", "all"];
  const child = spawn(process.execPath, args, { cwd: folder.path, stdio: ["ignore", "pipe", "ignore"] });
  const told = await text(child.stdout);
  return new Map(
    [...told.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gm)].map(([, name = "", passed, failed]) => [
      name,
      { passed: Number(passed), failed: Number(failed) },
    ]),
  );
}

async function serve(kernel: Kernel, handle: ReturnType<typeof createMcpHandler>["handle"]) {
  const app = createHttpApp(kernel, { authenticate: () => testCaller, mounts: { "/mcp": handle } });
  const server = await serveHttp(app, { port: 0 });
  return { url: `${server.url}/mcp`, close: () => server.close() };
}

/** Judges a server, and the same server through a guard. */
async function compare(url: string): Promise<readonly Compared[]> {
  const alone = await judge(url);
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
  return [...new Set([...alone.keys(), ...guarded.keys()])].map((name) => ({
    name,
    alone: alone.get(name) ?? null,
    guarded: guarded.get(name) ?? null,
  }));
}

/** Compares `server-everything`, which knows sessions alone. */
export async function compareEverything(): Promise<readonly Compared[]> {
  const port = await freePort();
  const args = [join(packages, "server-everything/dist/index.js"), "streamableHttp"];
  const server = spawn(process.execPath, args, { env: { PORT: String(port) }, stdio: ["ignore", "ignore", "pipe"] });
  try {
    await once(server.stderr, "data");
    return await compare(`http://127.0.0.1:${port}/mcp`);
  } finally {
    server.kill();
  }
}

/** Compares the server of test/mcp, which knows both eras. */
export async function compareOwn(): Promise<readonly Compared[]> {
  await using upstream = await createKernel({ capabilities: fixtures });
  await upstream.submit({ ...testCaller, intent_hint: { intent_type: "test.simple.text" } });
  const face = createMcpHandler(upstream, { answersGates: true });
  const own = await serve(upstream, face.handle);
  try {
    return await compare(own.url);
  } finally {
    await face.close();
    await own.close();
  }
}

/** Returns whether fewer checks pass through the guard than alone, or the judge did not run the scenario there. */
export const isWorse = ({ alone, guarded }: Compared): boolean =>
  alone !== null && (guarded === null || guarded.passed < alone.passed);
