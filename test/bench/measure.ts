/** Rates and latencies of an async piece of work, as medians over runs; the machine is shared and noisy. */
import { monitorEventLoopDelay } from "node:perf_hooks";

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
export const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;
export const rounded = (value: number): number => Number(value.toFixed(value < 10 ? 3 : 0));

export interface Rate {
  readonly per_s: number;
  readonly min: number;
  readonly max: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly loop_delay_p99_ms: number;
}

export interface Runs {
  readonly concurrency: number;
  readonly runs: number;
  readonly ms: number;
}

export async function measureRate(work: () => Promise<unknown>, { concurrency, runs, ms }: Runs): Promise<Rate> {
  const rates: number[] = [];
  const latencies: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (let run = 0; run < runs; run += 1) rates.push(await runOnce(work, { concurrency, ms, latencies }));
  delay.disable();
  return {
    per_s: rounded(median(rates)),
    min: rounded(Math.min(...rates)),
    max: rounded(Math.max(...rates)),
    p50_ms: rounded(quantile(latencies, 0.5)),
    p99_ms: rounded(quantile(latencies, 0.99)),
    loop_delay_p99_ms: rounded(delay.percentile(99) / 1e6),
  };
}

async function runOnce(
  work: () => Promise<unknown>,
  { concurrency, ms, latencies }: { readonly concurrency: number; readonly ms: number; readonly latencies: number[] },
): Promise<number> {
  const start = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      const at = performance.now();
      await work();
      latencies.push(performance.now() - at);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (done / (performance.now() - start)) * 1000;
}
