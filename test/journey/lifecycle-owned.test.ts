/**
 * The responsibilities that seed 002 section 1 gives to the kernel, shown on operators that have no logic of their own
 * for any of them.
 */
import { describe, expect, it } from "vitest";
import { type KernelOptions, operatorError, type Security } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { type Counted, counted, eventsOf, intentType, oneStep, packageOf, planStep, ruleOf } from "./parts.ts";

const bare = (): Counted => counted("Notes.Write");
const stagesOf = (t: TestKernel): string[] => t.marks.map((m) => m.stage);

async function shown(options: KernelOptions, more: Readonly<Record<string, unknown>> = {}) {
  const t = await createTestKernel(options);
  const state = await t.run(intentType, { text: "wet" }, more);
  return { t, state, events: await eventsOf(t, state.workflow_id) };
}

describe("what the kernel does for a bare operator", () => {
  it("[LIF-07] plan lifecycle and step orchestration", async () => {
    const write = bare();
    const steps = [planStep("s2", write, { depends_on: ["s1"] }), planStep("s1", write)];
    const { t, events } = await shown({ capabilities: [packageOf([write], steps)] });
    await using _closed = t;
    expect(write.calls.map((c) => c.context.step_id)).toEqual(["s1", "s2"]);
    const types = events.map((e) => e.event_type).filter((type) => /^(PLAN|STEP|WORKFLOW)_/.test(type));
    expect(types[0]).toBe("PLAN_CREATED");
    expect(types.at(-1)).toBe("WORKFLOW_COMPLETED");
  });

  it("[LIF-07] invocation, the fixed middleware around it, and the trace of both", async () => {
    const { t, state } = await shown({ capabilities: [oneStep(bare())] });
    await using _closed = t;
    const around = t.marks
      .filter((m) => m.stage === "skill.execute" || m.stage.startsWith("middleware."))
      .map((m) => `${m.stage} ${String(m["name"] ?? "")}`.trim());
    const fixed = ["Trace", "Policy", "Approval", "Timeout"];
    expect(around).toEqual([
      ...fixed.map((name) => `middleware.before ${name}`),
      "skill.execute",
      ...fixed.toReversed().map((name) => `middleware.after ${name}`),
    ]);
    expect((await t.kernel.trace(state.workflow_id)).steps).toMatchObject([
      { step_id: "s1", status: "COMPLETED", attempts: [{ attempt: 1, outcome: "succeeded" }] },
    ]);
  });

  it("[LIF-07] retry after a failure that may pass", async () => {
    const write = counted("Notes.Write", {}, ({ attempt }) => {
      if (attempt === 1) throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
      return "done";
    });
    const { t, state } = await shown({ capabilities: [oneStep(write)] });
    await using _closed = t;
    expect(state.state).toBe("completed");
    expect(write.calls.map((c) => c.attempt)).toEqual([1, 2]);
  });

  it("[LIF-07] a timeout, though the operator names none and never ends", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const slow = counted("Notes.Write", { retry: "NONE" }, () => promise);
    const { t, state } = await shown({ capabilities: [oneStep(slow)], limits: { maxReplans: 0 } });
    await using _closed = t;
    resolve("late");
    expect(state.error?.code).toBe("T4_TOOL_TIMEOUT");
  });

  it("[LIF-07] policy and approval", async () => {
    const write = bare();
    const policies = [ruleOf(["action"], () => ({ decision: "REQUIRE_HUMAN_APPROVAL", reason: "look" }))];
    const { t, state } = await shown({ capabilities: [oneStep(write)], policies });
    await using _closed = t;
    expect(state.gates.map((g) => g.status)).toEqual(["open"]);
    expect(write.calls).toEqual([]);
  });

  it("[LIF-07] the three security validations", async () => {
    const asked: string[] = [];
    const passing = (name: string) => (): { ok: true } => {
      asked.push(name);
      return { ok: true };
    };
    const security: Security = {
      validate: passing("input"),
      validateParams: passing("params"),
      validateOutput: passing("output"),
    };
    const { t } = await shown({ capabilities: [oneStep(bare())], security });
    await using _closed = t;
    expect(asked).toEqual(["input", "params", "output"]);
  });

  it("[LIF-07] budget accounting", async () => {
    const write = counted("Notes.Write", { estimatedCost: 3 });
    const steps = [planStep("s1", write), planStep("s2", write, { depends_on: ["s1"] })];
    const { t, state } = await shown({ capabilities: [packageOf([write], steps)], budgets: { maxCost: 3 } });
    await using _closed = t;
    expect(state).toMatchObject({ spent: 3, status: "blocked", error: { code: "T5_BUDGET_EXHAUSTED" } });
    expect(write.calls).toHaveLength(1);
  });

  it("[LIF-07] the replan loop", async () => {
    const broken = counted("Notes.Write", {}, () => {
      throw operatorError({ code: "GONE", message: "gone", category: "dependency", retryable: false });
    });
    const { t } = await shown({ capabilities: [oneStep(broken)] });
    await using _closed = t;
    expect(stagesOf(t).filter((stage) => stage === "replan")).toHaveLength(2);
    expect(broken.calls).toHaveLength(3);
  });

  it("[LIF-07] memory persistence", async () => {
    const { t, events } = await shown({ capabilities: [oneStep(bare())] }, { thread_id: "t" });
    await using _closed = t;
    expect(stagesOf(t)).toContain("memory.persist");
    expect(events.map((e) => e.event_type)).toContain("MEMORY_WRITTEN");
  });
});
