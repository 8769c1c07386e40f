/**
 * npm run bench:postgres: kernels in processes of their own on one Postgres, beside a kernel on a file and the store
 * without a kernel, in the same run and taking turns. Prints one JSON line a measurement, a table, and what a kernel
 * without work costs the server.
 *
 * Environment: RUNS (3) and MS (2000) per measurement, KERNELS (3), KIND (plain or gated), POSTGRES (a url; absent: a
 * server is started here).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnRow } from "../../src/contract/turn.ts";
import { openSameRows } from "./floors.ts";
import type { Child } from "./in-child.ts";
import type { Done, Spell } from "./kernel-process.ts";
import { rounded } from "./measure.ts";
import { type Measured, medianOf, openStage, startKernel, stopKernels, workOf } from "./postgres-stage.ts";
import { openWorkload } from "./workload.ts";

const runs = Number(process.env["RUNS"] ?? 3);
const ms = Number(process.env["MS"] ?? 2000);
const most = Number(process.env["KERNELS"] ?? 3);
const kind = (process.env["KIND"] ?? "plain") as Spell["kind"];
const spell: Spell = { kind, concurrency: 64, ms };
const folder = mkdtempSync(join(tmpdir(), "countersign-bench-"));
const stage = await openStage();

/** The store without a kernel: the rows of one workflow again and again, through the writer that groups them. */
async function openFloor(rows: readonly TurnRow[]) {
  const floor = await openSameRows({ url: stage.url, schema: stage.freshSchema("floor") }, rows);
  let serial = 0;
  const work = async (): Promise<readonly Done[]> => {
    const [start, used] = [performance.now(), process.cpuUsage()];
    let workflows = 0;
    const goOn = async (): Promise<void> => {
      for (; performance.now() - start < ms; workflows += 1) await floor.run(String(serial++));
    };
    await Promise.all(Array.from({ length: spell.concurrency }, goOn));
    const { user, system } = process.cpuUsage(used);
    return [{ workflows, took_ms: performance.now() - start, cpu_ms: (user + system) / 1000, p50_ms: 0, p99_ms: 0 }];
  };
  return { work, close: floor.close };
}

async function recordOne(): Promise<readonly TurnRow[]> {
  const w = await openWorkload(join(folder, "one.db"));
  if (kind === "plain") await w.plain("one");
  else await w.gateApprove(await w.gateStart("one"));
  const [made] = await w.kernel.workflows();
  const rows = await Array.fromAsync(w.kernel.export(made?.workflow_id ?? ""));
  await w.kernel.stop();
  return rows;
}

const tell = (measured: Measured) =>
  Object.fromEntries(Object.entries(measured).map(([column, value]) => [column, rounded(value ?? Number.NaN)]));

const file = await startKernel({ path: join(folder, "kernel.db") }, spell);
const schema = stage.freshSchema("kernels");
const kernels: Child[] = [];
for (let n = 0; n < most; n += 1) kernels.push(await startKernel({ url: stage.url, schema }, spell));
const floor = await openFloor(await recordOne());
const works: Record<string, () => Promise<readonly Done[]>> = {
  "store alone": floor.work,
  "1 kernel on a file": workOf([file], spell),
  ...Object.fromEntries(kernels.map((_, i) => [`${i + 1} on Postgres`, workOf(kernels.slice(0, i + 1), spell)])),
};
const rounds: Record<string, Measured[]> = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
for (let run = 0; run < runs; run += 1)
  for (const [name, work] of Object.entries(works)) {
    const measured = await stage.measure(work);
    rounds[name]?.push(measured);
    console.log(JSON.stringify({ what: name, ...spell, run, ...tell(measured) }));
  }
console.log(`${kind}, medians of ${runs} rounds; CPU in µs a workflow`);
console.table(Object.fromEntries(Object.entries(rounds).map(([name, all]) => [name, tell(medianOf(all))])));
const rest = await stage.atRest(most, 10);
const [transactions, cpuMs] = [rounded(rest.transactions), rounded(rest.cpu_ms)];
console.log(`a kernel without work: ${transactions} transactions and ${cpuMs} ms of the server's CPU a second`);
await stopKernels([file, ...kernels]);
await floor.close();
await stage.close();
rmSync(folder, { recursive: true, force: true });
