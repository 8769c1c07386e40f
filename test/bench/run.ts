/**
 * npm run bench: the kernel with everything on (policy, middleware, hash chain, synchronous=FULL) beside two floors in
 * the same run. Prints one JSON line a measurement, then a table of shares.
 *
 * Environment: RUNS (5) and MS (1200) per measurement, PARKED (10000; 0 leaves the parking out).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldEvents } from "../../machines/fold.ts";
import { openTurns, type TurnRow } from "../../src/contract/turn.ts";
import { definePolicySet, type KernelOptions } from "../../src/index.ts";
import { openSameRows, openSixRows, removeDatabase } from "./floors.ts";
import { measureRate, quantile, type Rate, rounded } from "./measure.ts";
import { measureParked } from "./parked.ts";
import { openWorkload, type Workload } from "./workload.ts";

/** What a governed kernel has beside the plain one: a ceiling of each kind, none of them near, and rules as data. */
const governing: KernelOptions = {
  policies: [
    definePolicySet({
      version: "bench-1",
      rules: [
        {
          name: "large",
          stages: ["action"],
          when: { amounts: [{ path: "sum", above: 1e9 }] },
          decision: "DENY",
          reason: "no",
        },
        { name: "tagged", stages: ["action"], when: { tags: { any: ["payment"] } }, decision: "DENY", reason: "no" },
      ],
    }),
  ],
  budgets: {
    perToken: 1_000_000_000,
    governor: { tokens: 1_000_000_000, cpu_time: 1_000_000_000 },
    capabilities: { "Bench.Step": { max_invocations: 1_000_000, max_tokens: null } },
    limits: [
      { scope: "tenant", window: "day", tokens: 1e12, money: 1e12 },
      { scope: "principal", invocations: 1e12 },
      { scope: "operator", id: "Bench.Step", wall_ms: 1e15 },
    ],
  },
};
const stepsOfPlain = 5;

const runs = Number(process.env["RUNS"] ?? 5);
const ms = Number(process.env["MS"] ?? 1200);
const parked = Number(process.env["PARKED"] ?? 10_000);
const folder = mkdtempSync(join(tmpdir(), "countersign-bench-"));
let serial = 0;
const nextId = (): string => {
  serial += 1;
  return `b${serial}`;
};
const print = (what: string, result: object): void =>
  console.log(JSON.stringify({ what, node: process.version, ...result }));

const checkedPlain = async (w: Workload): Promise<void> => {
  const id = nextId();
  const result = await w.plain(id);
  if (result.sum !== 15 || result.id !== id) throw new Error(`wrong result ${JSON.stringify(result)}`);
};

const checkedGate = async (w: Workload): Promise<void> => {
  const id = nextId();
  const result = await w.gateApprove(await w.gateStart(id));
  if (result.sum !== 21 || result.id !== id || result.by !== "human:1")
    throw new Error(`wrong result ${JSON.stringify(result)}`);
};

async function exportOne(w: Workload, gated: boolean): Promise<readonly TurnRow[]> {
  const id = nextId();
  const before = new Set((await w.kernel.workflows({ limit: 1_000_000 })).map((s) => s.workflow_id));
  if (gated) await w.gateApprove(await w.gateStart(id));
  else await w.plain(id);
  const made = (await w.kernel.workflows({ limit: 1_000_000 })).find((s) => !before.has(s.workflow_id));
  return Array.fromAsync(w.kernel.export(made?.workflow_id ?? ""));
}

async function measureApproval(w: Workload): Promise<void> {
  const ids: string[] = [];
  for (let i = 0; i < 150; i += 1) ids.push(await w.gateStart(nextId()));
  const latencies: number[] = [];
  for (const id of ids) {
    const at = performance.now();
    await w.gateApprove(id);
    latencies.push(performance.now() - at);
  }
  print("approval to completion", {
    p50_ms: rounded(quantile(latencies, 0.5)),
    p99_ms: rounded(quantile(latencies, 0.99)),
    n: latencies.length,
  });
}

function measureFold(rows: readonly TurnRow[]): void {
  const events = openTurns(rows);
  const times = 2000;
  const at = performance.now();
  for (let i = 0; i < times; i += 1) foldEvents(events);
  const folded = ((times * events.length) / (performance.now() - at)) * 1000;
  const parsedAt = performance.now();
  for (let i = 0; i < times; i += 1) foldEvents(openTurns(rows));
  print("events folded", {
    per_s: Math.round(folded),
    with_parsing_per_s: Math.round(((times * events.length) / (performance.now() - parsedAt)) * 1000),
    events: events.length,
  });
}

async function interleave(
  works: Readonly<Record<string, () => Promise<unknown>>>,
  concurrency: number,
): Promise<Record<string, Rate>> {
  const rates: Record<string, Rate> = {};
  for (const [name, work] of Object.entries(works)) {
    await measureRate(work, { concurrency: 4, runs: 1, ms: Math.min(ms, 500) });
    rates[name] = await measureRate(work, { concurrency, runs, ms });
    print(name, { concurrency, ...rates[name] });
  }
  return rates;
}

const share = (rates: Record<string, Rate>, a: string, b: string): string =>
  `${Math.round((100 * (rates[a]?.per_s ?? 0)) / (rates[b]?.per_s ?? 1))} %`;

async function main(): Promise<void> {
  const path = join(folder, "kernel.db");
  removeDatabase(path);
  const w = await openWorkload(path);
  const [plainRows, gateRows] = [await exportOne(w, false), await exportOne(w, true)];
  const governed = await openWorkload(join(folder, "governed.db"), governing);
  const samePlain = await openSameRows({ path: join(folder, "same-plain.db") }, plainRows);
  const sameGate = await openSameRows({ path: join(folder, "same-gate.db") }, gateRows);
  const six = await openSixRows(join(folder, "six.db"));
  print("rows of a workflow", {
    plain: plainRows.length,
    plain_bytes: bytesOf(plainRows),
    gated: gateRows.length,
    gated_bytes: bytesOf(gateRows),
  });
  const works = {
    "floor: the same rows, plain": () => samePlain.run(nextId()),
    plain: () => checkedPlain(w),
    "floor: six small rows": () => six.run(nextId()),
    gated: () => checkedGate(w),
    "floor: the same rows, gated": () => sameGate.run(nextId()),
    "governed: every ceiling and a rule set": () => checkedPlain(governed),
  };
  await interleave({ plain: works.plain, gated: works.gated }, 1);
  const rates = await interleave(works, 64);
  await measureApproval(w);
  measureFold(gateRows);
  const ofSame = (name: string): string => `${name} ${share(rates, name, `floor: the same rows, ${name}`)}`;
  const ofSix = (name: string): string => `${name} ${share(rates, name, "floor: six small rows")}`;
  console.log(`share of the same rows: ${ofSame("plain")}, ${ofSame("gated")}`);
  console.log(`share of six small rows: ${ofSix("plain")}, ${ofSix("gated")}`);
  const perStep = (name: string): number => 1_000_000 / (rates[name]?.per_s ?? 1) / stepsOfPlain;
  const [plainUs, governedUs] = [perStep("plain"), perStep("governed: every ceiling and a rule set")];
  console.log(`governance: ${Math.round(governedUs - plainUs)} µs more a step than ${Math.round(plainUs)}`);
  await governed.kernel.stop();
  for (const open of [samePlain, sameGate, six]) await open.close();
  await w.kernel.stop();
  if (parked > 0)
    for (const line of await measureParked(join(folder, "parked.db"), parked)) print(line.what, line.result);
  rmSync(folder, { recursive: true, force: true });
}

const bytesOf = (rows: readonly TurnRow[]): number =>
  rows.reduce((sum, row) => sum + row.envelope.length + (row.body?.length ?? 0), 0);

await main();
