/**
 * Conditions of steps: what holds, what is refused when a plan is compiled, and what follows from a step that is left
 * out.
 */
import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { Condition, conditionHolds } from "../../src/contract/condition.ts";
import type { PlanMaker } from "../../src/define/define-capability.ts";
import {
  allOf,
  anyOf,
  defineCapability,
  defineOperator,
  not,
  operatorError,
  ref,
  settled,
  when,
} from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { runs } from "../properties/property-runs.ts";

const score = defineOperator({
  name: "Kyc.Score",
  input: z.object({ of: z.string().optional(), score: z.number() }),
  output: z.object({ score: z.number(), note: z.string() }),
  run: ({ input }) => ({ score: input.score, note: "{{score.output.score}}" }),
});
const seen: unknown[] = [];
const take = defineOperator({
  name: "Kyc.Take",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input }) => {
    seen.push(input);
    return input;
  },
});
const breaks = defineOperator({
  name: "Kyc.Break",
  retry: "NONE",
  input: z.looseObject({}),
  run: () => {
    throw operatorError({ code: "BROKEN", message: "never", retryable: false });
  },
});
const operators = [score, take, breaks] as const;
type Plan = PlanMaker<{ score: number; text: string }, typeof operators, Record<never, never>>;

async function start(plan: Plan, more: object = {}) {
  seen.length = 0;
  const input = z.object({ score: z.number().default(0), text: z.string().default("") });
  const capability = defineCapability({ intentType: "Kyc.Check", version: "1.0", input, operators, plan, ...more });
  return createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
}

const statesOf = (state: { readonly steps: readonly { step_id: string; state: string; skip_reason: unknown }[] }) =>
  Object.fromEntries(state.steps.map((one) => [one.step_id, one.skip_reason ?? one.state]));

describe("a condition", () => {
  const given = (values: Record<string, unknown>) => (written: unknown) =>
    (typeof written === "string" && written in values ? values[written] : written) as never;

  it("holds for numbers by its bounds, and never for what is no number", () => {
    const property = fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (value, bound) => {
      const holds = (test: object): boolean => conditionHolds({ value: "x", ...test }, given({ x: value }));
      expect(holds({ above: bound })).toBe(value > bound);
      expect(holds({ at_least: bound })).toBe(value >= bound);
      expect(holds({ below: bound })).toBe(value < bound);
      expect(holds({ at_most: bound })).toBe(value <= bound);
      const text = (test: object): boolean => conditionHolds({ value: "x", ...test }, given({ x: String(value) }));
      expect([text({ above: -1e308 }), text({ at_most: 1e308 })]).toEqual([false, false]);
    });
    fc.assert(property, { numRuns: runs(200) });
  });

  it("joins by all, any and not as logic does, however deep", () => {
    const leaf = fc.boolean().map((exists): Condition => ({ value: "there", exists }));
    const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        leaf,
        fc.array(tie("tree"), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
        fc.array(tie("tree"), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
        tie("tree").map((one) => ({ not: one })),
      ),
    }));
    const truth = ({ exists, all, any, not: negated }: Condition): boolean =>
      all?.every(truth) ?? any?.some(truth) ?? (negated === undefined ? exists === true : !truth(negated));
    fc.assert(
      fc.property(tree, (one) => {
        expect(conditionHolds(one, given({}))).toBe(truth(one));
      }),
      { numRuns: runs(200) },
    );
  });

  it("holds for a value that is not there by exists: false alone", () => {
    const tests = [
      { equals: 1 },
      { equals: null },
      { one_of: [1, null] },
      { above: -1 },
      { at_most: 1 },
      { exists: true },
    ];
    const absent = (test: object): boolean => conditionHolds({ value: "x", ...test }, given({ x: undefined }));
    expect(tests.map(absent)).toEqual(tests.map(() => false));
    expect(absent({ exists: false })).toBe(true);
    expect(conditionHolds({ value: 1, equals: "x" }, given({ x: undefined }))).toBe(false);
  });

  it.each([
    [{}, "it states nothing"],
    [{ value: 1 }, "it needs a test of its value"],
    [{ above: 1 }, "it tests no value"],
    [{ value: 1, abov: 2 }, "abov"],
    [{ value: 1, above: "2" }, "above"],
    [{ all: [] }, "all"],
    [{ not: { value: 1, is: 2 } }, "is"],
  ])("%j is refused: %s", (written, problem) => {
    expect(JSON.stringify(Condition.safeParse(written).error?.issues)).toContain(problem);
  });

  it("deeper than sixteen conditions is refused", () => {
    let deep: Condition = { value: 1, equals: 1 };
    for (let i = 0; i < 15; i += 1) deep = { not: deep };
    expect(Condition.safeParse(deep).success).toBe(true);
    expect(Condition.safeParse({ not: deep }).success).toBe(false);
  });
});

describe("a step with a condition", () => {
  const branching: Plan = ({ input, step }) => {
    const found = step({ step_id: "score", name: "Score", operator: "Kyc.Score", params: { score: input.score } });
    const isHigh = when(found.output.score).above(70);
    const high = step({ step_id: "high", name: "High", operator: "Kyc.Take", params: { as: "high" }, when: isHigh });
    const low = step({ step_id: "low", name: "Low", operator: "Kyc.Take", params: { as: "low" }, when: not(isHigh) });
    const end = step({
      step_id: "end",
      name: "End",
      operator: "Kyc.Take",
      params: { as: "end" },
      depends_on: [high, low],
    });
    return { reasoning: "by score", steps: [found, high, low, end] };
  };

  it.each([
    [99, { score: "succeeded", high: "succeeded", low: "condition", end: "succeeded" }],
    [70, { score: "succeeded", high: "condition", low: "succeeded", end: "succeeded" }],
  ])("at %s takes one branch, and what comes after both goes on", async (given, states) => {
    await using t = await start(branching);
    const state = await t.run("Kyc.Check", { score: given });
    expect([state.state, statesOf(state), state.progress.percent]).toEqual(["completed", states, 100]);
    expect((await t.kernel.replay(state.workflow_id)).identical).toBe(true);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("has a text that came from outside as text, whatever braces it holds", async () => {
    await using t = await start(({ input, step }) => {
      const found = step({ step_id: "score", name: "Score", operator: "Kyc.Score", params: { score: 99 } });
      const isThere = when(input.text).exists();
      const there = step({
        step_id: "is",
        name: "Is",
        operator: "Kyc.Take",
        params: {},
        depends_on: [found],
        when: isThere,
      });
      const above = when<unknown>(input.text).above(1);
      const never = step({
        step_id: "never",
        name: "Never",
        operator: "Kyc.Take",
        params: {},
        depends_on: [found],
        when: above,
      });
      return { reasoning: "by text", steps: [found, there, never] };
    });
    const state = await t.run("Kyc.Check", { text: "{{score.output.score}}" });
    expect(statesOf(state)).toEqual({ score: "succeeded", is: "succeeded", never: "condition" });
  });

  it("gives a reference with a default its default when it was left out", async () => {
    await using t = await start(({ step }) => {
      const found = step({
        step_id: "score",
        name: "Score",
        operator: "Kyc.Score",
        params: { score: 1 },
        when: when(1).above(2),
      });
      expectTypeOf(found.output.note).not.toEqualTypeOf<never>();
      const params = { note: ref(found.output.note, { or: "none" }) };
      return {
        reasoning: "default",
        steps: [found, step({ step_id: "take", name: "Take", operator: "Kyc.Take", params })],
      };
    });
    expect(statesOf(await t.run("Kyc.Check"))).toEqual({ score: "condition", take: "succeeded" });
    expect(seen).toEqual([{ note: "none" }]);
  });

  it("may be referred to by a step with the same condition", async () => {
    await using t = await start(({ input, step }) => {
      const same = allOf(when(input.score).above(1), anyOf(when(input.score).below(9), when(input.text).exists()));
      const found = step({ step_id: "score", name: "Score", operator: "Kyc.Score", params: { score: 1 }, when: same });
      const params = { note: ref("score.output.note") };
      const taken = step({ step_id: "take", name: "Take", operator: "Kyc.Take", params, when: same });
      return { reasoning: "same", steps: [found, taken] };
    });
    expect(statesOf(await t.run("Kyc.Check", { score: 5 }))).toEqual({ score: "succeeded", take: "succeeded" });
    expect(statesOf(await t.run("Kyc.Check", { score: 1 }))).toEqual({ score: "condition", take: "condition" });
  });

  it.each([
    [
      "a reference without a default to a step that may be left out",
      [
        { step_id: "a", name: "a", operator: "Kyc.Take", when: { value: 1, equals: 1 } },
        { step_id: "b", name: "b", operator: "Kyc.Take", params: { of: "{{a.output}}" }, depends_on: ["a"] },
      ],
      "step b: {{a.output}} may give nothing, because step a has a condition",
    ],
    [
      "a reference without a default to a step that is waited for however it ends",
      [
        { step_id: "a", name: "a", operator: "Kyc.Take" },
        {
          step_id: "b",
          name: "b",
          operator: "Kyc.Take",
          params: { of: "{{a.output}}" },
          depends_on: [{ step_id: "a", settled: true }],
        },
      ],
      "step b: {{a.output}} may give nothing, because step a is waited for however it ends",
    ],
    [
      "a condition about a step that does not come before",
      [
        { step_id: "a", name: "a", operator: "Kyc.Take" },
        { step_id: "b", name: "b", operator: "Kyc.Take", when: { value: "{{a.output}}", equals: 1 } },
      ],
      "its condition is about {{a.output}}, a step which it does not depend on",
    ],
    [
      "a condition about a step that there is not",
      [{ step_id: "b", name: "b", operator: "Kyc.Take", when: { value: "{{c.output}}", equals: 1 } }],
      "a step which there is not",
    ],
    [
      "a test that nobody knows",
      [{ step_id: "b", name: "b", operator: "Kyc.Take", when: { value: 1, eqals: 1 } }],
      "when.eqals: there is no such key",
    ],
    [
      "an operator at a step that calls none",
      [{ step_id: "b", name: "b", kind: "sleep", params: { ms: 1 }, operator: "Kyc.Take" }],
      "operator: there is no such key",
    ],
    [
      "both times",
      [{ step_id: "b", name: "b", kind: "sleep", params: { ms: 1, until: "2027-01-01T00:00:00Z" } }],
      "either ms or until",
    ],
    ["a kind that nobody knows", [{ step_id: "b", name: "b", kind: "slep", params: {} }], "kind"],
  ])("%s is refused when the plan is compiled", async (_what, steps, problem) => {
    await using t = await start(() => ({ reasoning: "wrong", steps: steps as never }));
    const { error } = await t.run("Kyc.Check");
    expect(error).toMatchObject({ code: "T3_PLAN_INVALID" });
    expect(error?.message).toContain(problem);
  });
});

describe("a step that waits for any end of another", () => {
  const joining =
    (also: readonly object[] = []): Plan =>
    ({ step }) => {
      const pay = step({ step_id: "pay", name: "Pay", operator: "Kyc.Break", params: {} });
      const after = step({ step_id: "after", name: "After", operator: "Kyc.Take", params: {}, depends_on: [pay] });
      const join = step({
        step_id: "join",
        name: "Join",
        operator: "Kyc.Take",
        params: {},
        depends_on: [settled(pay), settled(after)],
      });
      return { reasoning: "join", steps: [pay, after, join, ...(also as never[])] };
    };

  it("goes on after its failure, which is answered for: the workflow completes", async () => {
    await using t = await start(joining());
    const state = await t.run("Kyc.Check");
    expect(statesOf(state)).toEqual({ pay: "failed", after: "dependency_failed", join: "succeeded" });
    expect([state.state, state.error]).toEqual(["completed", null]);
    expect((await t.kernel.replay(state.workflow_id)).identical).toBe(true);
  });

  it("answers for no other failure", async () => {
    await using t = await start(joining([{ step_id: "more", name: "More", operator: "Kyc.Break" }]));
    expect(await t.run("Kyc.Check")).toMatchObject({ state: "failed" });
  });

  it("does not answer for what policy refused", async () => {
    const denies = { name: "no-breaks", stages: ["action" as const], evaluate: denyBreaks };
    const input = z.object({ score: z.number().default(0), text: z.string().default("") });
    const capability = defineCapability({ intentType: "Kyc.Check", version: "1.0", input, operators, plan: joining() });
    await using t = await createTestKernel({ capabilities: [capability], policies: [denies] });
    const state = await t.run("Kyc.Check");
    expect(statesOf(state)).toMatchObject({ pay: "failed", join: "succeeded" });
    expect(state).toMatchObject({ state: "failed", status: "blocked" });
  });
});

const denyBreaks = ({ subject }: { readonly subject: { readonly operator?: string } }) =>
  subject.operator === "Kyc.Break" ? { decision: "DENY" as const, reason: "no breaks" } : null;
