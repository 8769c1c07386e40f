/**
 * npm run bench:streams: many readers of one busy workflow over HTTP, beside one reader of the same. The server has a
 * process of its own, the readers this one: both cores are busy. Each reader's ids are checked: none lost, none
 * repeated.
 *
 * Environment: RUNS (3), READERS (1000), WORDS (300): commits of the workflow.
 */
import { startChild } from "./in-child.ts";
import { median, rounded } from "./measure.ts";
import { openReader } from "./sse-client.ts";

const runs = Number(process.env["RUNS"] ?? 3);
const many = Number(process.env["READERS"] ?? 1_000);
const words = Number(process.env["WORDS"] ?? 300);

interface Memory {
  readonly rss: number;
  readonly heap: number;
}

async function measure(readers: number): Promise<Record<string, number>> {
  const server = await startChild("./stream-server.ts");
  const url = await server.ask<string>("url");
  const id = await server.ask<string>("park", words);
  // One reader warms the code that all of them run.
  const first = openReader(`${url}/v1/kernel/stream/${id}/events`, "bench");
  await first.begun;
  const before = await server.ask<Memory>("memory");
  const open = Array.from({ length: readers }, () => openReader(`${url}/v1/kernel/stream/${id}/events`, "bench"));
  await Promise.all(open.map((reader) => reader.begun));
  const idle = await server.ask<Memory>("memory");
  const began = performance.now();
  await server.ask("begin", id);
  const { events, ran_ms, reads, commits } = await server.ask<Record<string, number>>("ended", id);
  await Promise.all([first, ...open].map((reader) => reader.closed));
  const took = performance.now() - began;
  const { cpu_ms = 0, loop_delay_p99_ms = 0, rss: busyRss = 0 } = await server.ask<Record<string, number>>("cost");
  const after = await server.ask<Memory>("memory");
  await server.ask("close");
  await server.stop();
  const wrong = open.filter((reader) => !reader.seen().inOrder || reader.seen().last !== events).length;
  if (wrong > 0) throw new Error(`${wrong} of ${readers} readers were told something else than the ledger's events`);
  const delivered = open.reduce((sum, reader) => sum + reader.seen().messages, 0);
  return {
    events: events ?? 0,
    commits: commits ?? 0,
    reads: reads ?? 0,
    delivered,
    delivered_per_s: (1000 * delivered) / took,
    ran_ms: ran_ms ?? 0,
    took_ms: took,
    server_cpu_ms: cpu_ms,
    loop_delay_p99_ms,
    idle_kb_per_reader: (idle.rss - before.rss) / readers / 1024,
    idle_heap_kb_per_reader: (idle.heap - before.heap) / readers / 1024,
    busy_kb_per_reader: (busyRss - before.rss) / readers / 1024,
    after_heap_kb_per_reader: (after.heap - before.heap) / readers / 1024,
  };
}

for (const readers of [1, many]) {
  const measured: Record<string, number>[] = [];
  for (let run = 0; run < runs; run += 1) measured.push(await measure(readers));
  const medians = Object.keys(measured[0] ?? {}).map((key) => [
    key,
    rounded(median(measured.map((one) => one[key] ?? 0))),
  ]);
  console.log(
    JSON.stringify({
      what: "readers of one workflow",
      node: process.version,
      readers,
      runs,
      ...Object.fromEntries(medians),
    }),
  );
}
