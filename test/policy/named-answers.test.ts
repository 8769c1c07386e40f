/** A rule that stands for several policies: each of its answers counts as that of a rule of its own name. */
import { describe, expect, it } from "vitest";
import type { NamedAnswer, PolicyDecision, PolicyRule, PolicyStage } from "../../src/contract/policy.ts";
import { evaluatePolicies } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { question } from "./questions.ts";

const several = (answers: readonly unknown[], stages: readonly PolicyStage[] = ["action"]): PolicyRule => ({
  name: "several",
  stages,
  evaluate: () => answers as readonly NamedAnswer[],
});
const other: PolicyRule = {
  name: "other",
  stages: ["action", "gate"],
  evaluate: () => ({ decision: "REQUIRE_APPROVAL", reason: "the other asks" }),
};
const ask = async (rules: readonly PolicyRule[], subject: object = {}, withDefault = false): Promise<PolicyDecision> =>
  evaluatePolicies(assemblePolicies(rules, { withDefault }), question({ subject: { payload: { a: 0 }, ...subject } }));
const failed = (why: string) =>
  expect.objectContaining({ decision: "DENY", decided_by: "several", reason: expect.stringContaining(why) });

describe("the answers of policies", () => {
  it("are combined as those of rules are, and each policy is named once", async () => {
    const answers = [
      { policy: "a", decision: "ALLOW" },
      { policy: "b", decision: "REQUIRE_APPROVAL", reason: "b asks", confirm: "type" },
      { policy: "b", decision: "REQUIRE_APPROVAL", reason: "b asks again" },
    ];
    expect(await ask([several(answers), other])).toMatchObject({
      decision: "REQUIRE_HUMAN_APPROVAL",
      ...{ decided_by: "b", reason: "b asks", policies: ["a", "b", "other"], confirm: "type" },
    });
    const denied = [...answers, { policy: "c", decision: "DENY", reason: "c denies" }];
    expect(await ask([other, several(denied)])).toMatchObject({ decision: "DENY", decided_by: "c" });
  });

  it("that are none are no answer, also from a promise", async () => {
    const late: PolicyRule = { name: "late", stages: ["action"], evaluate: async () => [] };
    expect(await ask([several([]), late])).toMatchObject({ decision: "ALLOW", policies: [] });
    expect(await ask([several([]), other])).toMatchObject({ policies: ["other"] });
  });

  it("transform and mask a payload, and the policies are named as those that changed it", async () => {
    const mask = { policy: "mask", decision: "REDACT", redactions: ["a"] };
    expect(await ask([several([mask])])).toMatchObject({ decision: "ALLOW_WITH_REDACTION", policies: ["mask"] });
  });

  it("lift a default rule for the policy that says so, and for no other", async () => {
    const final = { effect: "final_write", risk_level: "medium" };
    const lifts = "default.final_write";
    const lifted = await ask([several([{ policy: "known", decision: "ALLOW", lifts }])], final, true);
    expect(lifted).toMatchObject({ decision: "ALLOW", policies: ["known"], lifts: [{ rule: lifts, by: "known" }] });
    const plain = await ask([several([{ policy: "known", decision: "ALLOW" }])], final, true);
    expect(plain).toMatchObject({ decision: "REQUIRE_HUMAN_APPROVAL", decided_by: lifts });
  });
});

describe("denied is", () => {
  it.each([
    ["an unknown member", { policy: "a", decision: "ALLOW", reson: "x" }, "reson"],
    ["a missing name", { decision: "ALLOW" }, "policy"],
    ["an unknown decision", { policy: "a", decision: "PERMIT" }, "decision"],
    ["no object", 3, "expected object"],
    ["the name of a rule", { policy: "other", decision: "ALLOW" }, "has the name of a rule"],
    ["the name of a default rule", { policy: "default.final_write", decision: "ALLOW" }, "has the name of a rule"],
  ])("an answer with %s, whatever the other policies answer", async (_name, answer, why) => {
    const answers = [{ policy: "fine", decision: "ALLOW" }, answer];
    expect(await ask([several(answers), other], {}, true)).toEqual(failed(why));
  });

  it("a lift at a stage at which no default rule is asked", async () => {
    const rule = several([{ policy: "a", decision: "ALLOW", lifts: "default.final_write" }], ["gate"]);
    expect(await evaluatePolicies(assemblePolicies([rule]), question({ stage: "gate" }))).toEqual(failed("lifts"));
  });
});
