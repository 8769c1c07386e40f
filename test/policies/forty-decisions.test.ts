/** One policy in five spellings decides forty questions, and any other question, alike. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyDecision, PolicyQuestion } from "../../src/contract/policy.ts";
import { evaluatePolicies, type Policies } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { runs } from "../properties/property-runs.ts";
import { type Case, fortyCases, questionOf } from "./forty-cases.ts";
import { asData, inCedar, inCode, inPlainCedar, inRego } from "./one-policy.ts";

const engineOf = (policies: Policies) => assemblePolicies(policies, { withDefault: false });
const engines = {
  functions: engineOf(inCode),
  data: engineOf([asData]),
  "Cedar with a schema": engineOf([inCedar]),
  "Cedar without one": engineOf([inPlainCedar]),
  Rego: engineOf([inRego]),
};
type Language = keyof typeof engines;
const languages = Object.keys(engines) as Language[];

/** Returns the decision, and who decided for which reason unless it allows. */
function decisionOf(language: Language, question: PolicyQuestion) {
  const { decision, decided_by, reason } = evaluatePolicies(engines[language], question) as PolicyDecision;
  return decision === "ALLOW" ? { decision } : { decision, decided_by, reason };
}

describe("forty decisions", () => {
  it("are forty", () => expect(fortyCases).toHaveLength(40));

  it.each(fortyCases)("%s is decided alike in each language", (_name, asked, decider) => {
    const [first, ...others] = languages.map((language) => decisionOf(language, questionOf(asked)));
    expect(first?.decided_by ?? null).toBe(decider);
    for (const other of others) expect(other).toEqual(first);
  });
});

const anyPayload = fc.oneof(
  fc
    .record({ sum: fc.integer({ min: 4998, max: 5003 }), to: fc.constantFrom("acme", "shell-1", "shell-", "é") })
    .map((payload) => ({ operator: "Pay.Send", effect: "final_write", payload })),
  fc.constant({ operator: "Mail.Send", effect: "external_send", payload: { to: "bo" } }),
  fc.constant({ operator: "Notes.Write", effect: "write_draft", payload: { text: "x" } }),
);
const anyCase: fc.Arbitrary<Case> = fc.record({
  subject: fc
    .tuple(anyPayload, fc.subarray(["pii", "consented", "secret", "approve"]), fc.constantFrom("low", "medium", "high"))
    .map(([subject, tags, risk_level]) => ({ ...subject, tags, risk_level })),
  role: fc.constantFrom("user", "agent", "admin"),
  tenant: fc.constantFrom<(string | number)[]>(1, "1", "frozen"),
  principal: fc.constantFrom("ann", "robot"),
  now: fc
    .date({ min: new Date("2026-01-01"), max: new Date("2027-01-01"), noInvalidDate: true })
    .map((at) => at.toISOString()),
});

it("any call is decided alike in each language", () => {
  fc.assert(
    fc.property(anyCase, (asked) => {
      const [first, ...others] = languages.map((language) => decisionOf(language, questionOf(asked)));
      for (const other of others) expect(other).toEqual(first);
    }),
    { numRuns: runs(300) },
  );
});
