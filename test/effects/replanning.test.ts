/** Replanning: when the planner is asked again, what it may count on, and what is run of what it then says. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { definePolicy, type Planner } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { type Counted, count, counted, intent, payloads, step, story } from "../gates/story.ts";

type Question = Parameters<Planner["plan"]>[0];

/** A planner that gives one plan a round (the last one for all further rounds) and keeps what it was asked. */
function planner(rounds: readonly (readonly PlanStepDraft[])[], cost = 0) {
  const asked: Question[] = [];
  const plan: Planner["plan"] = async (question) => {
    asked.push(question);
    const steps = rounds[Math.min(asked.length, rounds.length) - 1] ?? [];
    return { plan: { reasoning: `round ${asked.length - 1}`, steps: [...steps] }, usage: { total_cost: cost } };
  };
  return { asked, planner: { plan } };
}

const good = () => counted("Note.Good", { estimatedCost: 1 }, ({ context }) => ({ from: context.step_id }));
const bad = () =>
  counted("Note.Bad", {}, () => {
    throw new Error("no");
  });
const ran = ({ calls }: Counted): readonly string[] => calls.map((c) => c.context.step_id);

describe("the planner is asked again", () => {
  it("[RPL-01] not when nothing failed", async () => {
    const ok = good();
    const { asked, planner: port } = planner([[step("s1", ok)]]);
    await using t = await createTestKernel({ capabilities: [story([ok], [])], planner: port });
    expect((await t.run(intent)).state).toBe("completed");
    expect(asked).toHaveLength(1);
  });

  it("[RPL-01] when a step failed and rounds are left, once for the round, and is told what happened", async () => {
    const [ok, no] = [good(), bad()];
    const { asked, planner: port } = planner([
      [step("s1", ok), step("s2", no, { depends_on: ["s1"] })],
      [step("s3", ok)],
    ]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    const done = await t.run(intent);
    expect([done.state, asked.length]).toEqual(["completed", 2]);
    expect(asked[1]?.situation).toMatchObject({
      round: 1,
      completed: [{ step_id: "s1", output: { from: "s1" } }],
      failed: [{ step_id: "s2", message: expect.stringContaining("no") }],
    });
    expect((await payloads(t, done.workflow_id, "PLAN_CREATED")).map((p) => p.cause)).toEqual(["submit", "replan"]);
  });

  it("[RPL-01] not when a step was only blocked", async () => {
    const ok = good();
    const { asked, planner: port } = planner([[step("s1", ok)], [step("s2", ok)]]);
    const rule = definePolicy({
      name: "no",
      stages: ["action"],
      evaluate: ({ subject }) => (subject.name === "s1" ? { decision: "DENY", reason: "no" } : null),
    });
    await using t = await createTestKernel({ capabilities: [story([ok], [])], planner: port, policies: [rule] });
    const end = await t.run(intent);
    expect([end.state, end.response.status, asked.length]).toEqual(["failed", "blocked", 1]);
    expect(ok.calls).toHaveLength(0);
  });

  it.each([
    ["refused by its schema", {}, { outcomes: { Sent: z.object({ no: z.never() }) } }],
    ["refused by policy", {}, {}],
    ["no way on", { data: null, output_text: "no further", status: "BLOCKED" }, {}],
  ])(
    "[RPL-01] not when what was done gave an outcome that is %s, though another step failed",
    async (how, given, extra) => {
      const [send, no] = [counted("Note.Send", { effect: "final_write" }, () => given), bad()];
      const { asked, planner: port } = planner([[step("s1", send, { outcome: "Sent" }), step("s2", no)]]);
      const rule = definePolicy({
        name: "no",
        stages: ["outcome"],
        evaluate: () => (how === "refused by policy" ? { decision: "DENY", reason: "no" } : null),
      });
      const capability = story([send, no], [], { outcomes: { Sent: z.unknown() }, ...extra });
      const options = { capabilities: [capability], planner: port, policies: [rule], defaultPolicies: false };
      await using t = await createTestKernel(options);
      const end = await t.run(intent);
      expect([end.state, send.calls.length, asked.length]).toEqual(["failed", 1, 1]);
    },
  );

  it("[RPL-01] not when no round is left", async () => {
    const no = bad();
    const { asked, planner: port } = planner([[step("s1", no)]]);
    const limits = { maxReplans: 0 };
    await using t = await createTestKernel({ capabilities: [story([no], [])], planner: port, limits });
    expect((await t.run(intent)).state).toBe("failed");
    expect(asked).toHaveLength(1);
  });

  it("[RPL-02] at most twice by default", async () => {
    const no = bad();
    const { asked, planner: port } = planner([[step("s1", no)]]);
    await using t = await createTestKernel({ capabilities: [story([no], [])], planner: port });
    const end = await t.run(intent);
    expect(end.state).toBe("failed");
    expect(asked.map((q) => q.situation.round)).toEqual([0, 1, 2]);
    expect(count(await t.types(end.workflow_id), "WORKFLOW_FAILED")).toBe(1);
  });

  it("[RPL-07] not when the budget is spent: the run ends as blocked", async () => {
    const [ok, no] = [good(), bad()];
    const { asked, planner: port } = planner([[step("s1", ok), step("s2", no)], [step("s3", ok)]]);
    const budgets = { maxCost: 1 };
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port, budgets });
    const end = await t.run(intent);
    expect(end.spent).toBe(1);
    expect(asked).toHaveLength(1);
    expect([end.state, end.response.status, end.error?.code]).toEqual(["failed", "blocked", "T5_BUDGET_EXHAUSTED"]);
    expect(ran(ok)).toEqual(["s1"]);
  });
});

describe("a round after the first", () => {
  it("[RPL-03] never runs again what has completed, though the plan names it", async () => {
    const [ok, no] = [good(), bad()];
    const two = [step("s1", ok), step("s2", no, { depends_on: ["s1"] })];
    const { planner: port } = planner([two, [step("s1", ok), step("s3", ok, { depends_on: ["s1"] })]]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    const done = await t.run(intent);
    expect(done.state).toBe("completed");
    expect(ran(ok)).toEqual(["s1", "s3"]);
    expect(done.plan?.steps.map((s) => s.step_id)).toEqual(["s3"]);
  });

  it("[RPL-04] gives no id twice, though the plan has a step that is called like the round's", async () => {
    const [ok, no] = [good(), bad()];
    const first = [step("s_r1", ok), step("s", no, { depends_on: ["s_r1"] })];
    const { planner: port } = planner([first, [step("s", ok)]]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    const { plan } = await t.run(intent);
    expect(plan?.steps.map((s) => s.step_id)).toEqual(["s_r2"]);
    expect(ran(ok)).toEqual(["s_r1", "s_r2"]);
  });

  it("[RPL-04] gives a step whose id was used the round's suffix, and references follow", async () => {
    const [ok, no] = [good(), bad()];
    const rounds = [step("step_1", ok), step("step_2", no, { depends_on: ["step_1"] })];
    const tail = step("step_3", ok, { depends_on: ["step_2"], params: { got: "{{step_2.output}}" } });
    const { planner: port } = planner([rounds, [...rounds, tail], [...rounds, tail]]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    const end = await t.run(intent);
    expect(ran(no)).toEqual(["step_2", "step_2_r1", "step_2_r2"]);
    expect(ran(ok)).toEqual(["step_1"]);
    expect(end.plan?.steps.map((s) => [s.step_id, s.depends_on, s.params])).toEqual([
      ["step_2_r2", ["step_1"], {}],
      ["step_3_r2", ["step_2_r2"], { got: "{{step_2_r2.output}}" }],
    ]);
    expect(new Set(end.steps.map((s) => s.step_id)).size).toBe(end.steps.length);
  });

  it("[RPL-05] reads the outputs of the rounds before", async () => {
    const [ok, no] = [good(), bad()];
    const { planner: port } = planner([
      [step("step_1", ok), step("step_2", no, { depends_on: ["step_1"] })],
      [step("step_3", ok, { depends_on: ["step_1"], params: { got: "{{step_1.output.from}}" } })],
    ]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    expect((await t.run(intent)).state).toBe("completed");
    expect(ok.calls.map((c) => c.input)).toEqual([{}, { got: "step_1" }]);
  });

  it("[RPL-06] runs what the new plan says and is not done; what the old one left is skipped by name", async () => {
    const [ok, no] = [good(), bad()];
    const { planner: port } = planner([
      [step("s1", ok), step("s2", no), step("s4", ok, { depends_on: ["s2"] })],
      [step("s1", ok), step("s3", ok)],
    ]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    const done = await t.run(intent);
    expect(done.state).toBe("completed");
    expect(ran(ok)).toEqual(["s1", "s3"]);
    expect(done.steps.find((s) => s.step_id === "s4")?.state).toBe("skipped");
    expect(count(await t.types(done.workflow_id), "STEP_SKIPPED")).toBe(1);
  });

  it("[RPL-06] runs under a new id what the old plan had left and the new one names", async () => {
    const [ok, no] = [good(), bad()];
    const { planner: port } = planner([[step("s2", no), step("s4", ok, { depends_on: ["s2"] })], [step("s4", ok)]]);
    await using t = await createTestKernel({ capabilities: [story([ok, no], [])], planner: port });
    expect((await t.run(intent)).state).toBe("completed");
    expect(ran(ok)).toEqual(["s4_r1"]);
  });
});
