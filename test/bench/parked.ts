/**
 * Parked workflows: what one costs in memory, and how soon a restarted kernel approves the first and all of them.
 */
import { removeDatabase } from "./floors.ts";
import { rounded } from "./measure.ts";
import { openWorkload } from "./workload.ts";

export interface Line {
  readonly what: string;
  readonly result: object;
}

const collect = (): number => {
  (globalThis as { readonly gc?: () => void }).gc?.();
  (globalThis as { readonly gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed;
};

async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) await work(items[i] as T);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

export async function measureParked(path: string, count: number): Promise<readonly Line[]> {
  removeDatabase(path);
  const first = await openWorkload(path);
  await inParallel(
    Array.from({ length: 500 }, (_, i) => i),
    64,
    (i) => first.plain(`warm${i}`),
  );
  const before = collect();
  const ids: string[] = new Array(count);
  const parkedAt = performance.now();
  await inParallel(
    Array.from({ length: count }, (_, i) => i),
    64,
    async (i) => {
      ids[i] = await first.gateStart(`parked${i}`);
    },
  );
  const parkSeconds = (performance.now() - parkedAt) / 1000;
  const idsSize = ids.length * (30 + 16);
  const heap = (collect() - before - idsSize) / count;
  await first.kernel.stop();

  const startedAt = performance.now();
  const second = await openWorkload(path);
  const openedMs = performance.now() - startedAt;
  await second.gateApprove(ids[0] as string);
  const firstMs = performance.now() - startedAt;
  const restAt = performance.now();
  await inParallel(ids.slice(1), 64, (id) => second.gateApprove(id));
  const restSeconds = (performance.now() - restAt) / 1000;
  await second.kernel.stop();
  return [
    {
      what: "parking",
      result: {
        count,
        seconds: rounded(parkSeconds),
        per_s: Math.round(count / parkSeconds),
        heap_bytes_each: Math.round(heap),
      },
    },
    {
      what: "restart",
      result: {
        open_ms: rounded(openedMs),
        first_approval_done_ms: rounded(firstMs),
        all_done_s: rounded(restSeconds),
        approvals_per_s: Math.round((count - 1) / restSeconds),
      },
    },
  ];
}
