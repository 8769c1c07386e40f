/**
 * `npm run bench:guard`: the latency of a reading tool call over stdio, to a server as it is and through
 * `countersign guard` with a ledger on a file, in turns.
 *
 * Environment: RUNS (5), CALLS (200) per run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const runs = Number(process.env["RUNS"] ?? 5);
const calls = Number(process.env["CALLS"] ?? 200);
const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "countersign-guard-"));
const server = [join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"];
const guard = [join(root, "src/faces/cli/bin.mjs"), "guard", "--db", "guard.db", "--port", "0", "--", process.execPath];

async function connect(args: readonly string[]): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd: folder,
    stderr: "ignore",
  });
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  return client;
}

async function measure(client: Client, run: number): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let i = 0; i < calls; i += 1) {
    const began = performance.now();
    await client.callTool({ name: "echo", arguments: { message: `${run}.${i}` } });
    taken.push(performance.now() - began);
  }
  return taken.sort((a, b) => a - b);
}

const [bare, guarded] = [await connect(server), await connect([...guard, ...server])];
await Promise.all([measure(bare, -1), measure(guarded, -1)]);
const tell = (taken: readonly number[]): string => {
  const at = (share: number): string => (taken[Math.floor(taken.length * share)] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
};
for (let run = 0; run < runs; run += 1) {
  const [alone, through] = [await measure(bare, run), await measure(guarded, run)];
  process.stdout.write(`alone ${tell(alone)}; guarded ${tell(through)}\n`);
}
await bare.close();
await guarded.close();
rmSync(folder, { recursive: true });
