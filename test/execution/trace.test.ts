// The trace of a request: what a run did, step by step and try by try, folded from its ledger (seed 002 section 14).

import { describe, expect, it } from "vitest";
import { operatorError, RequestTrace, StepTrace } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { flow, intent, oneStep, type SkillCall, skill, step } from "./flow.ts";

const busy = () => operatorError({ code: "BUSY", category: "transient", message: "busy" });
const failing = (times: number) => (call: SkillCall) => {
  if (call.attempt <= times) throw busy();
  return "done";
};

describe("the request trace", () => {
  it("[TRC-01] a completed run has every field and no error", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", failing(1)))] });
    const { workflow_id, plan } = await t.run(intent);
    const trace = await t.kernel.trace(workflow_id);
    expect(RequestTrace.strict().parse(trace)).toEqual(trace);
    expect(trace).toMatchObject({ request_id: workflow_id, plan, llm_calls: [], status: "completed", duration: 2_000 });
    expect(trace.steps).toHaveLength(1);
    expect(trace).not.toHaveProperty("error");
  });

  it("[TRC-01] a failed run has its error", async () => {
    const act = skill("Probe.Act", failing(9), { retry: "NONE" });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], limits: { maxReplans: 0 } });
    const { workflow_id, error } = await t.run(intent);
    const trace = await t.kernel.trace(workflow_id);
    expect(RequestTrace.strict().parse(trace)).toEqual(trace);
    expect(trace).toMatchObject({ status: "failed", duration: 0, error });
    expect(trace.error?.message).toBe("busy");
    for (const field of ["request_id", "plan", "steps", "llm_calls", "status", "duration"] as const) {
      const { [field]: _, ...without } = trace;
      expect(RequestTrace.safeParse(without).success).toBe(false);
    }
  });

  it("[TRC-01] a run that goes on says so, and has no duration yet", async () => {
    const act = skill("Probe.Act", () => "done");
    await using t = await createTestKernel({ capabilities: [oneStep(act, { gate: { reason: "look" } })] });
    const { workflow_id } = await t.run(intent);
    expect(await t.kernel.trace(workflow_id)).toMatchObject({ status: "waiting", duration: null });
  });
});

describe("the step trace", () => {
  it("[TRC-02] two tries, one policy decision and one approval: each list is as long as that", async () => {
    const act = skill("Probe.Act", failing(1));
    const capability = oneStep(act, { params: { p: 1 }, gate: { reason: "look" } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const [traced] = (await t.kernel.trace(workflow_id)).steps;
    expect(StepTrace.strict().parse(traced)).toEqual(traced);
    expect(traced).toMatchObject({
      step_id: "s1",
      skill_name: "Probe.Act",
      input_params: { p: 1 },
      status: "COMPLETED",
      output_data: '"done"',
      attempts: [{ attempt: 1 }, { attempt: 2 }],
      policy_events: [{ stage: "action", decision: "ALLOW" }],
      approval_events: [{ gate_id: "gate-s1", decision: "approve", principal_id: 1 }],
    });
    expect([traced?.attempts.length, traced?.policy_events.length, traced?.approval_events.length]).toEqual([2, 1, 1]);
  });

  it("[TRC-03] a step that is parked, approved, tried again and restarted stands in the trace once", async () => {
    const act = skill("Probe.Act", failing(4), { retry: "TWICE" });
    const steps = [
      step("s1", "Probe.Act", { gate: { reason: "look" } }),
      step("s2", "Probe.Act", { depends_on: ["s1"] }),
    ];
    await using t = await createTestKernel({
      capabilities: [flow([act], steps)],
      retryPolicies: { TWICE: 2 },
      limits: { maxReplans: 0 },
    });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("failed");
    await t.kernel.retry(workflow_id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } });
    await t.rest(workflow_id);
    const { steps: traced } = await t.kernel.trace(workflow_id);
    expect(traced.map((s) => s.step_id)).toEqual(["s1", "s2"]);
    expect(traced[0]?.attempts).toHaveLength(4);
  });

  it("[TRC-04] three tries are three attempts under one step", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", failing(2)))] });
    const { workflow_id } = await t.run(intent);
    const { steps } = await t.kernel.trace(workflow_id);
    expect(steps).toHaveLength(1);
    expect(steps[0]?.attempts.map((a) => [a.attempt, a.outcome])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "succeeded"],
    ]);
  });
});

describe("model calls", () => {
  const used = {
    tokens: { in: 11, out: 31, total: 42 },
    cost: { total: 0.02 },
    trace: { trace_id: "provider-7", trace_type: "chat" },
  };

  it("[TRC-05] an LLM operator's call lists its provider trace, tokens and cost, as its action does", async () => {
    const say = (name: string, kind: "llm" | "skill") =>
      skill(
        name,
        ({ usage }: SkillCall) => {
          usage({ tokens: used.tokens });
          usage({ cost: used.cost, trace: used.trace });
          return "done";
        },
        { kind },
      );
    const steps = [step("s1", "Probe.Model"), step("s2", "Probe.Plain")];
    await using t = await createTestKernel({
      capabilities: [flow([say("Probe.Model", "llm"), say("Probe.Plain", "skill")], steps)],
    });
    const { workflow_id } = await t.run(intent);
    const action = (await t.kernel.actions(workflow_id)).find((a) => a.operator_name === "Probe.Model");
    expect(action).toMatchObject(used);
    const { llm_calls } = await t.kernel.trace(workflow_id);
    expect(llm_calls).toEqual([{ action_id: action?.action_id, operator_name: "Probe.Model", ...used }]);
  });
});
