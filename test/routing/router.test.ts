/** The model router alone: who is chosen, who is passed over, and what a refusal says (seed 001; A-28). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createModelRouter,
  errorCodes,
  KernelErrorException,
  ModelEndpoint,
  RouteDecision,
  RouteReason,
} from "../../src/index.ts";
import { endpoint } from "./model-fixture.ts";

const small = endpoint("small", { budget: { max_invocations: 2 } });
const large = endpoint("large", { deployment: "cloud", budget: { max_tokens: 1000, max_money: 5 } });

describe("the words", () => {
  it("[ROU-01] a decision is an endpoint and a reason: Primary, or BudgetFallback with the skipped", () => {
    for (const reason of [{ kind: "Primary" }, { kind: "BudgetFallback", skipped: ["small"] }] as const) {
      expect(RouteReason.parse(reason)).toEqual(reason);
      expect(RouteDecision.parse({ endpoint: small, reason })).toEqual({ endpoint: small, reason });
    }
    for (const wrong of [
      { kind: "Fallback" },
      { kind: "BudgetFallback" },
      { kind: "BudgetFallback", skipped: [] },
      "Primary",
    ])
      expect(RouteReason.safeParse(wrong).success).toBe(false);
    expect(RouteDecision.safeParse({ reason: { kind: "Primary" } }).success).toBe(false);
  });

  it("[ROU-02] an endpoint is local or cloud, with weights and a list of capabilities", () => {
    expect(ModelEndpoint.parse(small)).toEqual(small);
    expect(ModelEndpoint.parse(large)).toEqual(large);
    for (const field of ["name", "deployment", "latency_weight", "cost_weight", "capabilities"])
      expect(ModelEndpoint.safeParse({ ...small, [field]: undefined }).success, field).toBe(false);
    expect(ModelEndpoint.safeParse({ ...small, deployment: "edge" }).success).toBe(false);
  });

  it.each([
    { cost_weight: -1 },
    { latency_weight: Number.NaN },
    { budget: { max_tokens: -1 } },
    { budget: { max_money: Number.POSITIVE_INFINITY } },
    { budget: { max_cost: 1 } },
    { price: { in: -1, out: 0 } },
    { name: "" },
    { name: "\uD800" },
  ])("[ROU-02] an endpoint with %j is refused where the router is made", (wrong) => {
    expect(() => createModelRouter({ endpoints: [{ ...small, ...wrong } as never] })).toThrow(
      expect.objectContaining({ error: expect.objectContaining({ code: "T0_VALIDATION_SCHEMA_MISMATCH" }) }),
    );
  });

  it("[ROU-02] two endpoints of one name are refused", () => {
    expect(() => createModelRouter({ endpoints: [small, small] })).toThrow(KernelErrorException);
  });
});

describe("the choice", () => {
  it("[ROU-03] the preferred endpoint is Primary while its budget lasts; then the next is BudgetFallback", () => {
    const router = createModelRouter({ seed: 1, endpoints: [small, large] });
    expect(router.route({})).toEqual({
      decision: { endpoint: small, reason: { kind: "Primary" } },
      refusal: null,
      exhausted: [],
    });
    router.record("small", { invocations: 1 });
    expect(router.route({}).decision?.reason).toEqual({ kind: "Primary" });
    router.record("small", { invocations: 1 });
    expect(router.route({}).decision).toEqual({
      endpoint: large,
      reason: { kind: "BudgetFallback", skipped: ["small"] },
    });
  });

  it("[ROU-03][A-28] candidates stand in configured order; weights count where they are preferred", () => {
    const slow = endpoint("slow", { latency_weight: 9, cost_weight: 1 });
    const dear = endpoint("dear", { latency_weight: 1, cost_weight: 9 });
    const chosen = (prefer?: "order" | "latency" | "cost") =>
      createModelRouter({ endpoints: [slow, dear], prefer }).route({}).decision?.endpoint.name;
    expect([chosen(), chosen("order"), chosen("latency"), chosen("cost")]).toEqual(["slow", "slow", "dear", "slow"]);
    const router = createModelRouter({ endpoints: [slow, dear] });
    expect(router.route({ prefer: "latency" }).decision?.endpoint.name).toBe("dear");
  });

  it("[ROU-03] who lacks a capability, or is not among those asked for, is no candidate and not named", () => {
    const seeing = endpoint("seeing", { capabilities: ["text", "vision"] });
    const router = createModelRouter({ endpoints: [small, large, seeing] });
    expect(router.route({ capabilities: ["vision"] }).decision).toEqual({
      endpoint: seeing,
      reason: { kind: "Primary" },
    });
    expect(router.route({ among: ["large"] }).decision).toEqual({ endpoint: large, reason: { kind: "Primary" } });
  });

  it("[ROU-03] who is to be avoided comes last, and still before a refusal", () => {
    const router = createModelRouter({ endpoints: [small, large] });
    expect(router.route({ avoid: ["small"] }).decision).toEqual({ endpoint: large, reason: { kind: "Primary" } });
    expect(router.route({ avoid: ["small"], among: ["small"] }).decision?.endpoint).toEqual(small);
  });

  it.each(["constructor", "toString", "__proto__"])(
    "the budget of an endpoint named %s counts as any other",
    (name) => {
      const router = createModelRouter({ endpoints: [endpoint(name, { budget: { max_tokens: 10 } })] });
      expect(router.route({ expected_tokens: 11 }).refusal?.code).toBe("T5_BUDGET_EXHAUSTED");
      router.record(name, { tokens: 10 });
      expect(router.route({}).refusal?.code).toBe("T5_BUDGET_EXHAUSTED");
    },
  );

  it("[ROU-03] each kind of budget counts: invocations, tokens with those expected, money", () => {
    const spent = (used: object, request: object = {}) =>
      createModelRouter({ endpoints: [large] }).route(request, { large: used }).decision !== null;
    expect(spent({ tokens: 999 })).toBe(true);
    expect(spent({ tokens: 1000 })).toBe(false);
    expect(spent({ tokens: 900 }, { expected_tokens: 100 })).toBe(true);
    expect(spent({ tokens: 900 }, { expected_tokens: 101 })).toBe(false);
    expect(spent({ money: 4.99 })).toBe(true);
    expect(spent({ money: 5 })).toBe(false);
    const never = createModelRouter({ endpoints: [endpoint("never", { budget: { max_invocations: 0 } })] });
    expect(never.route({}).refusal?.code).toBe("T5_BUDGET_EXHAUSTED");
  });

  it("[ROU-03] what the asker knows of counts where it is more than the router's own", () => {
    const router = createModelRouter({ endpoints: [small, large] });
    router.record("small", { invocations: 1, tokens: 5, money: 0.5 });
    expect(router.spent("small")).toEqual({ invocations: 1, tokens: 5, money: 0.5 });
    expect(router.route({}, { small: { invocations: 0 } }).decision?.endpoint.name).toBe("small");
    expect(router.route({}, { small: { invocations: 2 } }).decision?.endpoint.name).toBe("large");
    router.record("small", { invocations: 1 });
    expect(router.route({}, { small: { invocations: 0 } }).decision?.endpoint.name).toBe("large");
  });
});

describe("a refusal", () => {
  it("[ROU-04][A-28] is a resource error that names every exhausted candidate, and no throw", () => {
    const router = createModelRouter({ endpoints: [small, large, endpoint("other", { capabilities: [] })] });
    const answer = router.route({ capabilities: ["text"] }, { small: { invocations: 2 }, large: { money: 7 } });
    expect(answer.decision).toBeNull();
    expect(answer.exhausted).toEqual(["small", "large"]);
    expect(answer.refusal).toMatchObject({
      code: "T5_BUDGET_EXHAUSTED",
      category: "resource",
      retry_eligible: false,
      source: { tier: 7, module: "model_router", function: "route" },
      detail: { exhausted: ["small", "large"] },
    });
    for (const said of ["small", "2 of 2 invocations", "large", "7 of 5"])
      expect(answer.refusal?.message).toContain(said);
    expect(answer.refusal?.message).not.toContain("other");
  });

  it("[ROU-04] a capability that nobody has, or no endpoint at all, is a resource error of its own", () => {
    const { refusal, exhausted } = createModelRouter({ endpoints: [small] }).route({ capabilities: ["vision"] });
    expect(refusal).toMatchObject({
      code: "T7_ROUTE_NO_ENDPOINT",
      category: "resource",
      detail: { capabilities: ["vision"] },
    });
    expect(refusal?.message).toContain("vision");
    expect(exhausted).toEqual([]);
    expect(createModelRouter({ endpoints: [] }).route({}).refusal?.code).toBe("T7_ROUTE_NO_ENDPOINT");
    expect(errorCodes.T7_ROUTE_NO_ENDPOINT.http).toBe(503);
  });

  it.each([
    null,
    "cloud",
    { expected_tokens: -1 },
    { expected_tokens: 0.5 },
    { capabilities: "text" },
    { prefer: "luck" },
    { avoid: ["\uDC00"] },
    { other: 1 },
  ])("[ROU-04] a request of %j is refused with a code, and charges and logs nothing", (request) => {
    const router = createModelRouter({ endpoints: [small] });
    expect(router.route(request as never)).toMatchObject({
      decision: null,
      refusal: { code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" },
    });
    expect(router.decisions()).toEqual([]);
  });

  it.each([{ small: { tokens: -1 } }, { small: { money: Number.NaN } }, { small: 5 }, []])(
    "[ROU-04] what cannot have been spent, %j, is refused",
    (spent) => {
      const { refusal } = createModelRouter({ endpoints: [small] }).route({}, spent as never);
      expect(refusal?.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    },
  );

  it.each([
    ["nobody", { tokens: 1 }],
    ["small", { tokens: -1 }],
    ["small", { invocations: 0.5 }],
    ["small", { money: Number.NaN }],
    ["small", null],
    ["__proto__", { tokens: 1 }],
  ] as const)("[ROU-04] charging %s with %j is refused with a code and charges nothing", (name, used) => {
    const router = createModelRouter({ endpoints: [small] });
    expect(() => router.record(name, used as never)).toThrow(
      expect.objectContaining({ error: expect.objectContaining({ code: "T0_VALIDATION_SCHEMA_MISMATCH" }) }),
    );
    expect(router.spent("small")).toEqual({ invocations: 0, tokens: 0, money: 0 });
  });
});

const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 8 });
const weight = fc.integer({ min: 0, max: 2 });
const endpoints = names.chain((all) =>
  fc.tuple(
    ...all.map((name) =>
      fc.record({
        name: fc.constant(name),
        deployment: fc.constantFrom("local" as const, "cloud" as const),
        latency_weight: weight,
        cost_weight: weight,
        capabilities: fc.subarray(["text", "vision"]),
        budget: fc.record({ max_invocations: fc.integer({ min: 0, max: 3 }) }),
      }),
    ),
  ),
);
const request = fc.record({
  capabilities: fc.subarray(["text", "vision"]),
  expected_tokens: fc.nat(100),
  prefer: fc.constantFrom("order" as const, "latency" as const, "cost" as const),
});

describe("determinism", () => {
  it("[ROU-05] a hundred times from the same state: the same endpoint and the same reason", () => {
    const twins = ["a", "b", "c", "d"].map((name) => endpoint(name, { budget: { max_invocations: 5 } }));
    const router = createModelRouter({ seed: 7, endpoints: [small, ...twins], prefer: "cost" });
    router.record("small", { invocations: 2 });
    const first = router.route({ expected_tokens: 10 });
    for (let i = 0; i < 100; i += 1) expect(router.route({ expected_tokens: 10 })).toEqual(first);
    expect(new Set(router.decisions().map((d) => JSON.stringify(d))).size).toBe(1);
  });

  it("[ROU-05] equal inputs and budgets give equal decisions, from any router and after any other question", () => {
    fc.assert(
      fc.property(endpoints, request, request, fc.integer(), (list, asked, other, seed) => {
        const one = createModelRouter({ seed, endpoints: list });
        const two = createModelRouter({ seed, endpoints: list });
        two.route(other);
        expect(two.route(asked)).toEqual(one.route(asked));
      }),
    );
  });

  it("[ROU-05] where a weight is preferred, the order in which endpoints were configured changes nothing", () => {
    const shuffled = endpoints.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray([...list], { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, request, fc.integer(), ([list, other], asked, seed) => {
        const prefer = asked.prefer === "order" ? "cost" : asked.prefer;
        const [a, b] = [list, other].map((each) =>
          createModelRouter({ seed, endpoints: each }).route({ ...asked, prefer }),
        );
        expect(b).toEqual(a);
      }),
    );
  });

  it("[ROU-03][ROU-05] nobody before the chosen one had budget left, and it has", () => {
    fc.assert(
      fc.property(endpoints, request, (list, asked) => {
        const { decision, exhausted, refusal } = createModelRouter({ endpoints: list }).route(asked);
        const able = list.filter((e) => asked.capabilities.every((c) => e.capabilities.includes(c)));
        const left = able.filter((e) => e.budget.max_invocations > 0);
        expect(decision === null).toBe(left.length === 0);
        expect(refusal === null).toBe(decision !== null);
        for (const name of exhausted) expect(left.map((e) => e.name)).not.toContain(name);
        if (decision === null) expect([...exhausted].sort()).toEqual(able.map((e) => e.name).sort());
        else expect(left.map((e) => e.name)).toContain(decision.endpoint.name);
      }),
    );
  });

  it("[ROU-05] the seed decides between equals, and different requests spread over them", () => {
    const twins = ["a", "b", "c", "d"].map((name) => endpoint(name));
    const chosen = (seed: number, expected_tokens = 0) =>
      createModelRouter({ seed, endpoints: twins, prefer: "cost" }).route({ expected_tokens }).decision?.endpoint.name;
    const many = Array.from({ length: 50 }, (_, i) => i);
    expect(new Set(many.map((seed) => chosen(seed))).size).toBeGreaterThan(1);
    expect(new Set(many.map((n) => chosen(1, n))).size).toBeGreaterThan(1);
  });

  it("[ROU-06] the router's own log holds decisions and refusals in order, with what was asked", () => {
    const router = createModelRouter({ endpoints: [small] });
    router.route({ expected_tokens: 5 });
    router.record("small", { invocations: 2 });
    router.route({});
    expect(router.decisions()).toMatchObject([
      { request: { expected_tokens: 5 }, decision: { endpoint: { name: "small" } }, refusal: null },
      {
        request: { expected_tokens: 0 },
        decision: null,
        refusal: { code: "T5_BUDGET_EXHAUSTED" },
        exhausted: ["small"],
      },
    ]);
  });
});
