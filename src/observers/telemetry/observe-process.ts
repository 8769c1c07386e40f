/**
 * Gauges of a process and its kernel: read when somebody collects, and at no other time.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { singleFlight } from "../../contract/single-flight.ts";
import type { Kernel, LedgerLag } from "../../index.ts";
import type { InstrumentName } from "./instruments.ts";
import type { MeterInstruments } from "./meter-instruments.ts";

type Read = () => number | Promise<number>;

const resolution = 10;

/** Observes all kernels that are watched. Returns the function that ends it: nothing is sampled any more. */
export function observeProcess(
  kernels: () => readonly Kernel[],
  instruments: MeterInstruments,
  { maxGatesCounted }: { readonly maxGatesCounted: number },
): () => void {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const sum = (of: "workflows" | "places" | "submits" | "listeners") =>
    kernels().reduce((all, kernel) => all + kernel.vitals()[of], 0);
  const readLags = singleFlight(() => Promise.all(kernels().map(readLag)));
  const lagOf = (of: keyof LedgerLag) => async () => Math.max(0, ...(await readLags()).map((lag) => lag?.[of] ?? 0));
  const readHolds = singleFlight(() => Promise.all(kernels().map(readHeld)));
  const holdsOf = (of: keyof Held) => async () => Math.max(0, ...(await readHolds()).map((held) => held?.[of] ?? 0));
  const gauges: readonly (readonly [InstrumentName, Read])[] = [
    ["workflowsAwake", () => sum("workflows")],
    ["placesTaken", () => sum("places")],
    ["submitsWaiting", () => sum("submits")],
    ["listeners", () => sum("listeners")],
    ["gatesOpen", () => countGates(kernels(), maxGatesCounted)],
    ["workflowsPaused", holdsOf("paused")],
    ["workflowsQueued", holdsOf("queued")],
    ["haltsStanding", holdsOf("halts")],
    ["workflowsHeld", holdsOf("workflows")],
    ["stepsHeld", holdsOf("steps")],
    ["leaseAge", () => Math.max(0, ...kernels().map((kernel) => kernel.vitals().lease_age)) / 1000],
    ["lagRows", lagOf("rows")],
    ["lagTransactions", lagOf("transactions")],
    ["lagOldest", async () => (await lagOf("oldest_ms")()) / 1000],
    ["loopDelay", () => readDelay(delay)],
  ];
  const ends = gauges.map(([name, read]) => instruments.watch(name, read));
  return () => {
    delay.disable();
    for (const end of ends) end();
  };
}

/** Counts open gates; a gate of a ledger that several kernels share counts once. */
async function countGates(kernels: readonly Kernel[], limit: number): Promise<number> {
  const lists = await Promise.all(kernels.map((kernel) => readGates(kernel, limit)));
  return Math.min(limit, new Set(lists.flat()).size);
}

/** Returns the open gates; none for a stopped kernel. */
async function readGates(kernel: Kernel, limit: number): Promise<readonly string[]> {
  try {
    return (await kernel.gates({ limit })).map(({ workflow_id, gate_id }) => `${workflow_id}/${gate_id}`);
  } catch {
    return [];
  }
}

/** Returns the lag; null for a kernel that has stopped or whose ledger is unavailable. */
const readLag = (kernel: Kernel): Promise<LedgerLag | null> => kernel.lag().catch(() => null);

type Held = Awaited<ReturnType<Kernel["holds"]>>;

/** Returns what is held in a kernel's ledger; null as above. Kernels of a process share a ledger as a rule. */
const readHeld = (kernel: Kernel): Promise<Held | null> => kernel.holds().catch(() => null);

/** Seconds beyond the sampling's own interval, since it was last read. */
function readDelay(delay: ReturnType<typeof monitorEventLoopDelay>): number {
  const p99 = delay.percentile(99) / 1e9;
  delay.reset();
  return Number.isFinite(p99) ? Math.max(0, p99 - resolution / 1000) : 0;
}
