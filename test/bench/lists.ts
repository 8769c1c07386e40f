/**
 * Long lists: one workflow goes through so many items, with a trivial call for each, then with a child for each. Prints
 * items a second, processor time an item, and the heap before, at its highest and after. Environment: COUNT (10,000),
 * CONCURRENCY (50).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

const count = Number(process.env["COUNT"] ?? 10_000);
const concurrency = Number(process.env["CONCURRENCY"] ?? 50);
const Item = z.object({ n: z.number() });
const act = defineOperator({ name: "Test.Act", input: Item, output: Item, run: ({ input }) => input });
const one = defineCapability({
  intentType: "Test.One",
  version: "1.0",
  input: Item,
  operators: [act],
  plan: ({ input, step }) => ({
    reasoning: "one",
    steps: [step({ step_id: "act", name: "Act", operator: "Test.Act", params: input })],
  }),
});
const list = defineCapability({
  intentType: "Test.List",
  version: "1.0",
  input: z.object({ runs: z.boolean() }),
  operators: [act],
  plan: ({ input, each, call, run }) => {
    const items = Array.from({ length: count }, (_, n) => ({ n }));
    const shared = { step_id: "list", name: "List", items, concurrency };
    const called = each({ ...shared, do: ({ n }) => call({ operator: "Test.Act", params: { n } }) });
    const ran = each({ ...shared, do: ({ n }) => run({ capability: one, input: { n } }) });
    return { reasoning: "all", steps: [input.runs ? ran : called] };
  },
});

const folder = mkdtempSync(join(tmpdir(), "countersign-lists-"));
const ledger = sqliteLedger({ path: join(folder, "ledger.db") });
const kernel = await createKernel({ ledger, capabilities: [one, list], limits: { maxItems: count } });
const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };
const heap = (): number => Math.round(process.memoryUsage().heapUsed / 1e6);

for (const runs of [false, true]) {
  globalThis.gc?.();
  const before = heap();
  let highest = before;
  const sampler = setInterval(() => {
    highest = Math.max(highest, heap());
  }, 100);
  const began = performance.now();
  const cpu = process.cpuUsage();
  const { workflow_id } = await kernel.of(list).submit({ ...ann, inputs: { runs } });
  const { state, steps } = await kernel.settled(workflow_id);
  const perSecond = Math.round((1_000 * count) / (performance.now() - began));
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = (user + system) / 1_000 / count;
  clearInterval(sampler);
  globalThis.gc?.();
  const of = runs ? "children" : "calls";
  const heapMb = { before, highest, after: heap() };
  console.log(
    JSON.stringify({ of, state, ...steps[0]?.items, items_a_second: perSecond, cpu_ms: cpuMs, heap_mb: heapMb }),
  );
}
await kernel.stop();
rmSync(folder, { recursive: true });
