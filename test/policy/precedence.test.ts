/** One decision out of many rules: the strictest stands, all that matched are named, and what is unclear denies. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DecisionName, PolicyDecision, PolicyRule, PolicyStage, RuleAnswer } from "../../src/contract/policy.ts";
import { evaluatePolicies, PolicyDecision as PolicyDecisionSchema } from "../../src/index.ts";
import { runs } from "../properties/property-runs.ts";
import { question } from "./questions.ts";

type Evaluate = PolicyRule["evaluate"];
const rule = (
  name: string,
  answer: RuleAnswer | null | Evaluate,
  stages: readonly PolicyStage[] = ["action"],
): PolicyRule => ({
  name,
  stages,
  evaluate: typeof answer === "function" ? answer : () => answer,
});
const ask = async (rules: readonly PolicyRule[], stage: PolicyStage = "action"): Promise<PolicyDecision> =>
  evaluatePolicies({ rules, version: "v" }, question({ stage, subject: { payload: { a: 0, b: 0, c: 0 } } }));

const deny = rule("deny", { decision: "DENY", reason: "no" });
const approve = rule("approve", { decision: "REQUIRE_APPROVAL", reason: "ask" });
const change = rule("change", { decision: "TRANSFORM", reason: "calm", transform: { a: 1, b: 2 } });
const mask = rule("mask", { decision: "REDACT", reason: "hide", redactions: ["b"] });
const allow = rule("allow", { decision: "ALLOW", reason: "fine" });

describe("precedence", () => {
  it.each([
    [[allow, mask, change, approve, deny], "DENY", "no"],
    [[allow, mask, change, approve], "REQUIRE_HUMAN_APPROVAL", "ask"],
    [[allow, change, mask], "TRANSFORM", "calm"],
    [[allow, mask, change], "ALLOW_WITH_REDACTION", "hide"],
    [[allow], "ALLOW", "fine"],
    [[], "ALLOW", "no rule matched"],
  ] as const)(
    "[PLC-09] case %#: the strictest rule decides, the first among equals",
    async (rules, decision, reason) => {
      const names = rules.map(({ name }) => name);
      expect(await ask(rules)).toMatchObject({ decision, reason, policies: names, policy_version: "v" });
      if (decision !== "DENY" && decision !== "REQUIRE_HUMAN_APPROVAL") return;
      const turned = rules.toReversed();
      expect(await ask(turned)).toMatchObject({ decision, policies: names.toReversed() });
    },
  );

  it("[PLC-06, PLC-07] a transform and a redaction hold together, and under approval too", async () => {
    const both = { transform: { a: 1, b: "[redacted]" }, redactions: ["b"] };
    for (const rules of [
      [mask, change],
      [change, mask],
      [approve, change, mask],
    ])
      expect(await ask(rules)).toMatchObject(both);
    const more = rule("more", { decision: "REDACT", redactions: ["b", "c"] });
    expect((await ask([mask, more])).redactions).toEqual(["b", "c"]);
    expect(await ask([change, mask, deny])).toMatchObject({ transform: null, redactions: [] });
  });

  it("the strictest care of the rules that require approval stands, also over rounds", async () => {
    const second = rule("second", { decision: "REQUIRE_APPROVAL", confirm: "second_step" });
    const type = rule("type", { decision: "REQUIRE_APPROVAL", confirm: "type" });
    const onceChanged = rule("once", ({ subject }) =>
      (subject.payload as { readonly a: number }).a === 1 ? { decision: "REQUIRE_APPROVAL", confirm: "type" } : null,
    );
    expect((await ask([approve])).confirm).toBeUndefined();
    expect((await ask([approve, second])).confirm).toBe("second_step");
    expect((await ask([second, allow, type])).confirm).toBe("type");
    expect((await ask([second, change, onceChanged])).confirm).toBe("type");
  });

  it.each([
    ["action", { decision: "ALLOW", confirm: "type" }, "confirm needs REQUIRE_HUMAN_APPROVAL, not ALLOW"],
    ["plan", { decision: "REQUIRE_APPROVAL", confirm: "type" }, "confirm cannot be honoured at stage plan"],
  ] as const)("at stage %s a care that no gate can show denies", async (stage, answer, why) => {
    const decision = await ask([rule("careful", answer, [stage])], stage);
    expect(decision.decision).toBe("DENY");
    expect(decision.reason).toContain(why);
  });

  it("[PLC-06] two rules that transform alike agree; two that do not deny, and both are named", async () => {
    const same = rule("same", { decision: "TRANSFORM", transform: { b: 2, a: 1 } });
    expect(await ask([change, same])).toMatchObject({ decision: "TRANSFORM", transform: { a: 1, b: 2 } });
    const other = rule("other", { decision: "TRANSFORM", transform: { a: 1 } });
    const decision = await ask([allow, change, other]);
    expect(decision).toMatchObject({ decision: "DENY", transform: null, policies: ["allow", "change", "other"] });
    expect(decision.reason).toContain("change and other");
  });
});

/** Throws at whoever looks at its decision. */
const unreadable = {
  get decision(): never {
    throw new Error("broken");
  },
};

describe("fail closed", () => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["answers what cannot be read", () => unreadable as never],
    ["answers later what cannot be read", async () => unreadable as never],
    ["answers nonsense", () => ({ decision: "PERHAPS" }) as never],
    ["answers a text", () => "ALLOW" as never],
    ["transforms into nothing", () => ({ decision: "TRANSFORM" }) as const],
    ["has a transform that nobody would apply", () => ({ decision: "REQUIRE_APPROVAL", transform: { a: 1 } }) as const],
    ["transforms into what is no JSON", () => ({ decision: "TRANSFORM", transform: { f: () => 1 } }) as never],
  ] as const)("[PLC-01] a rule that %s denies, and is named", async (_name, evaluate) => {
    const decision = await ask([allow, rule("broken", evaluate as Evaluate)]);
    expect(decision).toMatchObject({ decision: "DENY", policies: ["allow", "broken"] });
    expect(decision.reason).toContain("broken");
  });

  it.each([
    ["plan", "TRANSFORM"],
    ["plan", "ALLOW_WITH_REDACTION"],
    ["outcome", "REQUIRE_HUMAN_APPROVAL"],
    ["gate", "REQUIRE_HUMAN_APPROVAL"],
    ["gate", "TRANSFORM"],
    ["gate", "ALLOW_WITH_REDACTION"],
  ] as const)("[PLC-01] what stage %s cannot honour, %s, denies", async (stage, decision) => {
    const answer = await ask([rule("odd", { decision, transform: { a: 1 }, redactions: ["a"] }, [stage])], stage);
    expect(answer).toMatchObject({ decision: "DENY", policies: ["odd"] });
    expect(answer.reason).toContain(`cannot be honoured at stage ${stage}`);
  });
});

describe("any rules", () => {
  const strict: readonly (readonly DecisionName[])[] = [
    ["DENY"],
    ["REQUIRE_HUMAN_APPROVAL"],
    ["TRANSFORM", "ALLOW_WITH_REDACTION"],
    ["ALLOW"],
  ];
  const answer = fc.option(
    fc.record({
      decision: fc.constantFrom(...strict.flat()),
      reason: fc.string(),
      value: fc.constantFrom(1, 2),
      redactions: fc.uniqueArray(fc.constantFrom("a", "b", "c")),
      breaks: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      late: fc.boolean(),
    }),
    { nil: null },
  );
  type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

  const ruleFrom = (given: Answer, i: number): PolicyRule =>
    rule(`r${i}`, () => {
      if (given === null) return null;
      if (given.breaks) throw new Error("broken");
      const { decision, reason, redactions, value } = given;
      const said = { decision, reason, redactions, transform: decision === "TRANSFORM" ? { value } : null };
      return given.late ? Promise.resolve(said) : said;
    });

  /** Said naively: level by level, the first that answers there. */
  function reference(answers: readonly Answer[]) {
    const said = answers.flatMap((a, i) =>
      a === null ? [] : [{ ...a, name: `r${i}`, decision: a.breaks ? ("DENY" as const) : a.decision }],
    );
    const level = strict.find((names) => said.some((a) => names.includes(a.decision))) ?? ["ALLOW"];
    const first = said.find((a) => level.includes(a.decision));
    const values = new Set(said.filter((a) => a.decision === "TRANSFORM").map((a) => a.value));
    const denies = first?.decision === "DENY" || values.size > 1;
    return {
      decision: denies ? "DENY" : (first?.decision ?? "ALLOW"),
      policies: said.map((a) => a.name),
      transform: denies || values.size === 0 ? null : { value: [...values][0] },
      redactions: denies ? [] : [...new Set(said.flatMap((a) => a.redactions))],
    };
  }

  it("[PLC-02, PLC-09] come to the decision that is strictest, with all that matched in order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 6 }), async (answers) => {
        const decision = await ask(answers.map(ruleFrom));
        expect(decision).toMatchObject(reference(answers));
        expect(PolicyDecisionSchema.parse(decision)).toEqual(decision);
      }),
      { numRuns: runs(400) },
    );
  });
});
