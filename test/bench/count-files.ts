/**
 * Counts the source files and functions that one further plain step of a plan enters, and those of one gate decision
 * with the call behind it. The counts are V8's, so they are the same wherever the script runs: `node
 * test/bench/count-files.ts`.
 */
import type { Kernel } from "../../src/index.ts";
import { openCounted } from "./counted-kernel.ts";
import { type CoveredScript, startCoverage } from "./coverage.ts";

export interface Entered {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

/** The number of calls of each function, by file and function. */
type Calls = ReadonlyMap<string, number>;

const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;

async function settle(kernel: Kernel, intent_type: string, inputs: object): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...caller, intent_hint: { intent_type, inputs: { ...inputs } } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

/** Returns the counts of a plain step (the mean of three further ones) and of a decision. */
export async function countFiles(): Promise<{ readonly step: Entered; readonly decision: Entered }> {
  const coverage = await startCoverage(false);
  const kernel = await openCounted();
  const callsOf = async (work: () => Promise<unknown>): Promise<Calls> => {
    await coverage.take();
    await work();
    return callsIn(await coverage.take());
  };
  const chain = (count: number) => settle(kernel, "Count.Run", { count, shape: "chain" });
  // The first of each loads modules and fills caches.
  for (const count of [2, 5]) await chain(count);
  await settle(kernel, "Count.Pay", {});
  const [two, five] = [await callsOf(() => chain(2)), await callsOf(() => chain(5))];
  const perStep = [...five].map(([name, count]) => [name, (count - (two.get(name) ?? 0)) / 3] as const);
  const waiting = await settle(kernel, "Count.Pay", {});
  const decision = await callsOf(async () => {
    await kernel.decideGate(waiting, { ...caller, decision: "approve" });
    await kernel.settled(waiting);
  });
  coverage.stop();
  await kernel.stop();
  return { step: enteredIn(new Map(perStep.filter(([, count]) => count >= 0.9))), decision: enteredIn(decision) };
}

function callsIn(scripts: readonly CoveredScript[]): Calls {
  const calls = new Map<string, number>();
  for (const { url, functions } of scripts) {
    const [, file] = /\/((?:src|machines)\/.*\.ts)$/.exec(url) ?? [];
    if (file === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const { startOffset = 0, count = 0 } = ranges[0] ?? {};
      // The function at the start of a file is the module itself.
      const isModule = functionName === "" && startOffset === 0;
      if (count > 0 && !isModule) calls.set(`${file} ${functionName}@${startOffset}`, count);
    }
  }
  return calls;
}

const enteredIn = (calls: Calls): Entered => ({
  files: new Set([...calls.keys()].map((name) => name.split(" ")[0])).size,
  functions: calls.size,
  calls: Math.round([...calls.values()].reduce((sum, count) => sum + count, 0)),
});

if (import.meta.main) console.log(JSON.stringify(await countFiles(), null, 2));
