// What becomes of a reservation, however its call ends: tried again, told late, made again by a person's word,
// cancelled, lost with its process. Counters stay the fold of the events, and tokens go the way of their chart.

import { describe, expect, it } from "vitest";
import { compileChart, tokenMachine } from "../../machines/index.ts";
import { addCharge, type Charge, noCharge } from "../../src/contract/budget.ts";
import { payloadOf } from "../../src/contract/event.ts";
import { type Budgets, operatorError, type TokenEvent } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { flow, intent, oneStep, payloads, type SkillCall, skill, step } from "../execution/flow.ts";
import { rowOpener } from "../ledgers/reseal.ts";

const limits: Budgets["limits"] = [{ scope: "tenant", tokens: 1_000_000 }];
const busy = () => operatorError({ code: "BUSY", category: "transient", message: "not yet", retryable: true });
const use = (call: SkillCall, total: number): void => call.usage({ tokens: { in: 0, out: total, total } });

/** A skill whose calls end when the test says so. */
function held(options: object = {}) {
  const ends: ((end: { readonly tokens?: number; readonly error?: Error }) => void)[] = [];
  const operator = skill(
    "Probe.Held",
    (call) =>
      new Promise((resolve, reject) => {
        ends.push(({ tokens, error }) => {
          if (tokens !== undefined) use(call, tokens);
          if (error === undefined) resolve("done");
          else reject(error);
        });
      }),
    { effect: "write_draft", timeoutSec: 1, retry: "NONE", resources: { tokens: 100 }, ...options },
  );
  return { operator, ends };
}

const tenantOf = async (store: LedgerStore): Promise<Charge> => (await store.charges(1, ["tenant"]))[0] ?? noCharge;

async function foldOf(store: LedgerStore): Promise<Charge> {
  let sum = noCharge;
  const open = rowOpener();
  for (const { row } of await store.tail(0, 100_000))
    for (const event of open(row)) {
      if (event.event_type === "BUDGET_RESERVED") sum = addCharge(sum, payloadOf(event, "BUDGET_RESERVED").amounts);
      if (event.event_type !== "BUDGET_SETTLED") continue;
      const { amounts, reserved } = payloadOf(event, "BUDGET_SETTLED");
      sum = addCharge(sum, addCharge(amounts, reserved, -1));
    }
  return sum;
}

const chart = compileChart(tokenMachine);

/** Each token goes the way of its chart; those that were scheduled are as many as the record says. */
async function checkTokens(t: TestKernel, workflowId: string): Promise<readonly TokenEvent[]> {
  const tokens = await t.kernel.tokens.events(workflowId);
  const states = new Map<number, string>();
  for (const { token_id, kind, label, detail } of tokens) {
    const from = states.get(token_id) ?? chart.initial;
    const next = chart.next(from, { type: kind, label, status: detail["status"] ?? null } as never);
    expect([token_id, from, kind, next]).toEqual([token_id, from, kind, expect.any(String)]);
    states.set(token_id, next as string);
  }
  const started = (await payloads(t, workflowId, "ACTION_STARTED")).flatMap(({ token }) => token?.id ?? []);
  expect(new Set(started).size).toBe(started.length);
  for (const id of started) expect(tokens.filter((e) => e.token_id === id && e.kind === "started").length).toBe(1);
  return tokens;
}

describe("the token of a call", () => {
  it.each<[string, object, string]>([
    ["done", { resolution: "done", result: {} }, "completed"],
    ["retry", { resolution: "retry" }, "completed"],
  ])("that a person settles as %s started once; a call made again is a token of its own", async (_, payload, ends) => {
    const { operator, ends: calls } = held();
    await using t = await createTestKernel({ capabilities: [oneStep(operator)] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, undefined, payload);
    await t.clock.settle();
    calls[1]?.({ tokens: 1 });
    expect((await t.rest(workflow_id)).state).toBe(ends);
    await checkTokens(t, workflow_id);
    const usage = (await t.kernel.tokens.capabilities(workflow_id)).find((c) => c.name === "Probe.Held")?.usage;
    expect(usage?.invocations).toBe(calls.length);
  });

  it("that was lost with its process is over; the repeated call has its own token, and counts once", async () => {
    const ledger = memoryLedger();
    const { operator, ends } = held({ idempotent: true });
    const options = { ledger, capabilities: [oneStep(operator)], budgets: { limits } };
    const first = await createTestKernel(options);
    const id = await first.submit(intent);
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    const clock = createVirtualClock(Date.UTC(2030, 0, 1));
    await using t = await createTestKernel({ ...options, seed: 2, clock });
    await t.clock.settle();
    expect(ends.length).toBe(2);
    ends[1]?.({ tokens: 30 });
    expect((await t.rest(id)).state).toBe("completed");
    const tokens = await checkTokens(t, id);
    expect(tokens.filter((e) => e.detail["lost"] === true).length).toBe(1);
    const usage = (await t.kernel.tokens.capabilities(id)).find((c) => c.name === "Probe.Held")?.usage;
    expect(usage?.invocations).toBe(2);
    // Nobody knows what the lost call used: it stays charged as reserved.
    expect((await tenantOf(ledger)).tokens).toBe(130);
    expect(await tenantOf(ledger)).toEqual(await foldOf(ledger));
  });
});

describe("what was set aside for a call", () => {
  it("is settled by its own end: wall time of an attempt is not that of the attempts before it", async () => {
    const ledger = memoryLedger();
    const work = skill(
      "Probe.Work",
      (call) => {
        use(call, 10);
        if (call.attempt < 3) throw busy();
        return "done";
      },
      { resources: { tokens: 100 } },
    );
    await using t = await createTestKernel({ ledger, capabilities: [oneStep(work)], budgets: { limits } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const settled = await payloads(t, workflow_id, "BUDGET_SETTLED");
    expect(settled.map((s) => [s.amounts.tokens, s.amounts.wall_ms])).toEqual([
      [10, 0],
      [10, 0],
      [10, 0],
    ]);
    expect(await tenantOf(ledger)).toEqual({ tokens: 30, money: 0, invocations: 3, wall_ms: 0 });
  });

  it("is given back to the call after it at once", async () => {
    const work = skill("Probe.Work", (call) => use(call, 1), { resources: { tokens: 100 } });
    const steps = [1, 2, 3].map((n) =>
      step(`s${n}`, "Probe.Work", { params: { n }, depends_on: n === 1 ? [] : [`s${n - 1}`] }),
    );
    await using t = await createTestKernel({
      capabilities: [flow([work], steps)],
      budgets: { limits: [{ scope: "tenant", tokens: 102 }] },
    });
    const { workflow_id, state } = await t.run(intent);
    expect([state, await payloads(t, workflow_id, "BUDGET_REFUSED")]).toEqual(["completed", []]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("is settled by its own end, also when a person had the call made again meanwhile", async () => {
    const ledger = memoryLedger();
    const { operator, ends } = held();
    await using t = await createTestKernel({ ledger, capabilities: [oneStep(operator)], budgets: { limits } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("waiting_for_user");
    await t.approve(workflow_id, undefined, { resolution: "retry" });
    await t.clock.settle();
    expect(ends.length).toBe(2);
    ends[0]?.({ tokens: 7 });
    await t.clock.settle();
    ends[1]?.({ tokens: 30 });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    await t.clock.settle();
    expect((await tenantOf(ledger)).tokens).toBe(37);
    expect(await tenantOf(ledger)).toEqual(await foldOf(ledger));
  });

  it.each([
    ["succeeds", {}, 7, "cancelled"],
    // A plain error leaves the end unknown: a person is asked, and all that was set aside counts until then.
    ["fails", { error: new Error("told to stop") }, 100, "cancelling"],
  ])("is settled when its workflow was cancelled and the call then %s", async (_, end, tokens, state) => {
    const ledger = memoryLedger();
    const { operator, ends } = held();
    await using t = await createTestKernel({ ledger, capabilities: [oneStep(operator)], budgets: { limits } });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.kernel.cancel(id, { ...testCaller, reason: "no more" });
    ends[0]?.({ tokens, ...end });
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe(state);
    expect((await tenantOf(ledger)).tokens).toBe(tokens);
    expect(await tenantOf(ledger)).toEqual(await foldOf(ledger));
    expect((await t.kernel.verify(id)).ok).toBe(true);
  });

  it("nothing is set aside for a workflow that was cancelled while the budget was asked", async () => {
    const ledger = memoryLedger();
    let answer: () => void = () => undefined;
    let asked = 0;
    const slow: LedgerStore = {
      ...ledger,
      charges: async (tenant, counters) => {
        asked += 1;
        if (asked === 1) await new Promise<void>((resolve) => (answer = resolve));
        return ledger.charges(tenant, counters);
      },
    };
    const { operator, ends } = held();
    const budgets: Budgets = { limits: [{ scope: "tenant", tokens: 100 }] };
    await using t = await createTestKernel({ ledger: slow, capabilities: [oneStep(operator)], budgets });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect(asked).toBe(1);
    await t.kernel.cancel(id, { ...testCaller, reason: "no more" });
    answer();
    await t.clock.settle();
    expect(ends.length).toBe(0);
    expect((await payloads(t, id, "BUDGET_RESERVED")).length).toBe(0);
    expect((await tenantOf(ledger)).tokens).toBe(0);
    const next = await t.submit(intent);
    await t.clock.settle();
    expect(ends.length).toBe(1);
    ends[0]?.({ tokens: 1 });
    expect((await t.rest(next)).state).toBe("completed");
  });
});
