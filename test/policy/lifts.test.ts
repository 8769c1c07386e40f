/** A rule of the host that lifts one default rule: what it reaches, what it never reaches, and who is told. */
import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { definePolicy, definePolicySet, evaluatePolicies, type Policies } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import {
  counted,
  eventsOf,
  intentType,
  listOf,
  ofType,
  oneStep,
  packageOf,
  planStep,
  refusalOf,
} from "../journey/parts.ts";
import { question } from "./questions.ts";

const welcome = {
  name: "mail.welcome",
  stages: ["action"],
  lifts: "default.external_send",
  when: { operators: ["Mail.Welcome"] },
  decision: "ALLOW",
  reason: "a welcome mail says the same to everybody",
};
const setOf = (...rules: readonly object[]) => definePolicySet({ version: "lifting-1", rules });
const inCode = (more: Partial<PolicyRule> = {}): PolicyRule =>
  definePolicy({
    name: "mail.welcome",
    stages: ["action"],
    lifts: "default.external_send",
    evaluate: ({ subject }) =>
      subject.operator === "Mail.Welcome" ? { decision: "ALLOW", reason: "a welcome mail" } : null,
    ...more,
  });

/** What the default rules and these policies say of a mail of this operator. */
const askMail = (policies: Policies, operator = "Mail.Welcome") =>
  evaluatePolicies(
    assemblePolicies(policies),
    question({ subject: { operator, effect: "external_send", payload: { to: "bo" } } }),
  );
const decisionOf = async (t: TestKernel, workflowId: string) =>
  ofType(await eventsOf(t, workflowId), "POLICY_DECIDED").find(({ payload }) => payload["stage"] === "action")?.payload;

describe("a rule that lifts a default rule", () => {
  it.each([
    ["data", setOf(welcome)],
    ["code", inCode()],
  ])(
    "answers in its place for the operator that it names, as %s, and the event names the lift",
    async (_as, policy) => {
      const [mail, other] = [
        counted("Mail.Welcome", { effect: "external_send" }),
        counted("Mail.Other", { effect: "external_send" }),
      ];
      const capabilities = [oneStep(mail), oneStep(other, {}, { intentType: "Mail.Other" })];
      await using t = await createTestKernel({ capabilities, policies: [policy] });
      const sent = await t.run(intentType);
      expect([sent.state, mail.calls.length]).toEqual(["completed", 1]);
      const lifts = [{ rule: "default.external_send", by: "mail.welcome" }];
      expect(await decisionOf(t, sent.workflow_id)).toMatchObject({
        ...{ decision: "ALLOW", decided_by: "mail.welcome", policies: ["mail.welcome"], lifts },
      });
      const refused = await t.run("Mail.Other");
      expect([refused.state, refused.error?.code, other.calls.length]).toEqual(["failed", "T5_POLICY_DENIED", 0]);
      expect(await decisionOf(t, refused.workflow_id)).not.toHaveProperty("lifts");
    },
  );

  it("may ask a person where the default rule denies", async () => {
    const asking = setOf({ ...welcome, decision: "REQUIRE_HUMAN_APPROVAL", reason: "somebody reads it first" });
    const mail = counted("Mail.Welcome", { effect: "external_send" });
    await using t = await createTestKernel({ capabilities: [oneStep(mail)], policies: [asking] });
    const waiting = await t.run(intentType);
    expect(waiting.gates[0]?.reasons).toEqual([
      { source: "policy", rule: "mail.welcome", reason: "somebody reads it first" },
    ]);
  });

  it("is told by explain, by replay and by what-if, and changes the version of rules in code", async () => {
    const mail = counted("Mail.Welcome", { effect: "external_send" });
    await using t = await createTestKernel({ capabilities: [oneStep(mail)], policies: [inCode()] });
    const { workflow_id } = await t.run(intentType);
    const { why, chain } = await t.kernel.explain(workflow_id);
    expect(why.filter((line) => line.includes("mail.welcome lifted default.external_send"))).toHaveLength(1);
    expect(chain[0]?.rule?.lifts).toEqual([{ rule: "default.external_send", by: "mail.welcome" }]);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });

    const { lifts: _none, ...plain } = inCode();
    const found = await listOf(t.kernel.whatIf({ policies: [plain] }));
    expect(found).toMatchObject([
      {
        was: { decision: "ALLOW", lifts: [{ rule: "default.external_send", by: "mail.welcome" }] },
        would_be: { decision: "DENY" },
      },
    ]);
    expect(assemblePolicies([inCode()]).version).not.toBe(assemblePolicies([plain]).version);
  });
});

describe("a lift", () => {
  it("never reaches a rule of the host, whatever name that rule bears", async () => {
    const own = (name: string): PolicyRule =>
      definePolicy({ name, stages: ["action"], evaluate: () => ({ decision: "DENY", reason: "our own" }) });
    for (const name of ["ours", "default.external_send"]) {
      const decision = await askMail([inCode(), own(name)]);
      expect(decision).toMatchObject({ decision: "DENY", reason: "our own", decided_by: name });
    }
  });

  it("of one default rule leaves the others as they are", async () => {
    const subject = { operator: "Mail.Welcome", effect: "external_send", tags: ["final_write", "credential_use"] };
    const decision = await evaluatePolicies(assemblePolicies([inCode()]), question({ subject }));
    expect(decision).toMatchObject({
      decision: "DENY",
      policies: ["mail.welcome", "default.final_write", "default.credential_use"],
      lifts: [{ rule: "default.external_send", by: "mail.welcome" }],
    });
  });

  it("brings no authority over effect or operator, and keeps a person that plan or operator asks for", async () => {
    const mail = counted("Mail.Welcome", { effect: "external_send" });
    const asked = counted("Mail.Asked", { effect: "external_send", policyTags: ["human_approval"] });
    const lifting = setOf({ ...welcome, when: { operators: ["Mail.Welcome", "Mail.Asked"] } });
    const capabilities = [
      oneStep(mail),
      oneStep(asked, {}, { intentType: "Mail.Asked" }),
      packageOf([mail], [planStep("s1", mail, { gate: {} })], { intentType: "Mail.Gated" }),
    ];
    const roles = { user: { scopes: ["*"] }, narrow: { scopes: ["intent:submit", "workflow:execute", "effect:read"] } };
    await using t = await createTestKernel({ capabilities, policies: [lifting], roles });
    const narrow = { tenant_id: 1, principal: { type: "user", id: 1, role: "narrow" } };
    expect((await t.run(intentType, {}, narrow)).error?.code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await t.run("Mail.Asked")).state).toBe("waiting_for_user");
    expect((await t.run("Mail.Gated")).state).toBe("waiting_for_user");
    expect([mail.calls.length, asked.calls.length]).toEqual([0, 0]);
  });

  it("does not hold where its rule fails, denies, or is not asked for what it needs to know", async () => {
    const failing = inCode({
      evaluate: () => {
        throw new Error("broken");
      },
    });
    expect(await askMail([failing])).toMatchObject({ decision: "DENY", decided_by: "mail.welcome" });
    expect(await askMail([failing])).not.toHaveProperty("lifts");
    const denying = inCode({ evaluate: () => ({ decision: "DENY", reason: "not today" }) });
    expect(await askMail([denying])).not.toHaveProperty("lifts");
    const masking = inCode({ evaluate: () => ({ decision: "REDACT", redactions: ["to"] }) });
    expect(await askMail([masking])).toMatchObject({ decision: "DENY", decided_by: "mail.welcome" });
    const small = {
      ...{ ...welcome, decision: "REQUIRE_HUMAN_APPROVAL" },
      when: { operators: ["Mail.Welcome"], amounts: [{ path: "sum", below: 5 }] },
    };
    expect(await askMail([setOf(small)])).toMatchObject({ decision: "DENY", decided_by: "default.external_send" });
  });

  it("holds for the payload that its rule judged, and for no other that a transform makes", async () => {
    const toBo = inCode({
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload) === '{"to":"bo"}' ? { decision: "ALLOW", reason: "bo asked for it" } : null,
    });
    const redirect = definePolicy({
      name: "redirect",
      stages: ["action"],
      evaluate: () => ({ decision: "TRANSFORM", reason: "elsewhere", transform: { to: "all" } }),
    });
    expect(await askMail([toBo, redirect])).toMatchObject({
      ...{ decision: "DENY", decided_by: "default.external_send" },
      lifts: [{ rule: "default.external_send", by: "mail.welcome" }],
    });
  });

  it.each([
    ["a rule that is no default rule", { lifts: "ours" }, "lifts"],
    ["no operator", { when: {} }, "when.operators"],
    ["a star", { when: { operators: ["Mail.*"] } }, "when.operators"],
    ["a stage where nothing is lifted", { stages: ["action", "outcome"] }, "stages"],
    ["a denial", { decision: "DENY" }, "decision"],
    ["a transform", { decision: "TRANSFORM", transform: { set: { a: 1 } } }, "decision"],
  ])("of %s is refused as data", async (_what, more, field) => {
    const error = await refusalOf(Promise.resolve().then(() => setOf({ ...welcome, ...more })));
    expect(error.code).toBe("T5_POLICY_INVALID");
    expect((error.detail["problems"] as readonly { field: string }[]).map((one) => one.field)).toContain(field);
  });

  it.each([
    ["a rule that is no default rule", { lifts: "ours" as never }, "lifts"],
    ["a stage where nothing is lifted", { stages: ["action", "gate"] as const }, "stages"],
  ])("of %s is refused in code", async (_what, more, field) => {
    const error = await refusalOf(Promise.resolve().then(() => inCode(more)));
    expect(error.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(error.message).toContain(field);
  });
});

describe("the default rules on external_send", () => {
  it("denies a role without allow_external_send, and the refusal says what to do", async () => {
    const mail = counted("Mail.Welcome", { effect: "external_send" });
    await using t = await createTestKernel({ capabilities: [oneStep(mail)] });
    const { state, error } = await t.run(intentType);
    expect([state, error?.code]).toEqual(["failed", "T5_POLICY_DENIED"]);
    for (const part of ["the role user", "data_policy.allow_external_send", "lift default.external_send"])
      expect(error?.message).toContain(part);
  });

  it("asks a person for a role that has it", async () => {
    const mail = counted("Mail.Welcome", { effect: "external_send" });
    await using t = await createTestKernel({ capabilities: [oneStep(mail)] });
    const admin = { tenant_id: 1, principal: { type: "user", id: 1, role: "admin" } };
    expect((await t.run(intentType, {}, admin)).gates[0]?.reasons[0]?.rule).toBe("default.external_send");
  });
});
