/** Policy sets that are wrong: each is refused as a whole, and the error says which rule and which field. */
import { describe, expect, it } from "vitest";
import { createKernel, definePolicy, definePolicySet, KernelErrorException } from "../../src/index.ts";
import { refusalOf } from "../journey/parts.ts";

interface Problem {
  readonly rule: string | null;
  readonly field: string;
  readonly problem: string;
}

function problemsOf(data: unknown): readonly Problem[] {
  try {
    definePolicySet(data);
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    expect(thrown.error).toMatchObject({ code: "T5_POLICY_INVALID", category: "input", retry_eligible: false });
    const problems = thrown.error.detail["problems"] as readonly Problem[];
    for (const { field, rule } of problems) {
      expect(thrown.message).toContain(field);
      expect(thrown.message).toContain(rule ?? "policy set");
    }
    return problems;
  }
  return [];
}

const good = { name: "good", stages: ["action"], decision: "DENY", reason: "no" };
const rule = (more: object) => ({ version: "1", rules: [{ ...good, name: "bad", ...more }] });
const when = (conditions: object) => rule({ when: conditions });

describe("a policy set", () => {
  it("that is right has no problems", () => expect(problemsOf({ version: "1", rules: [good] })).toEqual([]));

  it.each([
    ["a field that is not known", rule({ sage: "plan" }), "sage"],
    ["a condition that is not known", when({ tag: ["a"] }), "when.tag"],
    ["a bound that is not known", when({ amounts: [{ path: "a", above: 1, over: 1 }] }), "when.amounts.0.over"],
    ["no stage", rule({ stages: [] }), "stages"],
    ["a stage that is not known", rule({ stages: ["afterwards"] }), "stages.0"],
    ["no decision", rule({ decision: undefined }), "decision"],
    ["a decision that is not known", rule({ decision: "PERHAPS" }), "decision"],
    ["no reason", rule({ reason: "" }), "reason"],
    ["TRANSFORM without a transform", rule({ decision: "TRANSFORM" }), "transform"],
    ["a transform with another decision", rule({ transform: { set: { a: 1 } } }), "transform"],
    ["a transform that changes nothing", rule({ decision: "TRANSFORM", transform: {} }), "transform"],
    ["redactions with another decision", rule({ redactions: ["a"] }), "redactions"],
    ["confirm without a demand for approval", rule({ confirm: "type" }), "confirm"],
    ["confirm at stage plan", rule({ stages: ["plan"], decision: "REQUIRE_APPROVAL", confirm: "type" }), "confirm"],
    ["a care that is not known", rule({ decision: "REQUIRE_APPROVAL", confirm: "twice" }), "confirm"],
    ["ALLOW_WITH_REDACTION without redactions", rule({ decision: "REDACT" }), "redactions"],
    ["a path that is none", rule({ decision: "REDACT", redactions: ["a..b"] }), "redactions.0"],
    [
      "TRANSFORM at stage gate",
      rule({ stages: ["gate"], decision: "TRANSFORM", transform: { set: { a: 1 } } }),
      "stages",
    ],
    [
      "TRANSFORM at stage plan",
      rule({ stages: ["plan"], decision: "TRANSFORM", transform: { set: { a: 1 } } }),
      "stages",
    ],
    ["redaction at stage gate", rule({ stages: ["action", "gate"], decision: "REDACT", redactions: ["a"] }), "stages"],
    ["approval at stage outcome", rule({ stages: ["outcome"], decision: "REQUIRE_APPROVAL" }), "stages"],
    ["approval at stage gate", rule({ stages: ["gate"], decision: "REQUIRE_HUMAN_APPROVAL" }), "stages"],
    ["an effect that is not known", when({ effects: ["explode"] }), "when.effects.0"],
    ["effects of a plan", rule({ stages: ["plan"], when: { effects: ["read"] } }), "when.effects"],
    ["amounts of a plan", rule({ stages: ["plan"], when: { amounts: [{ path: "a", above: 1 }] } }), "when.amounts"],
    ["effects of an outcome", rule({ stages: ["outcome"], when: { effects: ["read"] } }), "when.effects"],
    ["a tag in all and none", when({ tags: { all: ["a", "b"], none: ["b"] } }), "when.tags"],
    ["a tag in any and none", when({ tags: { any: ["a"], none: ["a"] } }), "when.tags"],
    ["tags that name nothing", when({ tags: {} }), "when.tags"],
    ["an empty list", when({ operators: [] }), "when.operators"],
    ["two roles at once", when({ roles: { all: ["a", "b"] } }), "when.roles.all"],
    ["an amount without a bound", when({ amounts: [{ path: "a" }] }), "when.amounts.0"],
    ["a bound said twice", when({ amounts: [{ path: "a", above: 1, at_least: 1 }] }), "when.amounts.0"],
    ["an empty range", when({ amounts: [{ path: "a", above: 5, at_most: 5 }] }), "when.amounts.0"],
    ["a range turned round", when({ amounts: [{ path: "a", at_least: 6, at_most: 5 }] }), "when.amounts.0"],
    ["a bound that is no number", when({ amounts: [{ path: "a", above: "5" }] }), "when.amounts.0.above"],
    ["a star inside a name", when({ operators: ["Pay.*", "*.Send"] }), "when.operators.1"],
    ["a star inside an intent", when({ intents: ["Or*er"] }), "when.intents.0"],
    [
      "amounts of one field that exclude one another",
      when({
        amounts: [
          { path: "a", above: 5 },
          { path: "b", above: 1 },
          { path: "a", at_most: 5 },
        ],
      }),
      "when.amounts",
    ],
    ["a path into a prototype", when({ amounts: [{ path: "a.__proto__.b", above: 1 }] }), "when.amounts.0.path"],
    ["a redaction of a prototype", rule({ decision: "REDACT", redactions: ["__proto__"] }), "redactions.0"],
    ["a time that is none", when({ times: { between: ["24:00", "06:00"] } }), "when.times.between.0"],
    ["a time that is empty", when({ times: { between: ["06:00", "06:00"] } }), "when.times"],
    ["no time at all", when({ times: { zone: "UTC" } }), "when.times"],
    ["a day that is none", when({ times: { days: ["someday"] } }), "when.times.days.0"],
    ["a zone that is none", when({ times: { days: ["sat"], zone: "Middle/Earth" } }), "when.times.zone"],
  ])("with %s is refused, naming rule and field", (_name, data, field) => {
    expect(problemsOf(data)).toMatchObject([{ rule: "bad", field }]);
  });

  it("names every problem, and a rule without a name by its place", () => {
    const data = { version: "1", rules: [good, { ...good, name: "", resaon: "no" }, { ...good, stages: "action" }] };
    expect(problemsOf(data).map(({ rule: at, field }) => [at, field])).toEqual([
      ["#2", "name"],
      ["#2", "resaon"],
      ["good", "stages"],
    ]);
  });

  it.each([
    ["two rules of one name", { version: "1", rules: [good, good] }, { rule: "good", field: "name" }],
    ["no version", { rules: [good] }, { rule: null, field: "version" }],
    ["no rules", { version: "1", rules: [] }, { rule: null, field: "rules" }],
    ["a field beside", { version: "1", rules: [good], rule: [] }, { rule: null, field: "rule" }],
    ["nothing", null, { rule: null, field: "set" }],
    ["a rule that is none", { version: "1", rules: [null] }, { rule: "#1", field: "rule" }],
  ])("with %s is refused", (_name, data, problem) => {
    expect(problemsOf(data)).toMatchObject([problem]);
  });

  it("that is no JSON is refused with the same code", () => {
    expect(problemsOf({ version: "1", rules: [{ ...good, when: () => true }] })).not.toEqual([]);
  });
});

describe("data that would lose something on the way", () => {
  it.each([
    ["a condition called __proto__", rule({ when: JSON.parse('{"__proto__": {"tags": {"any": ["a"]}}}') })],
    ["a bound beyond what is kept exactly", when({ amounts: [{ path: "a", above: 2 ** 53 }] })],
    ["conditions in a Map", when(new Map([["tags", { any: ["a"] }]]))],
    ["conditions of a class", when(new (class Conditions {})())],
  ])("is refused: %s", (_name, data) => expect(problemsOf(data)).not.toEqual([]));

  it("two ranges of one field that touch, or of the items of a list, are a set like others", () => {
    const touching = [
      { path: "a", at_least: 5 },
      { path: "a", at_most: 5 },
    ];
    const items = [
      { path: "lines.*.sum", above: 9 },
      { path: "lines.*.sum", below: 1 },
    ];
    expect([problemsOf(when({ amounts: touching })), problemsOf(when({ amounts: items }))]).toEqual([[], []]);
  });
});

describe("a kernel", () => {
  it.each([
    ["data that was not defined", { version: "1", rules: [good] }],
    ["a rule without evaluate", { name: "r", stages: ["action"] }],
    ["a rule at a stage there is not", { name: "r", stages: ["afterwards"], evaluate: () => null }],
    ["nothing", null],
  ])("does not open with %s", async (_name, policy) => {
    const error = await refusalOf(createKernel({ policies: [policy as never] }));
    expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" });
  });

  it.each([
    [
      "two sets that say one name",
      [definePolicySet({ version: "1", rules: [good] }), definePolicySet({ version: "2", rules: [good] })],
    ],
    [
      "a set and a rule in code",
      [
        definePolicySet({ version: "1", rules: [good] }),
        definePolicy({ name: good.name, stages: ["plan"], evaluate: () => null }),
      ],
    ],
    [
      "a set and the default rules",
      [definePolicySet({ version: "1", rules: [{ ...good, name: "default.final_write" }] })],
    ],
  ])("does not open with rules of one name: %s", async (_name, policies) => {
    const error = await refusalOf(createKernel({ policies }));
    expect(error).toMatchObject({ code: "T5_POLICY_INVALID" });
  });

  it("definePolicy keeps a rule that is an object of a class", () => {
    class Rule {
      readonly name = "r";
      readonly stages = ["action"] as const;
      readonly #answer = { decision: "DENY", reason: "mine" } as const;
      evaluate() {
        return this.#answer;
      }
    }
    expect(definePolicy(new Rule()).evaluate({} as never)).toMatchObject({ reason: "mine" });
  });
});
