/**
 * npm run bench:http: submits a second over HTTP, by autocannon on the loopback address, beside the same kernel asked
 * from inside, in turns. The server has a process of its own and autocannon this one, so that two cores are busy; the
 * in-process figure has one. A submit is accepted at once and its five steps run while the next ones come; "run" counts
 * workflows a second until all that was accepted has run.
 *
 * Environment: RUNS (5), MS (3000) per run, CONNECTIONS (64).
 */
import autocannon from "autocannon";
import { startChild } from "./in-child.ts";
import { median, type Rate, rounded } from "./measure.ts";

const runs = Number(process.env["RUNS"] ?? 5);
const ms = Number(process.env["MS"] ?? 3_000);
const connections = Number(process.env["CONNECTIONS"] ?? 64);

interface Measured {
  readonly accepted_per_s: number;
  readonly run_per_s: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

const server = await startChild("./http-server.ts");
const url = await server.ask<string>("url");

async function overHttp(): Promise<Measured> {
  const began = performance.now();
  const { requests, latency, errors, non2xx } = await autocannon({
    url: `${url}/v1/kernel/submit`,
    connections,
    duration: ms / 1000,
    method: "POST",
    headers: { authorization: "Bearer bench", "content-type": "application/json" },
    body: JSON.stringify({
      input: { mode: "data" },
      intent_hint: { intent_type: "Bench.Plain.Run", inputs: { id: "b" } },
    }),
  });
  if (errors + non2xx > 0) throw new Error(`${errors} requests failed and ${non2xx} were refused`);
  const took = performance.now() - began;
  await server.ask("drained");
  return {
    accepted_per_s: (1000 * requests.total) / took,
    run_per_s: (1000 * requests.total) / (performance.now() - began),
    p50_ms: latency.p50,
    p99_ms: latency.p99,
  };
}

async function fromInside(): Promise<Measured> {
  const began = performance.now();
  const { per_s, p50_ms, p99_ms } = await server.ask<Rate>("submits", { concurrency: connections, ms });
  const submitted = (per_s * (performance.now() - began)) / 1000;
  await server.ask("drained");
  return { accepted_per_s: per_s, run_per_s: (1000 * submitted) / (performance.now() - began), p50_ms, p99_ms };
}

function print(what: string, measured: readonly Measured[]): Measured {
  const of = (key: keyof Measured): number => rounded(median(measured.map((one) => one[key])));
  const result = {
    accepted_per_s: of("accepted_per_s"),
    run_per_s: of("run_per_s"),
    p50_ms: of("p50_ms"),
    p99_ms: of("p99_ms"),
  };
  console.log(JSON.stringify({ what, node: process.version, connections, runs: measured.length, ...result }));
  return result;
}

await server.ask("warm");
const http: Measured[] = [];
const inside: Measured[] = [];
for (let run = 0; run <= runs; run += 1) {
  const pair = [await fromInside(), await overHttp()] as const;
  // The first turn warms both.
  if (run === 0) continue;
  inside.push(pair[0]);
  http.push(pair[1]);
}
const within = print("submit in process", inside);
const over = print("submit over HTTP", http);
const share = (key: "accepted_per_s" | "run_per_s"): string => `${Math.round((100 * over[key]) / within[key])} %`;
console.log(
  `over HTTP: ${share("accepted_per_s")} of the submits in process, ${share("run_per_s")} of the workflows run`,
);
await server.ask("close");
await server.stop();
