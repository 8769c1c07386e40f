/**
 * What a rule transformed or masked is judged again by all rules, in bounded rounds, before anything of it runs or is
 * shown.
 */
import { describe, expect, it } from "vitest";
import type { PolicyDecision, PolicyRule } from "../../src/contract/policy.ts";
import { definePolicySet, evaluatePolicies } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, listOf, ofType, oneStep, refusalOf, ruleOf } from "../journey/parts.ts";
import { question } from "./questions.ts";

type Payload = Record<string, unknown>;

/** Transforms an amount; the rule does not match where the amount stays as it is. */
const amounts = (name: string, of: (amount: number) => number, stages: PolicyRule["stages"] = ["action"]): PolicyRule =>
  ruleOf(
    stages,
    ({ subject: { payload } }) => {
      const { amount } = payload as { readonly amount: number };
      if (of(amount) === amount) return null;
      return { decision: "TRANSFORM", reason: name, transform: { ...(payload as object), amount: of(amount) } };
    },
    name,
  );
const inCents = amounts("in cents", (amount) => (amount < 100 ? amount * 100 : amount));
const above5000 = (decision: "DENY" | "REQUIRE_HUMAN_APPROVAL", stages: PolicyRule["stages"] = ["action"]) =>
  ruleOf(
    stages,
    ({ subject: { payload } }) =>
      ((payload as Payload)["amount"] as number) > 5000 ? { decision, reason: "above 5000" } : null,
    "large",
  );

const ask = (rules: readonly PolicyRule[], payload: Payload, maxRounds?: number): PolicyDecision =>
  evaluatePolicies(
    { rules, version: "v", ...(maxRounds === undefined ? {} : { maxRounds }) },
    question({ subject: { payload } as never }),
  ) as PolicyDecision;

const decisionsOf = async (t: TestKernel, workflow_id: string) =>
  ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED").filter(({ payload }) => payload["stage"] !== "plan");

describe("a payload that a rule transformed", () => {
  it.each([
    ["first", [above5000("REQUIRE_HUMAN_APPROVAL"), inCents]],
    ["last", [inCents, above5000("REQUIRE_HUMAN_APPROVAL")]],
  ])("needs a person where a rule that stands %s asks for one above 5000 and 60 became 6000", (_where, rules) => {
    expect(ask(rules, { amount: 60 })).toMatchObject({
      decision: "REQUIRE_HUMAN_APPROVAL",
      reason: "above 5000",
      decided_by: "large",
      transform: { amount: 6000 },
    });
  });

  it("is denied by a rule that denies what was made of it, with all rules of all rounds named", () => {
    const decision = ask([inCents, above5000("DENY")], { amount: 60 });
    expect(decision).toMatchObject({ decision: "DENY", transform: null, decided_by: "large" });
    expect(decision.policies).toEqual(["in cents", "large"]);
    expect(decision.reason).toBe("above 5000 (of the payload as changed by in cents)");
  });

  it("keeps a demand for a person that a rule made on the payload as it was requested", () => {
    const cap = amounts("cap", (amount) => Math.min(amount, 100));
    const decision = ask([cap, above5000("REQUIRE_HUMAN_APPROVAL")], { amount: 9000 });
    expect(decision).toMatchObject({ decision: "REQUIRE_HUMAN_APPROVAL", transform: { amount: 100 } });
  });

  it("is decided on at once where the rules leave it as it is", () => {
    const decision = ask([inCents], { amount: 20 });
    expect(decision).toMatchObject({ decision: "TRANSFORM", transform: { amount: 2000 }, policies: ["in cents"] });
    expect(decision).not.toHaveProperty("changes");
  });

  it("names the changes in order, where one rule's result is changed by another", () => {
    const round = amounts("round up", (amount) => (amount >= 100 ? Math.ceil(amount / 500) * 500 : amount));
    const decision = ask([round, inCents], { amount: 61 });
    expect(decision).toMatchObject({ decision: "TRANSFORM", decided_by: "in cents", transform: { amount: 6500 } });
    expect(decision.changes).toEqual([
      { policies: ["in cents"], payload: { amount: 6100 } },
      { policies: ["round up"], payload: { amount: 6500 } },
    ]);
  });

  it("is denied with a code of its own where the rules do not settle, after as many changes as are allowed", () => {
    const grow = amounts("grow", (amount) => amount + 1);
    expect(ask([grow], { amount: 1 }, 3)).toMatchObject({
      decision: "DENY",
      code: "T5_POLICY_UNSETTLED",
      decided_by: "grow",
      transform: null,
    });
    const untilFour = amounts("grow", (amount) => Math.min(4, amount + 1));
    expect(ask([untilFour], { amount: 1 }, 3)).toMatchObject({ decision: "TRANSFORM", transform: { amount: 4 } });
    expect(ask([untilFour], { amount: 0 }, 3)).toMatchObject({ code: "T5_POLICY_UNSETTLED" });
  });

  it("is judged again by rules that answer late, and by rules as data", async () => {
    const set = definePolicySet({
      version: "1",
      rules: [
        { name: "fix", stages: ["action"], decision: "TRANSFORM", transform: { set: { amount: 6000 } }, reason: "fix" },
        {
          name: "large",
          stages: ["action"],
          when: { amounts: [{ path: "amount", above: 5000 }] },
          decision: "REQUIRE_HUMAN_APPROVAL",
          reason: "above 5000",
        },
      ],
    });
    const late = ruleOf(["action"], () => Promise.resolve(null), "late");
    const engine = { rules: [...set.rules, late], version: "v" };
    const decision = await evaluatePolicies(engine, question({ subject: { payload: { amount: 60 } } }));
    expect(decision).toMatchObject({ decision: "REQUIRE_HUMAN_APPROVAL", transform: { amount: 6000 } });
  });
});

describe("a payload that a rule masked", () => {
  const mask = ruleOf(["action"], () => ({ decision: "REDACT", redactions: ["name"] }), "mask");

  it("is judged again as it is masked", () => {
    const named = ruleOf(
      ["action"],
      ({ subject: { payload } }) =>
        (payload as Payload)["name"] === "[redacted]" ? { decision: "DENY", reason: "nobody is named" } : null,
      "named",
    );
    expect(ask([mask, named], { name: "Ann" })).toMatchObject({ decision: "DENY", policies: ["mask", "named"] });
  });

  it("stays masked where a later transform would bring the masked text back, and no change on record tells it", () => {
    const restore = ruleOf(
      ["action"],
      ({ subject: { payload } }) =>
        (payload as Payload)["name"] === "[redacted]" && (payload as Payload)["by"] === undefined
          ? { decision: "TRANSFORM", transform: { name: "Ann", by: 1 } }
          : null,
      "restore",
    );
    const decision = ask([mask, restore], { name: "Ann" });
    expect(decision.transform).toEqual({ name: "[redacted]", by: 1 });
    expect(JSON.stringify(decision)).not.toContain("Ann");
  });

  it("is masked in the changes on record too that were made before a rule masked it", () => {
    const look = ruleOf(["action"], () => ({ decision: "TRANSFORM", transform: { name: "Ann", by: 1 } }), "look");
    const maskBy = ruleOf(
      ["action"],
      ({ subject: { payload } }) =>
        (payload as Payload)["by"] === 1 ? { decision: "REDACT", redactions: ["name"] } : null,
      "mask",
    );
    const lookOnce: PolicyRule = {
      ...look,
      evaluate: (asked) => ((asked.subject.payload as Payload)["by"] === 1 ? null : look.evaluate(asked)),
    };
    const decision = ask([lookOnce, maskBy], { by: 0 });
    expect(decision.changes).toHaveLength(2);
    expect(decision.transform).toEqual({ name: "[redacted]", by: 1 });
    expect(JSON.stringify(decision)).not.toContain("Ann");
  });
});

describe("in a workflow", () => {
  const rules = [inCents, above5000("REQUIRE_HUMAN_APPROVAL")];
  const pays = (amount: number, more: object = {}) => {
    const preview = ({ input }: { readonly input: unknown }) => ({ preview: JSON.stringify(input), diff: null });
    const pay = counted("Pay.Out", { effect: "write_draft", preview });
    return { pay, capability: oneStep(pay, { params: { amount }, ...more }) };
  };

  it("the gate, its preview, the approval and the call rest on the payload that all rules have judged", async () => {
    const { pay, capability } = pays(60);
    await using t = await createTestKernel({ capabilities: [capability], policies: rules });
    const { workflow_id } = await t.run(intentType);
    const [gate] = (await t.kernel.workflow(workflow_id)).gates;
    expect([gate?.status, gate?.payload, gate?.reasons[0]?.reason]).toEqual(["open", { amount: 6000 }, "above 5000"]);
    expect(gate?.preview).toContain("6000");
    expect(pay.calls).toEqual([]);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(pay.calls.map(({ input }) => input)).toEqual([{ amount: 6000 }]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("an edit that a rule transforms is judged again too", async () => {
    const { pay, capability } = pays(200, { gate: { reason: "look" } });
    const ten = above5000("DENY");
    await using t = await createTestKernel({ capabilities: [capability], policies: [inCents, ten] });
    const { workflow_id } = await t.run(intentType);
    const ann = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const decide = t.kernel.decideGate(workflow_id, { ...ann, decision: "approve", payload: { edit: { amount: 60 } } });
    expect((await refusalOf(decide)).code).toBe("T5_POLICY_DENIED");
    expect(pay.calls).toEqual([]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("rules that never settle deny with T5_POLICY_UNSETTLED at the kernel's limit, and nothing is called", async () => {
    const { pay, capability } = pays(1);
    let judged = 0;
    const grow = ruleOf(
      ["action"],
      ({ subject: { payload } }) => {
        judged += 1;
        const { amount } = payload as { readonly amount: number };
        return { decision: "TRANSFORM", transform: { amount: amount + 1 } };
      },
      "grow",
    );
    const limits = { maxPolicyRounds: 2 };
    await using t = await createTestKernel({ capabilities: [capability], policies: [grow], limits });
    const { workflow_id } = await t.run(intentType);
    const { state, error, status } = await t.kernel.workflow(workflow_id);
    expect([state, status, error?.code, judged]).toEqual(["failed", "blocked", "T5_POLICY_UNSETTLED", 3]);
    expect(pay.calls).toEqual([]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("an outcome that a rule transformed is judged again before it is recorded", async () => {
    const write = counted("Notes.Write", {}, () => ({ amount: 60 }));
    const at = ["outcome"] as const;
    const policies = [
      amounts("in cents", (amount) => (amount < 100 ? amount * 100 : amount), at),
      above5000("DENY", at),
    ];
    await using t = await createTestKernel({ capabilities: [oneStep(write, { outcome: "Note" })], policies });
    const { workflow_id } = await t.run(intentType);
    const { steps } = await t.kernel.workflow(workflow_id);
    expect(steps[0]).toMatchObject({ state: "failed", error: { code: "T5_POLICY_DENIED" } });
    expect(ofType(await eventsOf(t, workflow_id), "OUTCOME_DRAFTED")).toEqual([]);
  });

  it("one event tells the decision of all rounds, and explain shows the changes in order", async () => {
    const { capability } = pays(61);
    const round = amounts("round up", (amount) => (amount >= 100 ? Math.ceil(amount / 500) * 500 : amount));
    await using t = await createTestKernel({ capabilities: [capability], policies: [round, ...rules] });
    const { workflow_id } = await t.run(intentType);
    const decided = await decisionsOf(t, workflow_id);
    expect(decided.map(({ payload }) => payload)).toMatchObject([
      {
        decision: "REQUIRE_HUMAN_APPROVAL",
        policies: ["in cents", "round up", "large"],
        transform: { amount: 6500 },
        changes: [
          { policies: ["in cents"], payload: { amount: 6100 } },
          { policies: ["round up"], payload: { amount: 6500 } },
        ],
      },
    ]);
    expect(JSON.stringify(await t.kernel.explain(workflow_id))).toContain("after changes by 1. in cents, 2. round up");
  });

  it("what-if judges in rounds too", async () => {
    const { capability } = pays(60);
    await using t = await createTestKernel({ capabilities: [capability], policies: [inCents] });
    const { workflow_id } = await t.run(intentType);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
    const same = await listOf(t.kernel.whatIf({ policies: [inCents] }));
    expect(same).toEqual([]);
    const found = await listOf(t.kernel.whatIf({ policies: rules }));
    expect(found.map(({ would_be }) => would_be?.decision)).toEqual(["REQUIRE_HUMAN_APPROVAL"]);
  });
});
