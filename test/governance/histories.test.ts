// Whatever becomes of calls (they end, fail, end late or never; are cancelled, made again by a person's word, lost with
// their process, run again; days change meanwhile): counters are the fold of the events, and tokens obey their chart.

import fc from "fast-check";
import { expect, it } from "vitest";
import { compileChart, tokenMachine } from "../../machines/index.ts";
import type { Charge } from "../../src/contract/budget.ts";
import { type Budgets, operatorError } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { flow, intent, payloads, skill, step } from "../execution/flow.ts";
import { runs } from "../properties/property-runs.ts";
import { foldCharges, tenantCharges } from "./charges.ts";

const chart = compileChart(tokenMachine);
const limits: Budgets["limits"] = [
  { scope: "tenant", tokens: 2_000 },
  { scope: "tenant", window: "day", invocations: 12 },
  { scope: "operator", window: "hour", wall_ms: 90_000 },
  { scope: "workflow", money: 50 },
];

type Deed =
  | { readonly do: "end"; readonly call: number; readonly tokens: number; readonly fails: boolean }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "settle"; readonly as: "done" | "retry" | "failed" }
  | { readonly do: "cancel" | "retry" | "reopen" };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      call: fc.nat(20),
      tokens: fc.nat(150),
      fails: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(10, 2_500, 8_000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("settle" as const), as: fc.constantFrom("done", "retry", "failed") }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("retry" as const, "reopen" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const) }) },
);

interface World {
  readonly ledger: LedgerStore;
  readonly ends: ((how: { readonly tokens: number; readonly fails: boolean }) => void)[];
  readonly open: () => Promise<TestKernel>;
}

function createWorld(kinds: readonly { readonly idempotent: boolean; readonly tokens: number }[]): World {
  const ledger = memoryLedger();
  const clock = createVirtualClock(Date.UTC(2026, 0, 1, 23, 59, 58));
  const ends: World["ends"] = [];
  const operators = kinds.map(({ idempotent, tokens }, i) =>
    skill(
      `Probe.W${i}`,
      (call) =>
        new Promise((resolve, reject) => {
          call.emit("begun");
          ends.push((how) => {
            call.usage({ tokens: { in: 0, out: how.tokens, total: how.tokens }, cost: { total: how.tokens / 10 } });
            if (how.fails)
              reject(operatorError({ code: "BUSY", category: "transient", message: "x", retryable: true }));
            else resolve({ i });
          });
        }),
      { effect: "write_draft", timeoutSec: 2, idempotent, resources: { tokens }, retry: "STANDARD" },
    ),
  );
  const capabilities = [
    flow(
      operators,
      kinds.map((_, i) => step(`s${i}`, `Probe.W${i}`, { estimated_cost: 1 })),
    ),
  ];
  let seed = 0;
  const open = () => {
    seed += 1;
    return createTestKernel({ ledger, clock, seed, capabilities, budgets: { limits }, limits: { maxReplans: 1 } });
  };
  return { ledger, ends, open };
}

async function perform(world: World, t: TestKernel, id: string, deed: Deed): Promise<TestKernel> {
  const told = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);
  if (deed.do === "end") world.ends[deed.call % Math.max(1, world.ends.length)]?.(deed);
  else if (deed.do === "wait") await t.clock.advance(deed.ms);
  else if (deed.do === "cancel") await told(t.kernel.cancel(id, { ...testCaller, reason: "enough" }));
  else if (deed.do === "retry") await told(t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" }));
  else if (deed.do === "settle") {
    const [gate] = (await t.kernel.workflow(id)).gates.filter((g) => g.status === "open");
    if (gate === undefined) return t;
    const payload = { resolution: deed.as, result: {} };
    await told(deed.as === "failed" ? t.reject(id, gate.gate_id) : t.approve(id, gate.gate_id, payload));
  } else {
    await t.kernel.stop({ drainMs: 0 });
    return world.open();
  }
  await t.clock.settle();
  return t;
}

async function checkCounters({ ledger }: World): Promise<void> {
  const folded = await foldCharges(ledger);
  const counted = await tenantCharges(ledger);
  for (const [counter, amounts] of Object.entries(folded))
    for (const [field, amount] of Object.entries(amounts)) {
      expect(counted[counter]?.[field as keyof Charge]).toBeCloseTo(amount, 6);
      expect(amount).toBeGreaterThanOrEqual(-1e-6);
    }
  expect(Object.keys(counted).sort()).toEqual(Object.keys(folded).sort());
}

async function checkTokens(t: TestKernel, id: string): Promise<void> {
  const tokens = await t.kernel.tokens.events(id);
  const states = new Map<number, string>();
  for (const { token_id, kind, label, detail } of tokens) {
    const from = states.get(token_id) ?? chart.initial;
    const next = chart.next(from, { type: kind, label, status: detail["status"] ?? null } as never);
    expect([token_id, from, kind, next]).toEqual([token_id, from, kind, expect.any(String)]);
    states.set(token_id, next as string);
  }
  const calls = (await payloads(t, id, "ACTION_STARTED")).filter(({ token }) => token !== undefined);
  const used = (await t.kernel.tokens.capabilities(id)).filter((c) => c.name.startsWith("Probe.W"));
  expect(used.reduce((sum, { usage }) => sum + usage.invocations, 0)).toBe(calls.length);
  const reserved = await payloads(t, id, "BUDGET_RESERVED");
  const settled = await payloads(t, id, "BUDGET_SETTLED");
  expect(reserved.length).toBe(calls.length);
  expect(settled.length).toBeLessThanOrEqual(reserved.length);
  for (const { amounts } of settled) expect(amounts.wall_ms).toBeGreaterThanOrEqual(0);
}

it("counters are the fold of the events, and tokens go the way of their chart, whatever becomes of calls", async () => {
  const kind = fc.record({ idempotent: fc.boolean(), tokens: fc.nat(100) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(kind, { minLength: 1, maxLength: 3 }),
      fc.array(deed, { minLength: 3, maxLength: 20 }),
      async (kinds, deeds) => {
        const world = createWorld(kinds);
        let t = await world.open();
        try {
          const id = await t.submit(intent);
          await t.clock.settle();
          for (const next of deeds) t = await perform(world, t, id, next);
          await t.clock.settle();
          await checkCounters(world);
          await checkTokens(t, id);
          expect((await t.kernel.verify(id)).ok).toBe(true);
        } finally {
          await t.kernel.stop({ drainMs: 0 });
        }
      },
    ),
    { numRuns: runs(40) },
  );
});
