// Whether a token may run: capability, governor, its own budget. Through the kernel by the seed's numbers, and alone
// over random accounts.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AdmissionRequest,
  type AdmissionState,
  admitToken,
  type CapabilityUsage,
  type GovernorUsage,
  type KernelToken,
  type TokenDraft,
  withCapability,
} from "../../src/index.ts";
import { runs } from "../properties/property-runs.ts";
import { codeOf, detailOf, draft, eventsOf, kindsOf, open } from "./kernels.ts";

const submitAll = (kernel: ReturnType<typeof open>, drafts: readonly TokenDraft[]): readonly number[] =>
  drafts.map(kernel.submitToken);

describe("a token's own budget", () => {
  it.each([
    [3, ["scheduled", "budget_violation"], []],
    [2, ["scheduled", "started", "completed"], [{ limit: 10, consumed: 10 }]],
  ])("[TOK-06] [EVT-09] limit 10, consumed 8, cost %i: %j", (cost, kinds, budgets) => {
    const seen: unknown[] = [];
    const kernel = open({ executor: ({ budget }) => void seen.push(budget) });
    kernel.submitToken(draft({ cost, budget: { limit: 10, consumed: 8 } }));
    kernel.run();
    expect(kindsOf(kernel, 1)).toEqual(kinds);
    expect(seen).toEqual(budgets);
  });
});

describe("the order of the checks", () => {
  const broken = { cost: 5, budget: { limit: 4 }, resources: { tokens: 9 }, capability: 999 } as const;

  it.each([
    [broken, "capability_violation"],
    [{ ...broken, capability: null }, "resource_violation"],
    [{ ...broken, capability: null, resources: {} }, "budget_violation"],
  ])(
    "[TOK-11] of all that is wrong, the first in order is told, and the executor is not called (case %#)",
    (bad, kind) => {
      let calls = 0;
      const kernel = open({
        limits: { tokens: 8 },
        executor: () => {
          calls += 1;
        },
      });
      kernel.submitToken(draft(bad));
      expect(kernel.processNext()).toEqual({ token_id: 1, status: "refused" });
      expect(kindsOf(kernel, 1)).toEqual(["scheduled", kind]);
      expect(calls).toBe(0);
    },
  );
});

describe("what started tells", () => {
  it("[EVT-05] [GOV-01] the request as the token made it, and the governor's accounts after it", () => {
    const kernel = open({ limits: { cpu_time: 12, tokens: 20 } });
    kernel.submitToken(draft({ resources: { cpu_time: 3, tokens: 2 } }));
    kernel.run();
    expect(detailOf(kernel, 1, "started")).toEqual({
      resources: {
        requested: { cpu_time: 3, memory_bytes: 0, network_bytes: 0, tokens: 2 },
        usage: {
          cpu: { limit: 12, consumed: 3 },
          memory: { limit: null, consumed: 0 },
          network: { limit: null, consumed: 0 },
          tokens: { limit: 20, consumed: 2 },
        },
      },
    });
  });

  it("[EVT-06] [TOK-10] for a bound token its capability, the totals so far and its own share", () => {
    const kernel = open();
    const search = kernel.registerCapability("search");
    const [, , third] = submitAll(
      kernel,
      [1, 2, 3].map(() => withCapability(draft({ cost: 400 }), search)),
    );
    const plain = kernel.submitToken(draft());
    kernel.run();
    expect(detailOf(kernel, third as number, "started")).toMatchObject({
      capability_handle: 1,
      capability_name: "search",
      invocations: 3,
      tokens_total: 1200,
      tokens_consumed: 400,
    });
    expect(Object.keys(detailOf(kernel, plain, "started") ?? {})).toEqual(["resources"]);
  });
});

describe("the governor", () => {
  const fields = [
    ["cpu_time", "cpu"],
    ["memory_bytes", "memory"],
    ["network_bytes", "network"],
    ["tokens", "tokens"],
  ] as const;

  it.each(fields)(
    "[EVT-07] [EVT-08] 5 of %s with 2 left: exactly that refusal of %s, and nothing is used",
    (field, resource) => {
      const kernel = open({ limits: { [field]: 7 } });
      const search = kernel.registerCapability("search");
      submitAll(kernel, [
        draft({ resources: { [field]: 5 } }),
        draft({ capability: search, cost: 1, resources: { [field]: 5 } }),
      ]);
      kernel.processNext();
      const before = [kernel.governor(), kernel.capabilities()];
      kernel.processNext();
      expect(eventsOf(kernel, 2).map(({ kind }) => kind)).toEqual(["scheduled", "resource_violation"]);
      expect(detailOf(kernel, 2, "resource_violation")).toEqual({
        error: "resource_budget_exceeded",
        resource,
        attempted: 5,
        remaining: 2,
      });
      expect([kernel.governor(), kernel.capabilities()]).toEqual(before);
    },
  );

  it("[GOV-01] adds up over all tokens, and without a limit refuses none", () => {
    const kernel = open();
    const request = { cpu_time: 1, memory_bytes: 2, network_bytes: 3, tokens: 4 };
    submitAll(kernel, [draft({ resources: request }), draft({ resources: { ...request, cpu_time: 10 ** 12 } })]);
    kernel.run();
    expect(kernel.governor()).toEqual({
      cpu: { limit: null, consumed: 10 ** 12 + 1 },
      memory: { limit: null, consumed: 4 },
      network: { limit: null, consumed: 6 },
      tokens: { limit: null, consumed: 8 },
    });
  });

  it("[GOV-02] [A-26] refuses as a whole, with the first resource in order, and consumes in none of the four", () => {
    const kernel = open({ limits: { memory_bytes: 1, tokens: 1 } });
    kernel.submitToken(draft({ resources: { cpu_time: 1, memory_bytes: 2, network_bytes: 1, tokens: 2 } }));
    const before = kernel.governor();
    kernel.run();
    expect(detailOf(kernel, 1, "resource_violation")).toMatchObject({ resource: "memory" });
    expect(kernel.governor()).toEqual(before);
  });

  it("[GOV-03] [A-25] has counted before the executor runs, and nothing is given back", () => {
    const seen: number[] = [];
    const kernel = open({ executor: (_, { resourceUsage }) => void seen.push(resourceUsage().memory.consumed) });
    submitAll(kernel, [draft({ resources: { memory_bytes: 5 } }), draft({ resources: { memory_bytes: 6 } })]);
    kernel.run();
    expect(seen).toEqual([5, 11]);
    expect(kernel.governor().memory.consumed).toBe(11);
  });

  it("[GOV-04] a token that its own budget refuses leaves governor and capability as they were", () => {
    const kernel = open({ limits: { cpu_time: 100 } });
    const search = kernel.registerCapability("search", { max_invocations: 5, max_tokens: 50 });
    kernel.submitToken(draft({ capability: search, cost: 9, budget: { limit: 8 }, resources: { cpu_time: 3 } }));
    const before = [kernel.governor(), kernel.capabilities()];
    kernel.run();
    expect(kindsOf(kernel, 1)).toEqual(["scheduled", "budget_violation"]);
    expect([kernel.governor(), kernel.capabilities()]).toEqual(before);
  });
});

describe("capabilities", () => {
  it("[CAP-01] an entry shows both limits and nothing used, and its handle stays through further registrations", () => {
    const kernel = open();
    const handle = kernel.registerCapability("search", { max_invocations: 100, max_tokens: 20_000 });
    const entry = {
      handle,
      name: "search",
      limits: { max_invocations: 100, max_tokens: 20_000 },
      usage: { invocations: 0, tokens: 0 },
    };
    expect(kernel.capabilities()).toEqual([entry]);
    kernel.registerCapability("write");
    expect(kernel.registerCapability("search", { max_invocations: 100, max_tokens: 20_000 })).toBe(handle);
    expect(kernel.capabilities()[0]).toEqual(entry);
    kernel.submitToken(draft({ capability: handle }));
    kernel.run();
    expect(kindsOf(kernel, 1)).toContain("completed");
  });

  it("[CAP-01] a known name with other limits, an empty name and a limit that is none are refused", () => {
    const kernel = open();
    kernel.registerCapability("search", { max_tokens: 5 });
    const before = kernel.capabilities();
    for (const act of [
      () => kernel.registerCapability("search", { max_tokens: 6 }),
      () => kernel.registerCapability(""),
      () => kernel.registerCapability("write", { max_tokens: -1 }),
      () => kernel.registerCapability("write", { max_calls: 1 } as object),
    ])
      expect(codeOf(act)).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(kernel.capabilities()).toEqual(before);
  });

  it("[CAP-02] without a ceiling on invocations a thousand of cost 0 pass", () => {
    const kernel = open();
    const handle = kernel.registerCapability("search", { max_tokens: 0 });
    for (let i = 0; i < 1000; i += 1) kernel.submitToken(draft({ capability: handle }));
    expect(kernel.run()).toMatchObject({ completed: 1000, refused: 0 });
  });

  it.each([
    ["max_invocations 2", { max_invocations: 2 }, [1, 1, 1], "invocation_budget_exceeded"],
    ["max_tokens 100", { max_tokens: 100 }, [60, 40, 1], "token_budget_exceeded"],
  ])("[CAP-03] [EVT-09] %s: what reaches it exactly passes, the third is refused", (_, limits, costs, error) => {
    const kernel = open();
    const capability = kernel.registerCapability("search", limits);
    submitAll(
      kernel,
      costs.map((cost) => draft({ capability, cost })),
    );
    kernel.run();
    expect([1, 2].map((id) => kindsOf(kernel, id).at(-1))).toEqual(["completed", "completed"]);
    expect(kindsOf(kernel, 3)).toEqual(["scheduled", "capability_violation"]);
    expect(detailOf(kernel, 3, "capability_violation")).toMatchObject({ error, remaining: 0 });
  });

  it("[CAP-04] [EVT-09] a handle that nobody registered is refused when the token is taken, with not_found", () => {
    const kernel = open();
    kernel.submitToken(draft({ capability: 999 }));
    expect(kindsOf(kernel, 1)).toEqual(["scheduled"]);
    kernel.run();
    expect(detailOf(kernel, 1, "capability_violation")).toMatchObject({ error: "not_found", capability_handle: 999 });
  });

  it("[CAP-05] an executor reads what its capability has used, this call included", () => {
    const seen: (CapabilityUsage | null)[] = [];
    const kernel = open({ executor: (_, { capabilityUsage }) => void seen.push(capabilityUsage()) });
    const capability = kernel.registerCapability("search");
    submitAll(kernel, [draft({ capability, cost: 3 }), draft({ capability, cost: 4 }), draft()]);
    kernel.run();
    expect(seen).toEqual([{ invocations: 1, tokens: 3 }, { invocations: 2, tokens: 7 }, null]);
  });

  it("[CAP-06] [A-24] what one kernel has exhausted, another begins anew", () => {
    const runOnce = () => {
      const kernel = open();
      const capability = kernel.registerCapability("search", { max_invocations: 1 });
      submitAll(kernel, [draft({ capability }), draft({ capability })]);
      kernel.run();
      return [1, 2].map((id) => kindsOf(kernel, id).at(-1));
    };
    expect(runOnce()).toEqual(["completed", "capability_violation"]);
    expect(runOnce()).toEqual(["completed", "capability_violation"]);
  });
});

const amount = fc.nat({ max: 12 });
const ceiling = fc.option(amount, { nil: null });
const account = fc.record({ limit: ceiling, consumed: amount });
const accounts: fc.Arbitrary<AdmissionState> = fc.record({
  governor: fc.record({ cpu: account, memory: account, network: account, tokens: account }),
  capabilities: fc
    .record({
      handle: fc.constant(1),
      name: fc.constant("search"),
      limits: fc.record({ max_invocations: ceiling, max_tokens: ceiling }),
      usage: fc.record({ invocations: amount, tokens: amount }),
    })
    .map((entry) => new Map([[1, entry]])),
});
const request: fc.Arbitrary<AdmissionRequest> = fc.record({
  capability: fc.constantFrom(null, 1, 2),
  cost: amount,
  budget: account,
  resources: fc.record({ cpu_time: amount, memory_bytes: amount, network_bytes: amount, tokens: amount }),
});

const fits = (limit: number | null, consumed: number, asked: number): boolean =>
  limit === null || consumed + asked <= limit;

/** By the rules alone: the kind of the first refusal, or null. */
function expected(token: AdmissionRequest, { capabilities, governor }: AdmissionState): string | null {
  const entry = capabilities.get(token.capability ?? 0);
  const allowed =
    entry !== undefined &&
    fits(entry.limits.max_invocations, entry.usage.invocations, 1) &&
    fits(entry.limits.max_tokens, entry.usage.tokens, token.cost);
  if (token.capability !== null && !allowed) return "capability_violation";
  const { cpu_time, memory_bytes, network_bytes, tokens } = token.resources;
  const asked = { cpu: cpu_time, memory: memory_bytes, network: network_bytes, tokens };
  const has = (name: keyof GovernorUsage) => fits(governor[name].limit, governor[name].consumed, asked[name]);
  if (!(["cpu", "memory", "network", "tokens"] as const).every(has)) return "resource_violation";
  return fits(token.budget.limit, token.budget.consumed, token.cost) ? null : "budget_violation";
}

describe("admission, alone", () => {
  it("[TOK-11] [GOV-02] [CAP-03] decides by the rules, whatever the accounts", () => {
    fc.assert(
      fc.property(request, accounts, (token, state) => {
        const admission = admitToken(token, state);
        expect(admission.admitted ? null : admission.kind).toBe(expected(token, state));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("[GOV-04] [EVT-08] leaves the accounts that came in, and adds exactly what was asked to those that go out", () => {
    fc.assert(
      fc.property(request, accounts, (token, state) => {
        const before = structuredClone(state);
        const admission = admitToken(token, state);
        expect(state).toEqual(before);
        if (!admission.admitted) return;
        expect(admission.budget.consumed).toBe(token.budget.consumed + token.cost);
        expect(admission.state.governor.memory.consumed).toBe(
          before.governor.memory.consumed + token.resources.memory_bytes,
        );
        const used = (accounts: AdmissionState) => accounts.capabilities.get(1)?.usage.invocations ?? 0;
        expect(used(admission.state)).toBe(used(before) + (token.capability === 1 ? 1 : 0));
      }),
      { numRuns: runs(1000) },
    );
  });

  it("[GOV-01] without a ceiling counting ends where whole numbers do, and is refused there, not rounded", () => {
    const kernel = open();
    const most = Number.MAX_SAFE_INTEGER;
    submitAll(kernel, [draft({ resources: { tokens: most } }), draft({ resources: { tokens: 1 } })]);
    kernel.run();
    expect(kindsOf(kernel, 2)).toEqual(["scheduled", "resource_violation"]);
    expect(kernel.governor().tokens.consumed).toBe(most);
  });
});

describe("a token that was admitted", () => {
  it("cannot be changed by its executor", () => {
    const kernel = open({
      executor: (token) => {
        (token as { cost: number } & KernelToken).cost = 0;
      },
    });
    kernel.submitToken(draft({ cost: 5 }));
    expect(kernel.run()).toMatchObject({ failed: 1 });
  });
});
