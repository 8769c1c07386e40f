/**
 * Budgets over workflows where several processes count: what stands is the fold of all events, and no ceiling is
 * passed.
 */
import { expect, it } from "vitest";
import { endpointCounter } from "../../src/contract/model-route.ts";
import type { Budgets } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { flow, intent, skill, step } from "../execution/flow.ts";
import { freshPaths } from "../ledgers/ledger-files.ts";
import { endpoint } from "../routing/model-fixture.ts";
import { foldCharges, kernelOf, tenantCharges, working } from "./charges.ts";

const freshPath = freshPaths();

it("counters are the fold of the events of two kernels on one file", async () => {
  const path = freshPath();
  const { operator, ran } = working({ tokens: 10, usage: { total: 3, cost: 0.1 } });
  const steps = Array.from({ length: 5 }, (_, i) => step(`s${i}`, "Probe.Work", { params: { n: i } }));
  const limits: Budgets["limits"] = [{ scope: "tenant", tokens: 300 }];
  const ledger = sqliteLedger({ path });
  const options = { capabilities: [flow([operator], steps)], budgets: { limits } };
  await using a = await createTestKernel({ ...options, ledger });
  await using b = await createTestKernel({ ...options, seed: 2, ledger: sqliteLedger({ path }) });
  const submitted = Array.from({ length: 30 }, async (_, i) => {
    const t = i % 2 === 0 ? a : b;
    return [t, await t.submit(intent)] as const;
  });
  for (const [t, id] of await Promise.all(submitted)) await t.rest(id);
  const { tenant } = await tenantCharges(ledger);
  expect(tenant).toEqual((await foldCharges(ledger))["tenant"]);
  expect(tenant?.tokens).toBe(3 * ran.length);
});

/** Reads are as old as they can be: another process has gone on meanwhile. */
const readingLate = (store: LedgerStore): LedgerStore => ({
  ...store,
  open: async () => undefined,
  close: async () => undefined,
  async charges(tenant, counters) {
    const read = await store.charges(tenant, counters);
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return read;
  },
});

it.each([
  ["plain rows", memoryLedger],
  ["SQLite", () => sqliteLedger()],
])("processes never pass a ceiling together, of a tenant or of an operator: %s", async (_name, open) => {
  const store = open();
  await store.open();
  const { operator, ran } = working({ tokens: 40 });
  const limits: Budgets["limits"] = [
    { scope: "tenant", tokens: 1000 },
    { scope: "operator", id: "Probe.Work", invocations: 11 },
  ];
  const kernels = await Promise.all(
    [1, 2, 3].map((seed) => kernelOf(operator, 1, { seed, ledger: readingLate(store), budgets: { limits } })),
  );
  const submitted = Array.from({ length: 30 }, async (_, i) => {
    const t = kernels[i % 3] as TestKernel;
    return [t, await t.submit(intent)] as const;
  });
  for (const [t, id] of await Promise.all(submitted)) await t.rest(id);
  expect(ran.length).toBe(11);
  expect(await tenantCharges(store)).toEqual(await foldCharges(store));
  for (const [t, id] of await Promise.all(submitted)) expect((await t.kernel.replay(id)).identical).toBe(true);
  for (const t of kernels) await t.kernel.stop();
  await store.close();
});

it.each([
  ["plain rows", memoryLedger],
  ["SQLite", () => sqliteLedger()],
])(
  "nor do calls that are routed share the last of a model endpoint, in one workflow or in several: %s",
  async (_name, open) => {
    const store = open();
    await store.open();
    const asking = skill("Probe.Ask", async ({ route, usage }) => {
      const { endpoint: got } = await route({ expected_tokens: 10 });
      usage({ model: got.name, tokens: { in: 4, out: 4, total: 8 } });
      return got.name;
    });
    const steps = ["a", "b", "c"].map((id) => step(id, "Probe.Ask"));
    const few = endpoint("few", { budget: { max_invocations: 7 } });
    const small = endpoint("small", { budget: { max_tokens: 100 } });
    const options = {
      capabilities: [flow([asking], steps)],
      models: { endpoints: [few, small, endpoint("any")] },
      ledger: readingLate(store),
    };
    const kernels = await Promise.all([1, 2, 3].map((seed) => createTestKernel({ ...options, seed })));
    const submitted = Array.from({ length: 9 }, async (_, i) => {
      const t = kernels[i % 3] as TestKernel;
      return [t, await t.submit(intent, {}, { tenant_id: `tenant ${i % 2}` })] as const;
    });
    const used: string[] = [];
    for (const [t, id] of await Promise.all(submitted)) {
      used.push(...(await t.rest(id)).steps.map(({ output_text }) => output_text ?? "none"));
      expect((await t.kernel.replay(id)).identical).toBe(true);
    }
    const countOf = (name: string) => used.filter((got) => got === name).length;
    expect([countOf("few"), countOf("any")]).toEqual([7, 27 - 7 - countOf("small")]);
    const [ofFew, ofSmall] = await store.charges(null, [endpointCounter("few"), endpointCounter("small")]);
    expect([ofFew?.invocations, ofSmall?.invocations, ofSmall?.tokens]).toEqual([
      7,
      countOf("small"),
      8 * countOf("small"),
    ]);
    // While ten are set aside a call, the tenth may be refused; once all have ended, none fits any more.
    expect(100 - 8 * countOf("small")).toBeLessThan(30);
    expect((await kernels[0]?.kernel.verify())?.ok).toBe(true);
    for (const t of kernels) await t.kernel.stop();
    await store.close();
  },
);
