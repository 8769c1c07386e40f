/**
 * Gauges of a process and its kernel: read when somebody collects, and at no other time.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Kernel } from "../index.ts";
import type { InstrumentName, MetricSink } from "./instruments.ts";

type Read = () => number | Promise<number>;

const resolution = 10;

/** Gives the way to end it: nothing listens and nothing is sampled any more. */
export function observeProcess(
  kernel: Kernel,
  sinks: readonly MetricSink[],
  { maxGatesCounted }: { readonly maxGatesCounted: number },
): () => void {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const gauges: readonly (readonly [InstrumentName, Read])[] = [
    ["workflowsAwake", () => kernel.vitals().workflows],
    ["listeners", () => kernel.vitals().listeners],
    ["gatesOpen", () => countGates(kernel, maxGatesCounted)],
    ["loopDelay", () => readDelay(delay)],
  ];
  const ends = sinks.flatMap((sink) => gauges.map(([name, read]) => sink.watch(name, read)));
  return () => {
    delay.disable();
    for (const end of ends) end();
  };
}

/** A kernel that has stopped has none to decide. */
async function countGates(kernel: Kernel, limit: number): Promise<number> {
  try {
    return (await kernel.gates({ limit })).length;
  } catch {
    return 0;
  }
}

/** Seconds beyond the sampling's own interval, since it was last read. */
function readDelay(delay: ReturnType<typeof monitorEventLoopDelay>): number {
  const p99 = delay.percentile(99) / 1e9;
  delay.reset();
  return Number.isFinite(p99) ? Math.max(0, p99 - resolution / 1000) : 0;
}
