/**
 * `npm run kills -- --count 200 --lease 600`: so many blows at three processes on one Postgres (strike-nodes.ts), on a
 * server of its own. Prints each, and what came of all. Exit code 1 where anything was lost, done twice, or is not
 * sound.
 */
import { parseArgs } from "node:util";
import { startServer } from "./start-server.ts";
import { blows, strikeNodes } from "./strike-nodes.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "30" }, lease: { type: "string", default: "600" } },
});
const [count, leaseMs] = [Number(values.count), Number(values.lease)];
if (![count, leaseMs].every(Number.isInteger)) throw new RangeError("--count and --lease take whole numbers");

const atShare = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN);

const server = await startServer();
try {
  const tell = (line: string): void => console.log(line);
  const struck = await strikeNodes({ serverUrl: server.url, schema: "kills", count, leaseMs, tell });
  for (const blow of blows) {
    const sorted = struck.takenUpMs[blow].toSorted((a, b) => a - b);
    if (sorted.length === 0) continue;
    const [half, most] = [atShare(sorted, 0.5), atShare(sorted, 0.99)];
    console.log(`${blow}: ${sorted.length}, taken up after ${half} ms (p50), ${most} ms (p99)`);
  }
  const { workflows, effects, again, broken } = struck;
  console.log(`${workflows} workflows, ${effects} effects, ${again} of them calls made again under their key`);
  for (const line of broken) console.log(line);
  process.exitCode = broken.length === 0 ? 0 : 1;
} finally {
  await server.stop();
}
