/**
 * npm run growth: what kernels on one Postgres carry, from one to a thousand, by the model of growth-model.ts; prints
 * the page visualizations/growth.md (`-- --write` writes it). `-- --measure` measures the model's parameters on this
 * machine first, and one, two and three real kernels beside what it foretells of them, and keeps both in
 * growth-measured.json.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../tidy/source-files.ts";
import { type Parameters, simulateCell } from "./growth-model.ts";
import { type GrowthMeasured, renderGrowth } from "./growth-page.ts";
import type { Child } from "./in-child.ts";
import { type Measured, medianOf, openStage, startKernel, stopKernels, workOf } from "./postgres-stage.ts";

const kept = join(root, "test/bench/growth-measured.json");
const page = join(root, "visualizations/growth.md");
const { values } = parseArgs({ options: { measure: { type: "boolean" }, write: { type: "boolean" } } });
const [turns, runs, ms, concurrency] = [7, 3, 3000, 64];

async function measureAll(): Promise<GrowthMeasured> {
  const stage = await openStage();
  const kernels: Child[] = [];
  const schema = stage.freshSchema("growth");
  for (let n = 0; n < 3; n += 1)
    kernels.push(await startKernel({ url: stage.url, schema }, { kind: "plain", concurrency, ms }));
  const rate = async (used: readonly Child[], inFlight: number): Promise<Measured> => {
    const all: Measured[] = [];
    for (let run = 0; run < runs; run += 1)
      all.push(await stage.measure(workOf(used, { kind: "plain", concurrency: inFlight, ms })));
    return medianOf(all);
  };
  const alone = await rate(kernels.slice(0, 1), 1);
  const seen = [
    await rate(kernels.slice(0, 1), concurrency),
    await rate(kernels.slice(0, 2), concurrency),
    await rate(kernels, concurrency),
  ];
  const idle = await stage.atRest(kernels.length, 10);
  await stopKernels(kernels);
  await stage.close();
  const parameters = derive({ alone, many: seen[0] as Measured, serverIdle: idle.cpu_ms });
  const foretold = seen.map(
    (_, i) => simulateCell(parameters, { kernels: i + 1, inFlight: concurrency, seconds: 5, seed: 1 }).per_s,
  );
  return { cores: availableParallelism(), parameters, seen: seen.map(({ per_s }) => per_s), foretold };
}

interface Seen {
  readonly alone: Measured;
  readonly many: Measured;
  readonly serverIdle: number;
}

/**
 * With one workflow in flight each batch is one turn, and nobody waits but for the server. With many, what a batch
 * costs is shared by its turns: how many those are the model itself says.
 */
function derive({ alone, many, serverIdle }: Seen): Parameters {
  const kernelTurn = many.cpu_us / 1000 / turns;
  const [oneTurn, turnOfMany] = [alone, many].map(({ server_us }) => (server_us ?? 0) / 1000 / turns) as [
    number,
    number,
  ];
  const roundTrip = 0.05;
  const waited = alone.p50_ms / turns - alone.cpu_us / 1000 / turns - oneTurn;
  const cores = availableParallelism();
  const sync = Math.max(0.05, waited - 2 * roundTrip);
  const rest = { turns, kernelTurn, roundTrip, sync, serverIdle, serverCores: cores, sharedCores: cores };
  let parameters: Parameters = { ...rest, serverTurn: turnOfMany, serverBatch: 0 };
  for (let round = 0; round < 20; round += 1) {
    const shared = simulateCell(parameters, { kernels: 1, inFlight: concurrency, seconds: 2, seed: 1 }).turns_a_batch;
    const serverBatch = Math.max(0, (oneTurn - turnOfMany) / (1 - 1 / Math.max(2, shared)));
    parameters = { ...rest, serverBatch, serverTurn: Math.max(0.005, oneTurn - serverBatch) };
  }
  return parameters;
}

if (values.measure === true) writeFileSync(kept, `${JSON.stringify(await measureAll(), null, 2)}\n`);
const text = renderGrowth(JSON.parse(readFileSync(kept, "utf8")) as GrowthMeasured);
if (values.write === true) writeFileSync(page, text);
else console.log(text);
