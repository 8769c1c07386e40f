/**
 * npm run bench:observed: what watching costs. The plain workload of five steps without an observer, with metrics
 * alone, with spans of a real SDK beside them, and with an inspector without a viewer, with one of all workflows, and
 * with one of all that is told of the tiers as well, taking turns in one process. Prints one JSON line each: workflows
 * a second, process CPU time for a workflow (`us`) and its share of the unobserved one's, and what of it the observer
 * itself took (`inside_us`).
 *
 * Environment: RUNS (7) and MS (700) per measurement.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NoopSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { KernelOptions } from "../../src/index.ts";
import { inspectKernel } from "../../src/observers/inspect/index.ts";
import { createObserver, type Observer, workflowIds } from "../../src/observers/telemetry/index.ts";
import { measureRate, median, rounded } from "./measure.ts";
import { openWorkload, type Workload } from "./workload.ts";

const runs = Number(process.env["RUNS"] ?? 7);
const ms = Number(process.env["MS"] ?? 700);
const folder = mkdtempSync(join(tmpdir(), "countersign-observed-"));

/** A recording SDK that exports nowhere: what an exporter costs is its own. */
function observerWithSpans() {
  const ids = workflowIds();
  const provider = new TracerProvider({ idGenerator: ids, spanProcessors: [new NoopSpanProcessor()] });
  return createObserver({ tracer: provider.getTracer("bench"), ids });
}

/** Milliseconds that observers took. */
interface Inside {
  ms: number;
}

function timed(observer: Observer, inside: Inside): KernelOptions {
  const committed: Observer["committed"] = (commit) => {
    const began = performance.now();
    observer.committed(commit);
    inside.ms += performance.now() - began;
  };
  return { telemetry: { mark: observer.mark, committed } };
}

const ways: Readonly<Record<string, (inside: Inside) => KernelOptions>> = {
  unobserved: () => ({}),
  "metrics alone": (inside) => timed(createObserver(), inside),
  "metrics and spans": (inside) => timed(observerWithSpans(), inside),
  "an inspector without a viewer": () => ({}),
  "a viewer of all workflows": () => ({}),
  "a viewer of workflows and tiers": () => ({}),
};

/** A viewer that reads all as it comes and shows it to nobody; it ends with the kernel. */
async function view(kernel: Workload["kernel"], tiers: boolean): Promise<void> {
  const source = inspectKernel(kernel, { tiers, maxPerSecond: 1_000_000 });
  for await (const message of source) JSON.stringify(message);
}

/** Begins to view where the way says so. */
function beginViewing(what: string, kernel: Workload["kernel"]): void {
  if (what === "an inspector without a viewer") inspectKernel(kernel);
  if (what.startsWith("a viewer of")) view(kernel, what.endsWith("tiers")).catch(() => undefined);
}

interface Measured {
  readonly workload: Workload;
  readonly inside: Inside;
  readonly insides: number[];
  readonly rates: number[];
  readonly cpu: number[];
}

let serial = 0;

async function measureOnce({ workload, rates, cpu, inside, insides }: Measured): Promise<void> {
  let done = 0;
  inside.ms = 0;
  const before = process.cpuUsage();
  const work = async () => {
    serial += 1;
    const { sum } = await workload.plain(`b${serial}`);
    if (sum !== 15) throw new Error(`wrong sum ${sum}`);
    done += 1;
  };
  const { per_s } = await measureRate(work, { concurrency: 64, runs: 1, ms });
  const { user, system } = process.cpuUsage(before);
  rates.push(per_s);
  cpu.push((user + system) / done);
  insides.push((1000 * inside.ms) / done);
}

try {
  const measured = new Map<string, Measured>();
  for (const [what, optionsOf] of Object.entries(ways)) {
    const inside = { ms: 0 };
    const workload = await openWorkload(join(folder, `${what}.db`), optionsOf(inside));
    beginViewing(what, workload.kernel);
    measured.set(what, { workload, inside, insides: [], rates: [], cpu: [] });
  }
  // The first round warms up and is not counted.
  for (let run = 0; run <= runs; run += 1)
    for (const each of measured.values()) {
      await measureOnce(each);
      if (run === 0) for (const list of [each.rates, each.cpu, each.insides]) list.length = 0;
    }
  const plain = median(measured.get("unobserved")?.cpu ?? []);
  for (const [what, { workload, rates, cpu, insides }] of measured) {
    const us = median(cpu);
    const shares = {
      per_s: rounded(median(rates)),
      us: rounded(us),
      of_unobserved: rounded(us / plain),
      inside_us: rounded(median(insides)),
    };
    console.log(JSON.stringify({ what, node: process.version, runs, ...shares }));
    await workload.kernel.stop();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
