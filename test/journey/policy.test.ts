/**
 * The policy engine at work (seed 003 section 5.5): what each of the five decisions does to a step, and that every one
 * of them is on record.
 */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { PolicyQuestion, PolicyRule } from "../../src/contract/policy.ts";
import {
  createDataSignal,
  createKernel,
  digest,
  evaluatePolicies,
  operatorError,
  PolicyDecision,
  PolicyStage,
} from "../../src/index.ts";
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
  ruleOf,
} from "./parts.ts";

const stages = ["plan", "action", "outcome", "gate"] as const;
const canonical = ["ALLOW", "DENY", "REQUIRE_HUMAN_APPROVAL", "TRANSFORM", "ALLOW_WITH_REDACTION"] as const;
const auth = {
  tenant_id: 1,
  principal_id: 1,
  principal_type: "user",
  role: "user",
  scopes: [],
  data_policy: { allow_pii: true, allow_external_send: false },
};
const questionAt = (stage: string): PolicyQuestion =>
  ({
    stage,
    subject: { name: "s1", tags: [], payload: { text: "as asked" } },
    auth,
    intent: { constraints: {} },
    context: null,
    now: "2026-01-01T00:00:00.000Z",
  }) as unknown as PolicyQuestion;

const decide = (answer: ReturnType<PolicyRule["evaluate"]>, name?: string): PolicyRule =>
  ruleOf(["action"], () => answer, name);
const decisionsAt = (events: readonly LedgerEvent[], stage: string): LedgerEvent[] =>
  ofType(events, "POLICY_DECIDED").filter((e) => e.payload["stage"] === stage);

async function askPolicy(t: TestKernel, stage: string) {
  const source = moduleRef(4, "test", "ask");
  return t.kernel.ask(5, createDataSignal(questionAt(stage), "PolicyQuestion", source, "cor_test"));
}

describe("evaluate", () => {
  it.each(stages)("[PLC-01, PLC-02] answers with a PolicyDecision at stage %s", async (stage) => {
    await using t = await createTestKernel({ policies: [ruleOf([stage], () => ({ decision: "DENY", reason: "no" }))] });
    const answer = await askPolicy(t, stage);
    const decision = answer.signals[0]?.body["data"];
    expect(PolicyDecision.parse(decision)).toEqual(decision);
    expect(decision).toMatchObject({ decision: "DENY", reason: "no", transform: null, redactions: [] });
  });

  it("[PLC-01] refuses any other stage, and lets nothing through there", async () => {
    await using t = await createTestKernel();
    const answer = await askPolicy(t, "afterwards");
    expect(answer.status).toBe("error");
    expect(answer.error?.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(() => evaluatePolicies({ rules: [], version: "1" }, questionAt("afterwards"))).toThrow(/stage/);
    expect(PolicyStage.options).toEqual(stages);
  });

  it.each(canonical)("[PLC-02] %s carries decision, reason, transform and redactions", async (decision) => {
    const transform = decision === "TRANSFORM" ? { text: "changed" } : null;
    const redactions = decision === "ALLOW_WITH_REDACTION" ? ["text"] : [];
    const rules = [decide({ decision, reason: "because", transform, redactions })];
    const answer = await evaluatePolicies({ rules, version: "7" }, questionAt("action"));
    expect(PolicyDecision.parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({ decision, reason: "because", transform, redactions, policy_version: "7" });
    const { reason: _left, ...rest } = answer;
    expect(PolicyDecision.safeParse(rest).success).toBe(false);
  });

  it.each([
    ...canonical.map((name) => [name, name] as const),
    ["REQUIRE_APPROVAL", "REQUIRE_HUMAN_APPROVAL"] as const,
    ["REDACT", "ALLOW_WITH_REDACTION"] as const,
  ])("[PLC-03] a rule's %s is %s on the event", async (given, recorded) => {
    const transform = given === "TRANSFORM" ? { text: "changed" } : null;
    await using t = await createTestKernel({
      capabilities: [oneStep(counted("Notes.Write"))],
      policies: [decide({ decision: given, transform })],
    });
    const { workflow_id } = await t.run(intentType);
    const [event] = decisionsAt(await eventsOf(t, workflow_id), "action");
    expect(event?.payload["decision"]).toBe(recorded);
  });

  it("[PLC-03] a rule that answers with no such name denies", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({
      capabilities: [oneStep(write)],
      policies: [decide({ decision: "PERHAPS" } as never)],
    });
    expect((await t.run(intentType)).status).toBe("blocked");
    expect(write.calls).toEqual([]);
  });
});

describe("each decision", () => {
  it("[PLC-04] DENY ends the step as policy_denied before any call", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({
      capabilities: [oneStep(write)],
      policies: [decide({ decision: "DENY", reason: "not today" })],
    });
    const state = await t.run(intentType);
    const events = await eventsOf(t, state.workflow_id);
    expect(write.calls).toHaveLength(0);
    expect(ofType(events, "ACTION_STARTED")).toEqual([]);
    const [failed] = ofType(events, "STEP_FAILED");
    expect(failed?.payload).toMatchObject({ category: "policy_denied", blocked: true });
    expect(state.error).toMatchObject({ code: "T5_POLICY_DENIED", message: "not today" });
  });

  it("[PLC-04] ALLOW lets the step make its one call", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({
      capabilities: [oneStep(write)],
      policies: [decide({ decision: "ALLOW" })],
    });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(write.calls).toHaveLength(1);
  });

  it("[PLC-05] REQUIRE_HUMAN_APPROVAL parks the workflow at the step's gate; approved, it runs once", async () => {
    const write = counted("Notes.Write");
    const file = counted("Notes.File");
    await using t = await createTestKernel({
      capabilities: [packageOf([write, file], [planStep("s1", write), planStep("s2", file, { depends_on: ["s1"] })])],
      policies: [
        ruleOf(["action"], ({ subject }) =>
          subject.operator === "Notes.File" ? { decision: "REQUIRE_HUMAN_APPROVAL", reason: "look first" } : null,
        ),
      ],
    });
    const parked = await t.run(intentType);
    expect(parked.state).toBe("waiting_for_user");
    expect(parked.gates).toMatchObject([{ gate_id: "gate-s2", step_id: "s2", status: "open" }]);
    expect([write.calls.length, file.calls.length]).toEqual([1, 0]);
    await t.approve(parked.workflow_id, "gate-s2");
    expect((await t.rest(parked.workflow_id)).state).toBe("completed");
    expect([write.calls.length, file.calls.length]).toEqual([1, 1]);
  });

  it("[PLC-06] TRANSFORM replaces the payload of the call and of the action record's hash", async () => {
    const write = counted("Notes.Write");
    const changed = { text: "calm", to: ["nobody"] };
    await using t = await createTestKernel({
      capabilities: [oneStep(write, { params: { text: "wild" } })],
      policies: [decide({ decision: "TRANSFORM", transform: changed })],
    });
    const { workflow_id } = await t.run(intentType);
    const [action] = await t.kernel.actions(workflow_id);
    expect(write.calls.map((c) => c.input)).toEqual([changed]);
    expect(action).toMatchObject({ input_payload: changed, payload_hash: digest(changed) });
  });

  it("[PLC-06] the transformed payload is also what a second attempt sends", async () => {
    const write = counted("Notes.Write", {}, ({ attempt }) => {
      if (attempt === 1) throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
      return "done";
    });
    await using t = await createTestKernel({
      capabilities: [oneStep(write, { params: { text: "wild" } })],
      policies: [decide({ decision: "TRANSFORM", transform: { text: "calm" } })],
    });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(write.calls.map((c) => c.input)).toEqual([{ text: "calm" }, { text: "calm" }]);
  });

  it("[PLC-07] ALLOW_WITH_REDACTION: operator and all records of its action have only the masked value", async () => {
    const phone = "+43-660-1234567";
    const write = counted("Notes.Write", {}, ({ input, stream }) => {
      stream(JSON.stringify(input));
      return { sent: input };
    });
    await using t = await createTestKernel({
      capabilities: [
        packageOf([write], [], {
          plan: ({ input }) => ({
            reasoning: "one step",
            steps: [planStep("s1", write, { params: { body: input as Record<string, never> } })],
          }),
        }),
      ],
      policies: [decide({ decision: "ALLOW_WITH_REDACTION", redactions: ["body.phone"] })],
    });
    const { workflow_id } = await t.run(intentType, { phone, kept: "rain" });
    const masked = { body: { phone: "[redacted]", kept: "rain" } };
    expect(write.calls.map((c) => c.input)).toEqual([masked]);
    const [action] = await t.kernel.actions(workflow_id);
    expect(action).toMatchObject({ input_payload: masked, payload_hash: digest(masked) });
    const told = [
      action,
      (await eventsOf(t, workflow_id)).filter((e) => e.step_id === "s1"),
      (await t.kernel.trace(workflow_id)).steps,
      await listOf(t.kernel.progress(workflow_id, { live: false })),
      await listOf(t.kernel.assistant(workflow_id, { live: false })),
      t.logged,
    ].map((told) => JSON.stringify(told));
    for (const text of told) expect(text).not.toContain(phone);
    expect(told[4]).toContain("rain");
  });
});

describe("the record", () => {
  const counts = (count: { n: number }, name: string): PolicyRule =>
    ruleOf(
      stages,
      () => {
        count.n += 1;
        return { decision: "ALLOW", reason: "counted" };
      },
      name,
    );

  it("[PLC-09] each evaluation, ALLOW included, is one event with stage, decision, reason and its rules", async () => {
    const write = counted("Notes.Write");
    const file = counted("Notes.File");
    const count = { n: 0 };
    await using t = await createTestKernel({
      capabilities: [
        packageOf(
          [write, file],
          [
            planStep("s1", write, { outcome: "Note", params: { text: "wet" } }),
            planStep("s2", file, { depends_on: ["s1"], gate: { reason: "look" } }),
          ],
        ),
      ],
      policies: [counts(count, "counting")],
    });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const decided = ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED");
    expect(decided).toHaveLength(count.n);
    expect(new Set(decided.map((e) => e.payload["stage"]))).toEqual(new Set(stages));
    for (const { payload } of decided)
      expect(payload).toMatchObject({ decision: "ALLOW", reason: "counted", policies: ["counting"] });
  });

  it("[PLC-11] a plan of two steps: one decision on the plan, and one on each action", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({
      capabilities: [packageOf([write], [planStep("s1", write), planStep("s2", write)])],
    });
    const { workflow_id } = await t.run(intentType);
    const events = await eventsOf(t, workflow_id);
    expect(decisionsAt(events, "plan")).toHaveLength(1);
    expect(new Set(decisionsAt(events, "action").map((e) => e.step_id))).toEqual(new Set(["s1", "s2"]));
    const at = (type: string): number => events.findIndex((e) => e.event_type === type);
    expect(at("POLICY_DECIDED")).toBeLessThan(at("STEP_STARTED"));
  });
});

describe("rules that cannot be trusted", () => {
  it("[PLC-01] no rule is asked at a stage it does not name", async () => {
    const asked: string[] = [];
    const rule = ruleOf(["outcome"], ({ stage }) => {
      asked.push(stage);
      return null;
    });
    const write = counted("Notes.Write");
    await using t = await createTestKernel({ capabilities: [oneStep(write, { outcome: "Note" })], policies: [rule] });
    await t.run(intentType);
    expect(asked).toEqual(["outcome"]);
    expect((await refusalOf(createKernel({ limits: { policyTimeoutMs: -1 } }))).category).toBe("input");
  });
});
