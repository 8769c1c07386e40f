/** Policy sets in a running kernel: the version on every decision, each stage honoured, and nothing let through. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { definePolicySet, type Planner, type Policies } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import {
  counted,
  eventsOf,
  intentType,
  ofType,
  oneStep,
  packageOf,
  planStep,
  refusalOf,
  ruleOf,
} from "../journey/parts.ts";

const setOf = (version: string, rules: readonly object[]) =>
  definePolicySet({
    version,
    rules: rules.map((rule, i) => ({ name: `${version}.${i}`, reason: "as the set says", ...rule })),
  });
const harmless = { stages: ["action"], when: { tags: { any: ["never"] } }, decision: "DENY" };
const rule = (name: string): PolicyRule => ruleOf(["action"], () => null, name);

const decidedOf = async (t: TestKernel, workflowId: string) =>
  ofType(await eventsOf(t, workflowId), "POLICY_DECIDED").map((event) => event.payload);

/** The version on record of a run under these policies. */
async function versionOf(policies: Policies, more: object = {}): Promise<string> {
  await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))], policies, ...more });
  const { workflow_id } = await t.run(intentType);
  const versions = new Set((await decidedOf(t, workflow_id)).map((decided) => decided["policy_version"]));
  expect(versions.size).toBe(1);
  return [...versions][0] as string;
}

describe("a name in a rule", () => {
  it("is text and no regular expression, but for a star at its end", async () => {
    const deny = (operators: readonly string[]) =>
      setOf("1", [{ stages: ["action"], when: { operators }, decision: "DENY" }]);
    const stateUnder = async (operators: readonly string[]): Promise<string> => {
      const capabilities = [oneStep(counted("Notes.Write"))];
      await using t = await createTestKernel({ capabilities, policies: [deny(operators)] });
      return (await t.run(intentType)).state;
    };
    expect(await stateUnder(["^(N+)+$", "Notes.Writ.", "(Notes|Other).*", ".*"])).toBe("completed");
    expect([await stateUnder(["Notes.*"]), await stateUnder(["Notes.Write"])]).toEqual(["failed", "failed"]);
  });
});

describe("the version", () => {
  it("[PLC-09] of the sets, then of the rules in code, then of the default rules, is on every decision", async () => {
    const [a, b] = [setOf("2026-11", [harmless]), setOf("extra-3", [harmless])];
    expect(await versionOf([])).toBe("default-1");
    expect(await versionOf([a])).toBe("2026-11+default-1");
    expect(await versionOf([a, b])).toBe("2026-11+extra-3+default-1");
    expect(await versionOf([a], { defaultPolicies: false })).toBe("2026-11");
    expect(await versionOf([], { defaultPolicies: false })).toBe("none");
    expect(await versionOf([a], { policyVersion: "mine" })).toBe("mine");
    expect(await versionOf([rule("x"), a])).toMatch(/^2026-11\+code-[0-9a-f]{8}\+default-1$/);
  });

  it("of rules in code changes with the list of their names", async () => {
    const versions = [
      await versionOf([rule("x")]),
      await versionOf([rule("y")]),
      await versionOf([rule("x"), rule("y")]),
    ];
    expect(new Set(versions).size).toBe(3);
    expect(await versionOf([rule("x")])).toBe(versions[0]);
  });

  it("is what a gate, and an approval at it, bind to", async () => {
    const ask = { stages: ["action"], decision: "REQUIRE_APPROVAL" };
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      policies: [setOf("2026-11", [ask])],
    });
    const parked = await t.run(intentType);
    await t.approve(parked.workflow_id);
    const done = await t.rest(parked.workflow_id);
    expect([parked.gates[0]?.policy_version, done.state]).toEqual(["2026-11+default-1", "completed"]);
    const [approved] = ofType(await eventsOf(t, parked.workflow_id), "USER_APPROVED");
    expect(approved?.payload["policy_version"]).toBe("2026-11+default-1");
    expect((await decidedOf(t, parked.workflow_id)).map((d) => [d["stage"], d["policy_version"]])).toEqual([
      ["plan", "2026-11+default-1"],
      ["action", "2026-11+default-1"],
      ["gate", "2026-11+default-1"],
    ]);
  });
});

describe("each stage", () => {
  it("[PLC-04] a set denies a plan: nothing of it runs, and its outline is kept with the decision", async () => {
    const write = counted("Notes.Write");
    const denies = { stages: ["plan"], when: { tags: { any: ["forbidden"] } }, decision: "DENY" };
    await using t = await createTestKernel({
      capabilities: [oneStep(write, { policy_tags: ["forbidden"] })],
      policies: [setOf("v", [denies])],
    });
    const state = await t.run(intentType);
    expect(state).toMatchObject({ status: "blocked", error: { code: "T5_POLICY_DENIED" } });
    expect(write.calls).toEqual([]);
    expect((await decidedOf(t, state.workflow_id))[0]).toMatchObject({
      decision: "DENY",
      payload: { steps: [{ step_id: "s1", policy_tags: ["forbidden"] }] },
    });
  });

  it("[PLC-04] a set denies an action: the step's error names the rule and the step", async () => {
    const denies = { name: "no-writes", stages: ["action"], decision: "DENY" };
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      policies: [setOf("v", [denies])],
    });
    const { steps } = await t.run(intentType);
    expect(steps[0]?.error).toMatchObject({ code: "T5_POLICY_DENIED", detail: { step_id: "s1" } });
    expect(steps[0]?.error?.detail["policies"]).toHaveLength(1);
  });

  it("[PLC-05] a plan that needs approval opens a gate before its first steps", async () => {
    const [one, two] = [counted("Notes.Write"), counted("Notes.File")];
    await using t = await createTestKernel({
      capabilities: [packageOf([one, two], [planStep("s1", one), planStep("s2", two, { depends_on: ["s1"] })])],
      policies: [setOf("v", [{ stages: ["plan"], decision: "REQUIRE_APPROVAL" }])],
    });
    const parked = await t.run(intentType);
    expect(parked.gates.map((gate) => gate.gate_id)).toEqual(["gate-s1"]);
    expect([one.calls.length, two.calls.length]).toEqual([0, 0]);
    await t.approve(parked.workflow_id);
    expect((await t.rest(parked.workflow_id)).state).toBe("completed");
  });

  it("[PLC-05] a new plan that rests on what is done already waits for approval as well", async () => {
    const [one, two, three] = [
      counted("Notes.Write"),
      counted("Notes.Fail", { retry: "NONE" }, () => {
        throw new Error("no");
      }),
      counted("Notes.File"),
    ];
    const rounds = [
      [planStep("s1", one), planStep("s2", two, { depends_on: ["s1"] })],
      [planStep("s3", three, { depends_on: ["s1"] })],
    ];
    const planner: Planner = {
      plan: ({ situation }) => ({
        plan: { steps: rounds[situation.round] ?? [], reasoning: "next" },
        usage: { total_cost: 0 },
      }),
    };
    const second = ruleOf(["plan"], ({ subject }) =>
      JSON.stringify(subject.payload).includes("Notes.File") ? { decision: "REQUIRE_APPROVAL", reason: "again" } : null,
    );
    await using t = await createTestKernel({
      capabilities: [packageOf([one, two, three], [])],
      planner,
      policies: [second],
    });
    const parked = await t.run(intentType);
    expect(parked).toMatchObject({ state: "waiting_for_user", gates: [{ gate_id: "gate-s3" }] });
    expect(three.calls).toEqual([]);
  });

  it("[PLC-07] a set masks fields of an outcome before it is recorded", async () => {
    const write = counted("Notes.Write", {}, () => ({ text: "hello", iban: "DE02" }));
    await using t = await createTestKernel({
      capabilities: [oneStep(write, { outcome: "Note" })],
      policies: [setOf("v", [{ stages: ["outcome"], decision: "REDACT", redactions: ["iban"] }])],
    });
    expect((await t.run(intentType)).outcomes[0]?.content).toEqual({ text: "hello", iban: "[redacted]" });
  });

  it("[PLC-04] a set denies who decides at a gate by role, and the gate stays open for others", async () => {
    const denies = {
      stages: ["gate"],
      when: { tags: { any: ["approve"] }, roles: { none: ["admin"] } },
      decision: "DENY",
    };
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"), { gate: { reason: "look" } })],
      policies: [setOf("v", [denies])],
    });
    const { workflow_id } = await t.run(intentType);
    expect((await refusalOf(t.approve(workflow_id))).code).toBe("T5_POLICY_DENIED");
    const admin = { tenant_id: 1, principal: { type: "user", id: 2, role: "admin" }, decision: "approve" } as const;
    expect(await t.kernel.decideGate(workflow_id, admin)).toMatchObject({ status: "resumed" });
    const gates = (await decidedOf(t, workflow_id)).filter((d) => d["stage"] === "gate");
    expect(gates.map((d) => [d["decision"], (d["by"] as { principal: { id: unknown } }).principal.id])).toEqual([
      ["DENY", 1],
      ["ALLOW", 2],
    ]);
  });

  it.each([
    ["outcome", "REQUIRE_APPROVAL"],
    ["plan", "REDACT"],
  ] as const)(
    "[PLC-01] a rule in code that asks for what stage %s cannot honour (%s) denies the run",
    async (stage, decision) => {
      const file = counted("Notes.File");
      const write = counted("Notes.Write");
      await using t = await createTestKernel({
        capabilities: [
          packageOf(
            [write, file],
            [planStep("s1", write, { outcome: "Note" }), planStep("s2", file, { depends_on: ["s1"] })],
          ),
        ],
        policies: [ruleOf([stage], () => ({ decision, reason: "odd", redactions: ["a"] }))],
      });
      expect(await t.run(intentType)).toMatchObject({ status: "blocked", error: { code: "T5_POLICY_DENIED" } });
      expect(file.calls).toEqual([]);
    },
  );

  it("[PLC-01] a decision at a gate that a rule in code cannot have approved first is refused", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"), { gate: { reason: "look" } })],
      policies: [ruleOf(["gate"], () => ({ decision: "REQUIRE_APPROVAL", reason: "odd" }))],
    });
    const { workflow_id } = await t.run(intentType);
    expect((await refusalOf(t.approve(workflow_id))).code).toBe("T5_POLICY_DENIED");
  });

  it("every stage is asked at an ISO instant", async () => {
    const asked: string[] = [];
    const spy = ruleOf(["plan", "action", "outcome", "gate"], ({ now }) => {
      asked.push(now);
      return null;
    });
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"), { outcome: "Note", gate: { reason: "look" } })],
      policies: [spy],
    });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(asked).toHaveLength(4);
    for (const now of asked) expect(new Date(Date.parse(now)).toISOString()).toBe(now);
  });
});

describe("the example of the page about rules", () => {
  const page = readFileSync(new URL("../../src/guide/policies.md", import.meta.url), "utf8");
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];

  it("loads, and uses every field there is", () => {
    const data = parse(yaml) as { readonly rules: readonly { readonly when?: object }[] };
    expect(definePolicySet(data).rules.length).toBe(data.rules.length);
    const fields = new Set(
      data.rules.flatMap(({ when = {}, ...rest }) => [...Object.keys(when), ...Object.keys(rest)]),
    );
    const ofRule = "confirm decision name reason redactions stages transform";
    const ofCondition = "amounts effects intents operators principals risk roles tags tenants times";
    expect([...fields].toSorted()).toEqual(`${ofRule} ${ofCondition}`.split(" ").toSorted());
  });
});
