/**
 * Counts what a workflow makes the kernel do, in blocks of its sources entered: no clock, so the same wherever it runs.
 * `node test/bench/count-work.ts chain 5 100 1000` prints the blocks that a step costs in plans of 5, 100 and 1,000
 * steps, one after another (`parallel`: side by side), and which functions a step of the last enters more often than
 * one of the first.
 */
import type { Kernel } from "../../src/index.ts";
import { type CoveredScript, startCoverage } from "./coverage.ts";

export type Shape = "chain" | "parallel";

interface Wanted {
  readonly count: number;
  readonly shape: Shape;
}

/** Blocks entered, by function. */
export type Work = ReadonlyMap<string, number>;

/**
 * What workflows enter, each from its request to its end. Counting begins before the kernel is loaded, or blocks are
 * not seen.
 */
export async function countWork(wanted: readonly Wanted[]): Promise<readonly Work[]> {
  const coverage = await startCoverage(true);
  const { openCounted } = await import("./counted-kernel.ts");
  const kernel = await openCounted();
  const works: Work[] = [];
  for (const one of [{ count: 3, shape: "chain" } as const, ...wanted]) {
    await coverage.take();
    await runOne(kernel, one);
    works.push(blocksIn(await coverage.take()));
  }
  coverage.stop();
  await kernel.stop();
  return works.slice(1);
}

async function runOne(kernel: Kernel, inputs: Wanted): Promise<void> {
  const principal = { type: "user", id: 1, role: "user" };
  const intent_hint = { intent_type: "Count.Run", inputs: { ...inputs } };
  const { workflow_id } = await kernel.submit({ tenant_id: 1, principal, intent_hint });
  const { state, steps } = await kernel.settled(workflow_id);
  if (state !== "completed" || steps.length !== inputs.count) throw new Error(`the workflow is ${state}`);
}

function blocksIn(scripts: readonly CoveredScript[]): Work {
  const work = new Map<string, number>();
  for (const { url, functions } of scripts) {
    const [, file] = /\/((?:src|machines)\/.*)$/.exec(url) ?? [];
    if (file === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const name = `${file} ${functionName === "" ? `(at ${ranges[0]?.startOffset})` : functionName}`;
      const entered = ranges.reduce((sum, range) => sum + range.count, 0);
      if (entered > 0) work.set(name, (work.get(name) ?? 0) + entered);
    }
  }
  return work;
}

export const total = (work: Work): number => [...work.values()].reduce((sum, entered) => sum + entered, 0);

if (import.meta.main) {
  const [shape = "chain", ...given] = process.argv.slice(2);
  const counts = given.map(Number);
  const works = await countWork(counts.map((count) => ({ count, shape: shape as Shape })));
  for (const [i, work] of works.entries())
    console.log(
      JSON.stringify({ shape, steps: counts[i], blocks_a_step: Math.round(total(work) / Number(counts[i])) }),
    );
  describeGrowth(works, counts);
}

/** Which functions a step of the last plan enters more often than one of the first. */
function describeGrowth(works: readonly Work[], counts: readonly number[]): void {
  const perStep = (i: number, name: string): number => (works.at(i)?.get(name) ?? 0) / Number(counts.at(i));
  const grown = [...(works.at(-1)?.keys() ?? [])].map((name) => ({ name, by: perStep(-1, name) - perStep(0, name) }));
  for (const { name, by } of grown.sort((a, b) => b.by - a.by).slice(0, 30))
    if (by > 0.5) console.log(`${by.toFixed(1).padStart(9)}  ${name}`);
}
