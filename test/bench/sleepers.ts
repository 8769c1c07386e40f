/**
 * Sleeping workflows: makes so many on one ledger file that sleep for a year, opens a kernel on it, and has some fall
 * due one after another. Prints how long the kernel took to start, and how late those that were due went on (ms).
 * Environment: COUNT (100,000), DUE (1,000).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

const count = Number(process.env["COUNT"] ?? 100_000);
const due = Number(process.env["DUE"] ?? 1_000);
const year = 365 * 86_400_000;
const apartMs = 5;

const late: number[] = [];
const all = Promise.withResolvers<void>();
const act = defineOperator({
  name: "Test.Act",
  input: z.object({ until: z.string() }),
  run({ input }) {
    late.push(Date.now() - Date.parse(input.until));
    if (late.length === due) all.resolve();
    return "woken";
  },
});
const nap = defineCapability({
  intentType: "Test.Nap",
  version: "1.0",
  input: z.object({ until: z.string() }),
  operators: [act],
  plan: ({ input: { until }, step, sleep }) => {
    const rest = sleep({ step_id: "rest", name: "Rest", until });
    const after = step({ step_id: "act", name: "Act", operator: "Test.Act", params: { until }, depends_on: [rest] });
    return { reasoning: "sleep", steps: [rest, after] };
  },
});

const folder = mkdtempSync(join(tmpdir(), "countersign-sleepers-"));
const open = () => createKernel({ ledger: sqliteLedger({ path: join(folder, "ledger.db") }), capabilities: [nap] });

/** Submits workflows that sleep until these instants, several at once. */
async function sleepUntil(kernel: Awaited<ReturnType<typeof open>>, instants: readonly number[]): Promise<void> {
  const waiting = instants.values();
  const submit = async (): Promise<void> => {
    for (const at of waiting) {
      const inputs = { until: new Date(at).toISOString() };
      await kernel.of(nap).submit({ tenant_id: 1, principal: { type: "user", id: "ann", role: "user" }, inputs });
    }
  };
  await Promise.all(Array.from({ length: 64 }, submit));
}

const maker = await open();
const makingAt = performance.now();
await sleepUntil(
  maker,
  Array.from({ length: count }, (_, n) => Date.now() + year + n),
);
const perSecond = Math.round((1_000 * count) / (performance.now() - makingAt));
await maker.stop();

const startAt = performance.now();
const kernel = await open();
const startMs = performance.now() - startAt;
const first = Date.now() + 10_000;
await sleepUntil(
  kernel,
  Array.from({ length: due }, (_, n) => first + apartMs * n),
);
await all.promise;
await kernel.stop();
rmSync(folder, { recursive: true });
late.sort((a, b) => a - b);
const at = (share: number) => late[Math.min(late.length - 1, Math.floor(share * late.length))];
const lateMs = { p50: at(0.5), p99: at(0.99) };
console.log(JSON.stringify({ sleeping: count, made_a_second: perSecond, start_ms: startMs, due, late_ms: lateMs }));
