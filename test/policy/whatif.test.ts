/** What if: another policy set over a past, and exactly the decisions that would have been others. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PolicyQuestion, PolicyRule } from "../../src/contract/policy.ts";
import { definePolicy, definePolicySet } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, oneStep, refusalOf } from "../journey/parts.ts";
import { compareWhatIf } from "./many-workflows.ts";
import { askPast, baseSet, decisionsOf, makePast, olderLedger, type Past } from "./past.ts";

let past: Past;
const ledger = memoryLedger();
beforeAll(async () => {
  past = await makePast(ledger);
});
afterAll(() => past.t.kernel.stop());

const strict = (...rules: readonly object[]) =>
  definePolicySet({
    version: "strict",
    rules: rules.map((rule, i) => ({
      name: `strict.${i}`,
      stages: ["action"],
      decision: "DENY",
      reason: "strict",
      ...rule,
    })),
  });
const under = (...rules: readonly object[]) => askPast(past.t, { policies: [strict(...rules), baseSet] });
const told = ({ findings }: { readonly findings: Awaited<ReturnType<typeof under>>["findings"] }) =>
  findings.map(({ workflow_id, stage, step_id, was, would_be }) => [
    Object.entries(past.of).find(([, id]) => id === workflow_id)?.[0],
    stage,
    step_id,
    was.decision,
    would_be?.decision,
  ]);

describe("the same set", () => {
  it("[PLC-09] gives the same decision everywhere: each question is put again as it was", async () => {
    const { findings, report } = await askPast(past.t, { policies: [baseSet], names: true });
    expect(findings).toEqual([]);
    const decided = await decisionsOf(past.t);
    expect(report).toEqual({
      policy_version: "base-1+default-1",
      workflows: Object.keys(past.of).length,
      decisions: decided.length,
      differing: 0,
      unknown: 0,
      changes: {},
    });
    expect(new Set(decided.map(({ decided: { stage, decision } }) => `${stage} ${decision}`))).toEqual(
      new Set([
        "plan ALLOW",
        "plan DENY",
        "action ALLOW",
        "action DENY",
        "action REQUIRE_HUMAN_APPROVAL",
        "outcome ALLOW",
        "outcome TRANSFORM",
        "gate ALLOW",
        "gate DENY",
      ]),
    );
  });

  it("sees what a rule saw: subject, caller, intent, context and instant of every question", async () => {
    const spied = (seen: PolicyQuestion[]): PolicyRule =>
      definePolicy({
        name: "spy",
        stages: ["plan", "action", "outcome", "gate"],
        evaluate(question) {
          seen.push(structuredClone(question));
          return null;
        },
      });
    const [live, again]: [PolicyQuestion[], PolicyQuestion[]] = [[], []];
    await using t = await createTestKernel({
      capabilities: [
        oneStep(counted("Notes.Write"), { outcome: "Note", params: { a: { b: [1] } }, gate: { reason: "look" } }),
      ],
      policies: [spied(live)],
    });
    const { workflow_id } = await t.run(intentType, { x: 1 });
    await t.approve(workflow_id, "gate-s1", { edit: { a: 2 } });
    await t.rest(workflow_id);
    expect((await askPast(t, { policies: [spied(again)] })).report).toMatchObject({ differing: 0, unknown: 0 });
    expect(live.map(({ stage }) => stage)).toEqual(["plan", "action", "gate", "action", "gate", "outcome"]);
    expect(again).toEqual(live);
  });
});

it("a rule sees past questions frozen, as it saw them when they were asked", async () => {
  const grasping = definePolicy({
    name: "grasping",
    stages: ["plan", "action", "outcome", "gate"],
    evaluate(question) {
      (question.intent.constraints as Record<string, unknown>)["mine"] = true;
      return null;
    },
  });
  const { findings } = await askPast(past.t, { policies: [grasping, baseSet] });
  expect(findings.length).toBeGreaterThan(0);
  for (const { would_be } of findings) expect(would_be).toMatchObject({ decision: "DENY", decided_by: "grasping" });
});

describe("another set", () => {
  it("lists the actions that a stricter rule denies, and no others", async () => {
    const found = await under({ when: { operators: ["Pay.*"], amounts: [{ path: "sum", above: 65 }] } });
    expect(told(found).toSorted()).toEqual(
      [
        ["capped", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        // Policy is asked again at the vote.
        ["capped", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        ["edited", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        ["edited", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        ["refused", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        ["refused", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
        ["early", "action", "s1", "REQUIRE_HUMAN_APPROVAL", "DENY"],
      ].toSorted(),
    );
    expect(found.report).toMatchObject({
      policy_version: "strict+base-1+default-1",
      differing: 7,
      unknown: 0,
      changes: { "REQUIRE_HUMAN_APPROVAL → DENY": 7 },
    });
    for (const finding of found.findings)
      expect(finding).toMatchObject({
        kind: "differs",
        was: { policy_version: "base-1+default-1" },
        would_be: {
          reason: "strict",
          policy_version: "strict+base-1+default-1",
          policies: expect.arrayContaining(["strict.0"]),
        },
        reason: expect.stringMatching(/^DENY in place of REQUIRE_HUMAN_APPROVAL.*: strict$/),
      });
  });

  it("asks plans, outcomes and people's decisions again as well", async () => {
    expect(
      told(
        await under({ stages: ["plan"], decision: "REQUIRE_APPROVAL", when: { tags: { any: ["pii", "unplanned"] } } }),
      ),
    ).toEqual([["masked", "plan", null, "ALLOW", "REQUIRE_HUMAN_APPROVAL"]]);
    expect(told(await under({ stages: ["outcome"], when: { tags: { none: ["loud"] } } }))).toEqual([
      ["applied", "outcome", "w", "ALLOW", "DENY"],
      ["applied", "outcome", "p", "ALLOW", "DENY"],
    ]);
    expect(told(await under({ stages: ["gate"], when: { tags: { any: ["reject"] } } }))).toEqual([
      ["chained", "gate", "s2", "ALLOW", "DENY"],
    ]);
    const early = {
      stages: ["gate"],
      when: { amounts: [{ path: "sum", at_least: 90, at_most: 90 }], operators: ["Pay.*"] },
    };
    expect(told(await under(early))).toEqual([["early", "gate", "s1", "ALLOW", "DENY"]]);
  });

  it("tells another transform and other redactions, and other rules where asked", async () => {
    const later = definePolicySet({
      version: "later",
      rules: [
        {
          name: "cap",
          stages: ["action"],
          when: { operators: ["Pay.*"], amounts: [{ path: "sum", above: 500 }] },
          decision: "TRANSFORM",
          transform: { set: { sum: 400 } },
          reason: "400",
        },
        {
          name: "hide",
          stages: ["action"],
          when: { tags: { any: ["pii"] } },
          decision: "REDACT",
          redactions: ["iban", "sum"],
          reason: "more",
        },
      ],
    });
    const { findings, report } = await askPast(past.t, { policies: [later] });
    const kinds = findings.map(({ reason }) => reason.split(":")[0]);
    expect(kinds.toSorted()).toEqual([
      "ALLOW in place of DENY",
      "ALLOW in place of DENY",
      "ALLOW in place of TRANSFORM, another transform",
      "REQUIRE_HUMAN_APPROVAL in place of DENY",
      "another transform",
      "another transform",
      "another transform, other redactions",
      "another transform, other redactions",
    ]);
    expect(report.differing).toBe(kinds.length);
    const names = await askPast(past.t, { policies: [later], names: true });
    expect(names.report.differing).toBeGreaterThanOrEqual(report.differing);
  });

  it("leaves the default rules out where asked", async () => {
    const { report } = await askPast(past.t, { policies: [baseSet], defaultPolicies: false });
    expect(report.policy_version).toBe("base-1");
    expect(Object.keys(report.changes).every((change) => change.startsWith("REQUIRE_HUMAN_APPROVAL → "))).toBe(true);
    expect(report.differing).toBeGreaterThan(5);
  });

  it("a rule that throws denies in the past too", async () => {
    const broken = definePolicy({
      name: "broken",
      stages: ["plan"],
      evaluate: () => {
        throw new Error("broken");
      },
    });
    const { report } = await askPast(past.t, { policies: [broken, baseSet] });
    expect(report.changes).toEqual({ "ALLOW → DENY": Object.keys(past.of).length - 1 });
  });
});

describe("the scope", () => {
  it("is a time, an intent type, a workflow", async () => {
    const all = (await askPast(past.t, { policies: [baseSet] })).report.decisions;
    const times = (await decisionsOf(past.t)).map(({ timestamp }) => timestamp).toSorted();
    const since = times[Math.floor(times.length / 2)] as string;
    const later = (await askPast(past.t, { policies: [baseSet], since })).report.decisions;
    const earlier = (await askPast(past.t, { policies: [baseSet], until: since })).report.decisions;
    expect(later).toBe(times.filter((at) => at >= since).length);
    expect([later + earlier, later > 0, earlier > 0]).toEqual([all, true, true]);
    const one = await askPast(past.t, { policies: [strict({})], workflow_id: past.of["denied"] as string });
    expect([one.report.workflows, one.report.decisions]).toEqual([1, 2]);
    expect((await askPast(past.t, { policies: [], intent_type: "Other" })).report.workflows).toBe(0);
  });

  it("is the caller's own tenant, and only who may read outcomes asks", async () => {
    const mine = await askPast(past.t, { policies: [baseSet] }, testCaller);
    expect(mine.report.workflows).toBe(Object.keys(past.of).length);
    const other = await askPast(past.t, { policies: [baseSet] }, { ...testCaller, tenant_id: 2 as 1 });
    expect(other.report.workflows).toBe(0);
    const nobody = { ...testCaller, principal: { type: "user", id: 1, role: "nobody" } };
    await expect(askPast(past.t, { policies: [] }, nobody as typeof testCaller)).rejects.toThrow(/T5_/);
  });

  it.each([
    ["an instant that is none", { policies: [], since: "yesterday" }],
    ["policies that are none", { policies: [{ name: "x" } as never] }],
    ["no policies at all", {} as never],
    ["policies that are no list", { policies: { rules: [] } as never }],
  ])("with %s is refused", async (_name, asked) => {
    expect((await refusalOf(askPast(past.t, asked))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

describe("the ledger", () => {
  it("of an older kernel is asked about what it holds: not the decider, nor policy's view of an edit", async () => {
    await using t = await createTestKernel({ ledger: await olderLedger(ledger), capabilities: [past.capability] });
    const { findings, report } = await askPast(t, { policies: [baseSet] });
    expect(report).toMatchObject({ differing: 0, decisions: (await decisionsOf(past.t)).length });
    expect(report.unknown).toBe(findings.length);
    const reasons = findings.map(({ stage, reason }) => `${stage}: ${reason}`);
    expect(new Set(reasons)).toEqual(
      new Set([
        "plan: the plan that was judged is not in the ledger",
        "action: the payload that was judged is not in the ledger",
        "gate: the ledger does not say who decided",
      ]),
    );
    // The decision that was kept early carried who gave it.
    expect(findings.some(({ workflow_id }) => workflow_id === past.of["early"])).toBe(false);
  });

  it("of an older kernel does not name an operator's effect, so the operator is needed to tell", async () => {
    await using t = await createTestKernel({ ledger: await olderLedger(ledger) });
    const { findings } = await askPast(t, { policies: [baseSet], workflow_id: past.of["plain"] as string });
    expect(findings.map(({ stage, reason }) => `${stage}: ${reason}`)).toEqual([
      "gate: the ledger does not say who decided",
    ]);
    const denied = await askPast(t, { policies: [baseSet], workflow_id: past.of["denied"] as string });
    expect(denied.findings).toMatchObject([
      { stage: "action", kind: "unknown", reason: expect.stringContaining("what Pay.Send may do outside") },
    ]);
  });

  it("is not appended to", async () => {
    const before = await ledger.position();
    await under({});
    expect(await ledger.position()).toBe(before);
  });

  it("that lacks what a question needs says so, decision by decision", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"), { params: { iban: "none" }, gate: { reason: "look" } })],
      policies: [
        definePolicy({
          name: "mask",
          stages: ["action"],
          evaluate: () => ({ decision: "REDACT", redactions: ["iban"] }),
        }),
      ],
    });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id, "gate-s1", { edit: { iban: "DE02", by: "Ann" } });
    await t.rest(workflow_id);
    expect(JSON.stringify(await eventsOf(t, workflow_id))).not.toContain("DE02");
    const { findings, report } = await askPast(t, { policies: [], defaultPolicies: false });
    expect(report).toMatchObject({
      decisions: 6,
      differing: 2,
      unknown: 1,
      changes: { "ALLOW_WITH_REDACTION → ALLOW": 2 },
    });
    expect(findings[1]).toMatchObject({
      kind: "unknown",
      stage: "action",
      would_be: null,
      reason: expect.stringContaining("not kept"),
    });
  });
});

describe("many workflows", () => {
  it("a stricter set differs exactly where direct evaluation of every question does", async () => {
    const { told, direct, report } = await compareWhatIf({ workflows: 210, ledger: memoryLedger(), now: () => 0 });
    expect(told).toEqual(direct);
    // 30 plans barred, 30 outcomes masked, and each order above 800.
    const large = Array.from({ length: 210 }, (_, i) => (i * 37) % 1000).filter((sum) => sum > 800).length;
    expect(report).toMatchObject({
      workflows: 210,
      decisions: 210 * 4,
      unknown: 0,
      differing: 60 + large,
      changes: { "ALLOW → DENY": 30, "ALLOW → ALLOW_WITH_REDACTION": 30 },
    });
  });
});
